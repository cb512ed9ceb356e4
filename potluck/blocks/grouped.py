"""Experts as one product for all tokens, sorted by expert, on a device with Triton.

A mixture's own code loops over the experts that tokens chose, which stops for the host and cannot be captured in a
graph; torch's grouped product does so, too, on GPUs before Hopper. Here tokens are sorted by expert, and each program
finds the expert of its tile from the sorted numbers on the device. So the number of launches depends on nothing, and
weights in int8 and int4 are multiplied as they are held.

Imports triton, so import this module only where triton was found. Source: the sorted tiles are those of vLLM's
`fused_moe`. See docs/decisions/0011-cuda.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch import Tensor
from transformers.integrations.moe import _default_apply_gate

from potluck.blocks import kernels
from potluck.blocks.accelerators import keep_until_release
from potluck.blocks.block_kernels import activate_times
from potluck.blocks.formats import Int4Matrix, Int8Matrix, Matrix, QuantizedExperts
from potluck.blocks.fused import ACTIVATIONS
from potluck.blocks.native_library import GROUP

_FEW_TOKENS = 16  # rows of a tile, the fewest that tensor cores take
_MANY_TOKENS = 64
_COLUMNS = 64  # outputs of a program, as many as int4 packs together
_MOST_DENSE_TOKENS = 128  # for more, restoring a matrix and multiplying it in full should be faster; not measured
_PLAIN, _INT8, _INT4 = range(3)  # formats, as the kernel knows them


def grouped_experts(experts: Any, hidden: Tensor, chosen: Tensor, weights: Tensor) -> Tensor:
    """Compute a mixture as transformers asks an implementation of experts to. `can_group` must hold.

    Shapes: hidden [tokens, hidden_size]; chosen and weights [tokens, experts of a token]; returns as hidden.
    """
    share, num_experts = chosen.shape[1], experts.num_experts
    sorted_by = sort_by_expert(chosen.reshape(-1), num_experts)
    is_partial = bool(experts._is_expert_parallel)  # choices past the last expert belong to other ranks
    first, second = (held_as(matrices, is_transposed=experts.is_transposed) for matrices in _matrices(experts))
    bias = getattr(experts, "gate_up_proj_bias", None)
    gate_up = product(hidden, first, sorted_by, bias, share=share, is_partial=is_partial)
    active = _gated(experts, gate_up)
    bias = getattr(experts, "down_proj_bias", None)
    output = product(active, second, sorted_by, bias, weights=weights.reshape(-1), is_partial=is_partial)
    return output.view(len(hidden), share, -1).sum(dim=1)


def can_group(experts: Any, hidden: Tensor) -> bool:
    """Return whether the experts do nothing but what is rewritten here, and no gradient is wanted."""
    wants_gradient = torch.is_grad_enabled() and hidden.requires_grad
    return experts.has_gate and not experts.has_post_expert_norm and not wants_gradient


def dense_product(x: Tensor, matrix: Matrix, bias: Tensor | None) -> Tensor | None:
    """Return x [.., inner] times a transposed quantised matrix [outer, inner]; None where restoring it is better."""
    flat = x.reshape(-1, x.shape[-1])
    if len(flat) > _MOST_DENSE_TOKENS:
        return None
    sorted_by = Sorted(_numbers(len(flat), x.device), _end(len(flat), x.device))
    if isinstance(matrix, Int4Matrix):
        flat = matrix.arranged(flat)
    output = product(flat, _quantised(matrix, matrix.num_rows, is_transposed=False), sorted_by, bias)
    return output.view(*x.shape[:-1], -1)


@dataclass(frozen=True, slots=True)
class Sorted:
    """Choices of one step sorted by expert.

    Shapes: order [choices], the choice at each place; ends [experts], how many choices are of an expert up to each.
    """

    order: Tensor
    ends: Tensor


@dataclass(frozen=True, slots=True)
class Held:
    """A mixture's matrices as the kernel reads them: numbers or codes, their scales, and where they are.

    Attributes:
        inner, outer: sizes of the input and the output of one expert.
        strides: of experts, rows and columns; for int4 as the kernel describes.
        group: columns that share levels in int4.
    """

    numbers: Tensor
    scales: Tensor
    inner: int
    outer: int
    strides: tuple[int, int, int]
    form: int
    is_transposed: bool
    group: int = GROUP


def sort_by_expert(chosen: Tensor, num_experts: int) -> Sorted:
    """Sort choices by expert without a stop for the host. Shapes: chosen [choices]."""
    ordered, order = chosen.sort(stable=True)
    return Sorted(order, torch.searchsorted(ordered, _numbers(num_experts, chosen.device), right=True))


def product(
    x: Tensor,
    held: Held,
    sorted_by: Sorted,
    bias: Tensor | None = None,
    *,
    share: int = 1,
    weights: Tensor | None = None,
    is_partial: bool = False,
) -> Tensor:
    """Multiply each choice's row of x by the matrix of its expert; add its bias; multiply by its weight.

    Shapes: x [choices / share, inner]; bias [experts, outer]; weights [choices]; returns [choices, outer] like x.

    Args:
        is_partial: choices without an expert give zeros.
    """
    choices, num_experts = len(sorted_by.order), len(sorted_by.ends)
    tile = _FEW_TOKENS if choices <= _FEW_TOKENS * num_experts else _MANY_TOKENS
    new = torch.zeros if is_partial else torch.empty
    output = new((choices, held.outer), dtype=x.dtype, device=x.device)
    grid = (choices // tile + min(num_experts, choices), triton.cdiv(held.outer, _COLUMNS))
    kernels.grouped_product[grid](
        x,
        held.numbers,
        held.scales,
        bias if bias is not None else x,
        weights if weights is not None else x,
        output,
        sorted_by.order,
        sorted_by.ends,
        x.stride(0),
        *held.strides,
        share,
        num_experts,
        held.inner,
        held.outer,
        FORM=held.form,
        TOGETHER=_COLUMNS,
        GROUP=GROUP,
        SHARED=held.group,
        IS_TRANSPOSED=held.is_transposed,
        HAS_BIAS=bias is not None,
        HAS_WEIGHTS=weights is not None,
        EXPERTS_PAD=triton.next_power_of_2(num_experts),
        TILE=tile,
        COLUMNS=_COLUMNS,
        num_warps=4,
    )
    return output


def _matrices(experts: Any) -> tuple[Any, Any]:
    return experts.gate_up_proj, experts.down_proj


def held_as(matrices: Any, *, is_transposed: bool) -> Held:
    """Return a mixture's matrices, numbers [experts, rows, columns] or `QuantizedExperts`, as the kernel reads them."""
    if isinstance(matrices, QuantizedExperts):
        return _quantised(matrices.matrix, matrices.num_rows, is_transposed=is_transposed)
    rows, columns = matrices.shape[1:]
    inner, outer = (rows, columns) if is_transposed else (columns, rows)
    return Held(matrices, matrices, inner, outer, matrices.stride(), _PLAIN, is_transposed)


