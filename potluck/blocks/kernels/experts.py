"""Computes a layer's experts in Triton: the choice, the map of choices to experts, their products, and the sum.

A mixture's own code loops over the experts that tokens chose, which stops for the host and cannot be captured in a
graph. Here the number of launches depends on nothing: tiles of choices of one expert are found on the device, once a
layer, and both products read the same map.

It imports triton, so import it only where triton was found. Source: the sorted tiles are those of vLLM's
`fused_moe`. See docs/decisions/0011-cuda.md.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor
from torch.nn import functional
from torch.overrides import has_torch_function_unary
from transformers.integrations.moe import _default_apply_gate

from potluck.blocks.formats.layers import wants_gradient
from potluck.blocks.kernels import expert_kernels
from potluck.blocks.kernels.block_operations import activate_times
from potluck.blocks.kernels.fused import ACTIVATIONS, RouterForm
from potluck.blocks.kernels.products import Grouping, held_as, product, tile_of

_BLOCK = 1024  # numbers of a program at a time, constant so that no session waits for a compiler


def add_experts(mixture: Any, form: RouterForm, normed: Tensor, residual: Tensor) -> Tensor:
    """Return the residual plus a layer's mixture of experts, whose router has this form.

    Shapes: normed, residual and the result [1, tokens, hidden_size].
    """
    flat, experts = normed[0], mixture.experts
    chosen, weights = _routed(getattr(mixture, form.name), form, flat)
    forward: Any = experts.forward  # see `potluck.blocks.span.expert_choices`
    forward.note(chosen)
    if not forward.is_plain or not can_group(experts, flat):
        made: Tensor = forward.own(flat, chosen, weights)
        return residual + made
    return grouped_experts(experts, flat, chosen, weights, residual[0])[None]


def grouped_experts(
    experts: Any, hidden: Tensor, chosen: Tensor, weights: Tensor, residual: Tensor | None = None
) -> Tensor:
    """Compute a mixture as transformers asks an implementation of experts to. `can_group` must hold.

    Shapes: hidden [tokens, hidden_size]; chosen and weights [tokens, experts of a token]; residual, which is added, and
    the result as hidden.
    """
    share, num_experts = chosen.shape[1], experts.num_experts
    grouping = group_by_expert(chosen.reshape(-1), num_experts, tile_of(chosen.numel(), num_experts))
    is_partial = bool(experts._is_expert_parallel)  # choices past the last expert are computed elsewhere
    biases = (getattr(experts, f"{name}_bias", None) for name in ("gate_up_proj", "down_proj"))
    pairs = zip((experts.gate_up_proj, experts.down_proj), biases, strict=True)
    first, second = (held_as(each, bias, is_transposed=experts.is_transposed) for each, bias in pairs)
    gate_up = product(hidden, [first], grouping, share=share, is_partial=is_partial)
    active = _gated(experts, gate_up)
    made = product(active, [second], grouping, weights=weights.reshape(-1), is_partial=is_partial)
    return sum_of_choices(made.view(len(hidden), share, -1), residual)


def can_group(experts: Any, hidden: Tensor) -> bool:
    """Return whether the experts do nothing but what is rewritten here, and no gradient is wanted."""
    return experts.has_gate and not experts.has_post_expert_norm and not wants_gradient(hidden)


def choose(
    logits: Tensor, share: int, kind: torch.dtype, *, renormalises: bool, given: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return each token's experts with the largest logits, the largest first, and their weights.

    Shapes: logits [tokens, experts]; returns [tokens, share] int64, and weights in `kind`.

    Args:
        renormalises: weights of a token add up to 1; else each is its part of the softmax over all experts.
        given: choices [tokens, share] that only get weights; None: the largest logits are chosen.
    """
    tokens, num_experts = logits.shape
    chosen = (
        torch.empty((tokens, share), dtype=torch.int64, device=logits.device) if given is None else given.contiguous()
    )
    weights = torch.empty((tokens, share), dtype=kind, device=logits.device)
    expert_kernels.choose[(tokens,)](
        logits,
        chosen,
        weights,
        int(given is not None),
        num_experts,
        RENORMALISES=renormalises,
        SHARE=share,
        PAD=triton.next_power_of_2(num_experts),
        num_warps=1,
    )
    return chosen, weights


def group_by_expert(chosen: Tensor, num_experts: int, tile: int) -> Grouping:
    """Find tiles of choices of one expert each, in one launch. Shapes: chosen [choices].

    Choices past the last expert are in no tile.
    """
    choices = len(chosen)
    order = torch.empty(choices, dtype=torch.int64, device=chosen.device)
    num_tiles = choices // tile + min(num_experts, choices)  # suffice for any choices
    tiles = torch.empty((num_tiles, 4), dtype=torch.int32, device=chosen.device)
    expert_kernels.group[(num_experts,)](
        chosen, order, tiles, choices, num_experts, num_tiles, TILE=tile, BLOCK=_BLOCK, num_warps=4
    )
    return Grouping(order, tiles, tile)


def sum_of_choices(made: Tensor, residual: Tensor | None) -> Tensor:
    """Return the sum of what each token's experts made, and the residual if there is one.

    Shapes: made [tokens, share, hidden_size]; residual and the result [tokens, hidden_size].
    """
    tokens, share, width = made.shape
    output = torch.empty((tokens, width), dtype=made.dtype, device=made.device)
    expert_kernels.sum_of_choices[(tokens, triton.cdiv(width, _BLOCK))](
        made,
        made if residual is None else residual,
        output,
        width,
        HAS_RESIDUAL=residual is not None,
        SHARE=share,
        BLOCK=_BLOCK,
        num_warps=4,
    )
    return output


def _routed(router: Any, form: RouterForm, flat: Tensor) -> tuple[Tensor, Tensor]:
    """Return which experts a router chooses and their weights, [tokens, experts of a token] each."""
    logits, given = functional.linear(flat, router.weight, getattr(router, "bias", None)), None
    if has_torch_function_unary(flat):  # a mode of `routing` notes or replaces the choices of the router's own code
        given = router(flat)[2]
    kind = torch.float32 if form.weighs_in_float32 else logits.dtype
    return choose(logits, router.top_k, kind, renormalises=getattr(router, "norm_topk_prob", True), given=given)


def _gated(experts: Any, gate_up: Tensor) -> Tensor:
    """Return the activation of the gate times the rest. Shapes: [choices, 2 * width] -> [choices, width]."""
    is_gelu = ACTIVATIONS.get(type(getattr(experts, "act_fn", None)).__name__)
    if type(experts)._apply_gate is not _default_apply_gate or is_gelu is None:
        made: Tensor = experts._apply_gate(gate_up)
        return made.contiguous()
    gate, up = gate_up[None].chunk(2, dim=-1)
    return activate_times(gate, up, is_gelu=is_gelu)[0]
