"""Computes a mixture's experts on a CPU, one expert after another, with weights as they are held.

A mixture's own code restores an expert's matrix from int8 or int4 for each product, and multiplies bfloat16 with torch,
which is slow on many processors (see `widening`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from potluck.blocks.formats import QuantizedExperts, are_plain_experts, bfloat16_product, wants_gradient
from potluck.blocks.native_library import COLUMNS


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