def _quantised(matrix: Matrix, rows: int, *, is_transposed: bool) -> Held:
    """Args: rows: of one expert."""
    columns = matrix.codes.shape[1]
    inner, outer = (rows, columns) if is_transposed else (columns, rows)
    if isinstance(matrix, Int8Matrix):
        return Held(matrix.codes, matrix.scales, inner, outer, (rows * columns, columns, 1), _INT8, is_transposed)
    strides = (rows * columns // 2, _COLUMNS // 2, matrix.levels.shape[1])
    return Held(matrix.codes, matrix.level_numbers, inner, outer, strides, _INT4, is_transposed, matrix.group)


def _gated(experts: Any, gate_up: Tensor) -> Tensor:
    """Return the activation of the gate times the rest. Shapes: [choices, 2 * width] -> [choices, width]."""
    is_gelu = ACTIVATIONS.get(type(getattr(experts, "act_fn", None)).__name__)
    if type(experts)._apply_gate is not _default_apply_gate or is_gelu is None:
        made: Tensor = experts._apply_gate(gate_up)
        return made.contiguous()
    gate, up = gate_up[None].chunk(2, dim=-1)
    return activate_times(gate, up, is_gelu=is_gelu)[0]


@keep_until_release
def _numbers(count: int, device: torch.device) -> Tensor:
    return torch.arange(count, device=device)


@keep_until_release
def _end(count: int, device: torch.device) -> Tensor:
    return torch.tensor([count], device=device)
