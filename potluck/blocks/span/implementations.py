"""Implements attention and experts for transformers: registers the implementations, and switches layers to them.

A mixture's own code restores an expert's matrix from int8 or int4 for each product, and multiplies bfloat16 with torch,
which is slow on many processors. On a CPU, experts are computed one after another with weights as they are held.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS

from potluck.blocks.cache.attention import attend
from potluck.blocks.formats.layers import QuantizedExperts, are_plain_experts, wants_gradient
from potluck.blocks.formats.matrices import bfloat16_product
from potluck.blocks.kernels.native import COLUMNS

RAGGED = "potluck_ragged"
"""Names attention of packed rows. Transformers makes no masks for implementations that it does not know."""

GROUPED = "potluck_grouped"
"""Names experts as one product, which needs Triton. The family's own loop runs what it cannot compute."""

IN_TURN = "potluck_in_turn"
"""Names experts one after another, for a CPU in bfloat16. The family's own loop runs what it cannot compute."""

_SWITCHED = "_attn_implementation_internal"  # attribute of a configuration that its layers look up at each call
_EXPERTS = "_experts_implementation_internal"  # the same for experts


def can_take_turns(experts: Any, hidden: Tensor) -> bool:
    """Return whether the experts do nothing but what is rewritten here, and no gradient is wanted."""
    if not are_plain_experts(experts) or hidden.dtype is not torch.bfloat16 or wants_gradient(hidden):
        return False
    held = experts.gate_up_proj, experts.down_proj
    return all(isinstance(each, QuantizedExperts) or each.shape[2] % COLUMNS == 0 for each in held)


def experts_in_turn(experts: Any, hidden: Tensor, chosen: Tensor, weights: Tensor) -> Tensor:
    """Compute a mixture as transformers asks an implementation of experts to. `can_take_turns` must hold.

    Choices past the last expert, which are computed elsewhere, give zeros.

    Shapes: hidden [tokens, hidden_size]; chosen and weights [tokens, experts of a token]; returns as hidden.
    """
    flat = chosen.reshape(-1)
    order = flat.argsort(stable=True)
    tokens, shares = order // chosen.shape[1], weights.reshape(-1)[order, None]
    output, begin = torch.zeros_like(hidden), 0
    for expert, count in enumerate(flat.bincount().tolist()[: experts.num_experts]):
        if not count:
            continue
        here = slice(begin, begin + count)
        begin += count
        gate_up = _product(hidden[tokens[here]], experts.gate_up_proj, expert)
        if experts.has_bias:
            gate_up += experts.gate_up_proj_bias[expert]
        made = _product(experts._apply_gate(gate_up).contiguous(), experts.down_proj, expert)
        if experts.has_bias:
            made += experts.down_proj_bias[expert]
        output.index_add_(0, tokens[here], (made * shares[here]).to(output.dtype))
    return output


def _product(x: Tensor, held: Tensor | QuantizedExperts, expert: int) -> Tensor:
    return held.product(x, expert) if isinstance(held, QuantizedExperts) else bfloat16_product(x, held[expert])


def register_attention() -> None:
    """Register these implementations with transformers, before layers are switched to them."""
    AttentionInterface.register(RAGGED, attend)
    ALL_EXPERTS_FUNCTIONS.register(GROUPED, _grouped_or_own)
    ALL_EXPERTS_FUNCTIONS.register(IN_TURN, _in_turn_or_own)


class AttentionSwitch:
    """Makes a decoder's layers use another attention implementation for a while.

    It bypasses the configurations' own setters, whose checks cost a step more than its plan.
    """

    def __init__(self, decoder: nn.Module) -> None:
        configs = {id(module.config): module.config for module in decoder.modules() if hasattr(module, "config")}
        self._attributes: list[dict[str, Any]] = [vars(config) for config in configs.values()]

    @contextmanager
    def use(self, name: str, *, experts: str | None = None) -> Iterator[None]:
        """Switch to the attention `name`, and to an implementation of experts if one is given."""
        names = {_SWITCHED: name} if experts is None else {_SWITCHED: name, _EXPERTS: experts}
        before = [{key: attributes[key] for key in names if key in attributes} for attributes in self._attributes]
        for attributes in self._attributes:
            attributes.update(names)
        try:
            yield
        finally:
            for attributes, old in zip(self._attributes, before, strict=True):
                attributes.update(old)


def _grouped_or_own(experts: Any, hidden: Tensor, chosen: Tensor, weights: Tensor) -> Tensor:
    from potluck.blocks.kernels.experts import can_group, grouped_experts  # triton may be missing

    if can_group(experts, hidden):
        return grouped_experts(experts, hidden, chosen, weights)
    return _own(experts, hidden, chosen, weights)


def _in_turn_or_own(experts: Any, hidden: Tensor, chosen: Tensor, weights: Tensor) -> Tensor:
    if can_take_turns(experts, hidden):
        return experts_in_turn(experts, hidden, chosen, weights)
    return _own(experts, hidden, chosen, weights)


def compute_experts_on_cpu(experts: Any, hidden: Tensor, chosen: Tensor, weights: Tensor) -> Tensor:
    """Compute experts that are on the CPU, even if their layers are switched for another device."""
    is_switched = experts.config._experts_implementation in (GROUPED, IN_TURN)
    return (_in_turn_or_own if is_switched else _own)(experts, hidden, chosen, weights)


def _own(experts: Any, hidden: Tensor, chosen: Tensor, weights: Tensor) -> Tensor:
    output: Tensor = type(experts).forward.__wrapped__(experts, hidden, chosen, weights)
    return output
