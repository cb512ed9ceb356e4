"""Multiplies by matrices as they are held, dense or of experts sorted by expert, on a device with Triton.

A mixture's own code loops over the experts that tokens chose, which stops for the host and cannot be captured in a
graph; torch's grouped product does so, too, on GPUs before Hopper. Here tokens are sorted by expert on the device, in
tiles of one expert each. So the number of launches depends on nothing, and weights in int8 and int4 are multiplied as
they are held. Where a product has too few outputs to keep a GPU busy, several programs share the depth of each.

It imports triton, so import it only where triton was found. Source: the sorted tiles are those of vLLM's
`fused_moe`. See docs/decisions/0011-cuda.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch import Tensor
from torch.nn import functional

from potluck.blocks.accelerators import keep_until_release, num_processors
from potluck.blocks.formats.layers import QuantizedExperts, QuantizedLinear
from potluck.blocks.formats.matrices import Int4Matrix, Int8Matrix, Matrix
from potluck.blocks.kernels import product_kernels
from potluck.blocks.kernels.native import GROUP

_FEW_TOKENS = 16  # rows of a tile, the fewest that tensor cores take
_MANY_TOKENS = 64
_COLUMNS = 64  # outputs of a program, as many as int4 packs together
_MOST_DENSE_TOKENS = 128  # restoring a matrix should be faster for more tokens; not measured
_ROUND_BYTES = 256  # bytes of a row of x that a program reads at a time
_RESTORED_COLUMNS = 128  # columns of a program that restores numbers
_LEAST_ROUNDS = 2  # least rounds of a program that shares a product's depth with others; not measured
_PROGRAMS_A_PROCESSOR = 4  # an H100's shared memory suffices for so many; not measured
_PROCESSORS = 132  # an H100's, where there is no GPU
_PLAIN, _INT8, _INT4 = range(3)  # formats, as the kernel knows them


def multiply(x: Tensor, linears: Sequence[QuantizedLinear]) -> tuple[Tensor, ...]:
    """Return each layer's output for x [.., in_features], for few tokens by one product for all where that is possible.

    For many tokens, numbers are restored for torch's product, one matrix at a time.
    """
    flat = x.reshape(-1, x.shape[-1])
    matrices = [linear.matrix for linear in linears]
    if len(flat) > _MOST_DENSE_TOKENS:
        return tuple(functional.linear(x, restored(each.matrix), each.bias) for each in linears)
    if len(linears) > 1 and not _can_join(linears):
        return tuple(multiply(x, [linear])[0] for linear in linears)
    if isinstance(matrices[0], Int4Matrix):
        flat = matrices[0].arranged(flat)
    held = [_quantised(each.matrix, each.out_features, each.bias, is_transposed=False) for each in linears]
    output = product(flat, held).view(*x.shape[:-1], -1)
    return torch.split(output, [each.outer for each in held], dim=-1)


def restored(matrix: Matrix) -> Tensor:
    """Return a quantised matrix [rows, columns] as numbers."""
    held = _quantised(matrix, matrix.num_rows, None, is_transposed=False)
    dtype, order = (matrix.dtype, matrix.order) if isinstance(matrix, Int4Matrix) else (matrix.scales.dtype, None)
    output = torch.empty((held.outer, held.inner), dtype=dtype, device=held.numbers.device)
    product_kernels.restore[(triton.cdiv(held.outer, _COLUMNS), triton.cdiv(held.inner, _RESTORED_COLUMNS))](
        held.numbers,
        held.scales,
        order,
        output,
        held.outer,
        held.inner,
        held.strides[2],
        FORM=held.form,
        GROUP=math.gcd(held.group, _RESTORED_COLUMNS),
        SHARED=held.group,
        ROWS=_COLUMNS,
        DEPTH=_RESTORED_COLUMNS,
        num_warps=4,
    )
    return output


@dataclass(frozen=True, slots=True)
class Grouping:
    """The choices of one step in tiles, each of one expert.

    Shapes: order [choices] int64, the choice at each place; tiles [num_tiles, 4] int32: an expert, or -1 for a tile
    without work, the tile's first place, its end place, and 0.

    Attributes:
        tile: the most places of a tile.
    """

    order: Tensor
    tiles: Tensor
    tile: int


@dataclass(frozen=True, slots=True)
class HeldMatrices:
    """A mixture's matrices, or a single one, as the kernel reads them.

    Attributes:
        numbers: or codes, in words of 32 bits.
        scales: for int4 its levels, each pair as one integer; None for numbers.
        bias: [experts, outer].
        inner, outer: sizes of the input and the output of one expert.
        strides: of experts, of what is summed over, and of outputs: for int8 of rows, for int4 of groups in `scales`.
        group: columns that share levels in int4.
    """

    numbers: Tensor
    scales: Tensor | None
    bias: Tensor | None
    num_experts: int
    inner: int
    outer: int
    strides: tuple[int, int, int]
    form: int
    is_transposed: bool
    group: int = GROUP


def product(
    x: Tensor,
    held: Sequence[HeldMatrices],
    grouping: Grouping | None = None,
    *,
    share: int = 1,
    weights: Tensor | None = None,
    is_partial: bool = False,
) -> Tensor:
    """Multiply each choice's row of x by the matrix of its expert; add its bias; multiply by its weight.

    Shapes: x [choices / share, inner]; weights [choices]; returns [choices, outer] like x.

    Args:
        held: up to three; of more than one, the outputs of each follow those of the one before (see `_can_join`).
        grouping: None if all choices are of one expert.
        is_partial: choices without an expert give zeros.
    """
    first, *others = held
    choices, outer = len(x) * share, sum(each.outer for each in held)
    tile = tile_of(choices, first.num_experts) if grouping is None else grouping.tile
    new = torch.zeros if is_partial else torch.empty
    output = new((choices, outer), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(choices, tile) if grouping is None else len(grouping.tiles), triton.cdiv(outer, _COLUMNS))
    is_int4 = first.form == _INT4
    depth = _COLUMNS if is_int4 and first.is_transposed else _ROUND_BYTES // x.itemsize
    most = _PROGRAMS_A_PROCESSOR * (num_processors(x.device) or _PROCESSORS)
    splits = _splits(math.prod(grid), triton.cdiv(first.inner, depth), most)
    part_sizes = (*grid, splits, tile, _COLUMNS) if splits > 1 else (1,)
    parts = torch.empty(part_sizes, dtype=torch.float32, device=x.device)
    second, third = (*others, None, None)[:2]
    product_kernels.grouped_product[(*grid, splits)](
        x,
        *(each and each.numbers for each in (first, second, third)),
        *(each and each.scales for each in (first, second, third)),
        *(each and each.bias for each in (first, second, third)),
        weights,
        output,
        parts,
        _counters(most, x.device, _stream_of(x.device)),
        None if grouping is None else grouping.order,
        None if grouping is None else grouping.tiles,
        x.stride(0),
        *first.strides,
        share,
        choices,
        first.inner,
        outer,
        first.outer,
        first.outer + (second.outer if second else 0),
        FORM=first.form,
        IS_TRANSPOSED=first.is_transposed,
        GROUP=math.gcd(first.group, depth),
        SHARED=first.group,
        TILE=tile,
        COLUMNS=_COLUMNS,
        DEPTH=depth,
        num_warps=2 if is_int4 and tile == _FEW_TOKENS else 4,
    )
    return output


def tile_of(choices: int, num_experts: int) -> int:
    """Return how many choices of one expert to multiply at once."""
    return _FEW_TOKENS if choices <= _FEW_TOKENS * num_experts else _MANY_TOKENS


def _splits(programs: int, rounds: int, most: int) -> int:
    """Return how many programs share the depth of a product, so that there are up to `most` in all."""
    splits = max(min(most // programs, rounds // _LEAST_ROUNDS), 1)
    return math.ceil(rounds / math.ceil(rounds / splits))  # no program without work


def _can_join(linears: Sequence[QuantizedLinear]) -> bool:
    """Return whether the kernel takes matrices at once: up to three of the same kind, in whole blocks of rows."""
    kinds = {
        (type(each.matrix), each.bias is None, getattr(each.matrix, "group", 0), each.matrix.codes.shape[1])
        for each in linears
    }
    is_ordered = any(getattr(each.matrix, "order", None) is not None for each in linears)
    is_whole = all(each.out_features % _COLUMNS == 0 for each in linears)
    return len(linears) <= 3 and len(kinds) == 1 and is_whole and not is_ordered


def held_as(matrices: Any, bias: Tensor | None = None, *, is_transposed: bool) -> HeldMatrices:
    """Return a mixture's matrices, numbers [experts, rows, columns] or `QuantizedExperts`, as the kernel reads them."""
    if isinstance(matrices, QuantizedExperts):
        return _quantised(matrices.matrix, matrices.num_rows, bias, is_transposed=is_transposed)
    by_depth = matrices if is_transposed else matrices.mT
    num_experts, inner, outer = by_depth.shape
    return HeldMatrices(matrices, None, bias, num_experts, inner, outer, by_depth.stride(), _PLAIN, is_transposed)


def _quantised(matrix: Matrix, rows: int, bias: Tensor | None, *, is_transposed: bool) -> HeldMatrices:
    """Args: rows: of one expert."""
    columns = matrix.codes.shape[1]
    inner, outer = (rows, columns) if is_transposed else (columns, rows)
    sizes, words = (matrix.num_rows // rows, inner, outer), matrix.codes.view(torch.int32)
    if isinstance(matrix, Int8Matrix):
        return HeldMatrices(
            words, matrix.scales, bias, *sizes, (rows * columns // 4, 1, columns // 4), _INT8, is_transposed
        )
    strides = (rows * columns // 8, 1, matrix.levels.shape[1])
    pairs = matrix.levels.view(torch.int32 if matrix.levels.itemsize == 2 else torch.int64)
    return HeldMatrices(words, pairs, bias, *sizes, strides, _INT4, is_transposed, matrix.group)


@keep_until_release
def _counters(count: int, device: torch.device, stream: int) -> Tensor:
    """Return zeros, which are zeros again after each product. Products of one stream follow each other."""
    return torch.zeros(count, dtype=torch.int32, device=device)


def _stream_of(device: torch.device) -> int:
    return int(torch.cuda.current_stream(device).cuda_stream) if device.type == "cuda" else 0
