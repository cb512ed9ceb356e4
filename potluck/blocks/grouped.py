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

from potluck.blocks import product_kernels
from potluck.blocks.accelerators import keep_until_release
from potluck.blocks.formats import Int4Matrix, Int8Matrix, Matrix, QuantizedExperts
from potluck.blocks.native_library import GROUP

_FEW_TOKENS = 16  # rows of a tile, the fewest that tensor cores take
_MANY_TOKENS = 64
_COLUMNS = 64  # outputs of a program, as many as int4 packs together
_MOST_DENSE_TOKENS = 128  # for more, restoring a matrix and multiplying it in full should be faster; not measured
_PLAIN, _INT8, _INT4 = range(3)  # formats, as the kernel knows them


def dense_product(x: Tensor, matrix: Matrix, bias: Tensor | None) -> Tensor | None:
    """Return x [.., inner] times a transposed quantised matrix [outer, inner]; None where restoring it is better."""
    flat = x.reshape(-1, x.shape[-1])
    if len(flat) > _MOST_DENSE_TOKENS:
        return None
    if isinstance(matrix, Int4Matrix):
        flat = matrix.arranged(flat)
    output = product(
        flat, _quantised(matrix, matrix.num_rows, is_transposed=False), _one_expert(len(flat), x.device), bias
    )
    return output.view(*x.shape[:-1], -1)


@dataclass(frozen=True, slots=True)
class Grouping:
    """Choices of one step in tiles of which each is of one expert.

    Shapes: order [choices] int64, the choice at each place; tiles [num_tiles, 4] int32: an expert, or -1 for a tile
    without work, the tile's first place, its end place, and 0.

    Attributes:
        tile: the most places of a tile.
    """

    order: Tensor
    tiles: Tensor
    tile: int


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


def product(
    x: Tensor,
    held: Held,
    grouping: Grouping,
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
    new = torch.zeros if is_partial else torch.empty
    output = new((len(grouping.order), held.outer), dtype=x.dtype, device=x.device)
    grid = (len(grouping.tiles), triton.cdiv(held.outer, _COLUMNS))
    product_kernels.grouped_product[grid](
        x,
        held.numbers,
        held.scales,
        bias if bias is not None else x,
        weights if weights is not None else x,
        output,
        grouping.order,
        grouping.tiles,
        x.stride(0),
        *held.strides,
        share,
        held.inner,
        held.outer,
        FORM=held.form,
        TOGETHER=_COLUMNS,
        GROUP=GROUP,
        SHARED=held.group,
        IS_TRANSPOSED=held.is_transposed,
        HAS_BIAS=bias is not None,
        HAS_WEIGHTS=weights is not None,
        TILE=grouping.tile,
        COLUMNS=_COLUMNS,
        num_warps=4,
    )
    return output


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


@keep_until_release
def _numbers(count: int, device: torch.device) -> Tensor:
    return torch.arange(count, device=device)


def tile_of(choices: int, num_experts: int) -> int:
    """Return how many choices of one expert to multiply at once."""
    return _FEW_TOKENS if choices <= _FEW_TOKENS * num_experts else _MANY_TOKENS


def _one_expert(count: int, device: torch.device) -> Grouping:
    return Grouping(_numbers(count, device), _tiles_of_one(count, device), tile_of(count, 1))


@keep_until_release
def _tiles_of_one(count: int, device: torch.device) -> Tensor:
    tile = tile_of(count, 1)
    return torch.tensor([(0, first, count, 0) for first in range(0, count, tile)], dtype=torch.int32, device=device)
