# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""Triton kernels of products with matrices in numbers, int8 or int4, dense or of experts.

As in `kernels`, arguments have no annotations except for compile-time constants, which are in capitals.
"""

from __future__ import annotations

import triton
import triton.language as tl

from potluck.blocks.launching import launch_without_compiler

launch_without_compiler()  # here, because whatever launches a kernel imports this module


@triton.jit
def grouped_product(
    x,
    held,
    scales,
    bias,
    weights,
    output,
    order,
    tiles,
    x_stride,
    expert_stride,
    row_stride,
    column_stride,
    share,
    inner,
    outer,
    FORM: tl.constexpr,
    TOGETHER: tl.constexpr,
    GROUP: tl.constexpr,
    IS_TRANSPOSED: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    HAS_WEIGHTS: tl.constexpr,
    TILE: tl.constexpr,
    COLUMNS: tl.constexpr,
    SHARED: tl.constexpr,
):
    """Multiply TILE rows that chose the same expert by COLUMNS outputs of its matrix.

    FORM is 0 for numbers, 1 for int8 and 2 for int4 (see `potluck.blocks.formats`), whose `column_stride` is the
    number of rows with levels, which SHARED columns have in common. In int4 TOGETHER equals COLUMNS: a block of rows is
    one program's outputs, or, if IS_TRANSPOSED, what one round of the loop reads.
    """
    half: tl.constexpr = COLUMNS // 2
    tile = tiles + 4 * tl.program_id(0)
    expert = tl.load(tile)
    if expert >= 0:
        place = tl.load(tile + 1) + tl.arange(0, TILE)
        is_row = place < tl.load(tile + 2)
        choice = tl.load(order + place, mask=is_row, other=0)
        row_of = x + choice[:, None] // share * x_stride
        matrix = held + expert.to(tl.int64) * expert_stride
        first = tl.program_id(1) * COLUMNS
        column = first + tl.arange(0, COLUMNS)
        if FORM == 2:
            halves = tl.arange(0, half)
            if IS_TRANSPOSED:
                total = tl.zeros([TILE, COLUMNS], tl.float32)
                is_column = column < outer
                for start in range(0, inner, TOGETHER):
                    codes = tl.load(
                        matrix + start // 2 * outer + column[None, :] * row_stride + halves[:, None],
                        mask=is_column[None, :],
                        other=0,
                    )
                    level = scales + column[None, :] // SHARED * column_stride * 2
                    level += (expert.to(tl.int64) * inner + start + halves[:, None]) * 2
                    for part in tl.static_range(2):
                        steps = tl.load(level + part * half * 2, mask=is_column[None, :], other=0.0)
                        middles = tl.load(level + part * half * 2 + 1, mask=is_column[None, :], other=0.0)
                        code = ((codes >> (4 * part)) & 15).to(tl.float32) - 8.0
                        w = code * steps.to(tl.float32) + middles.to(tl.float32)
                        some = tl.load(row_of + start + part * half + halves[None, :], mask=is_row[:, None], other=0.0)
                        total += tl.dot(some, w.to(some.dtype), input_precision="tf32x3")
                _store(output, bias, weights, total, choice, column, expert, outer, is_row, HAS_BIAS, HAS_WEIGHTS)
            else:
                low = tl.zeros([TILE, half], tl.float32)
                high = tl.zeros([TILE, half], tl.float32)
                inside = tl.arange(0, GROUP)
                level = scales + (expert.to(tl.int64) * outer + first + halves[None, :]) * 2
                for start in range(0, inner, GROUP):
                    codes = tl.load(
                        matrix + first // 2 * inner + (start + inside[:, None]) * row_stride + halves[None, :]
                    )
                    some = tl.load(row_of + start + inside[None, :], mask=is_row[:, None], other=0.0)
                    here = level + start // SHARED * column_stride * 2
                    steps, middles = tl.load(here).to(tl.float32), tl.load(here + 1).to(tl.float32)
                    w = ((codes & 15).to(tl.float32) - 8.0) * steps + middles
                    low += tl.dot(some, w.to(some.dtype), input_precision="tf32x3")
                    steps = tl.load(here + TOGETHER).to(tl.float32)
                    middles = tl.load(here + TOGETHER + 1).to(tl.float32)
                    w = ((codes >> 4).to(tl.float32) - 8.0) * steps + middles
                    high += tl.dot(some, w.to(some.dtype), input_precision="tf32x3")
                column = first + halves
                _store(output, bias, weights, low, choice, column, expert, outer, is_row, HAS_BIAS, HAS_WEIGHTS)
                column += half
                _store(output, bias, weights, high, choice, column, expert, outer, is_row, HAS_BIAS, HAS_WEIGHTS)
        else:
            total = tl.zeros([TILE, COLUMNS], tl.float32)
            inside = tl.arange(0, GROUP)
            is_column = column < outer
            for start in range(0, inner, GROUP):
                depth = start + inside
                is_inside = depth < inner
                if IS_TRANSPOSED:
                    rows, columns = depth[:, None], column[None, :]
                else:
                    rows, columns = column[None, :], depth[:, None]
                is_there = is_inside[:, None] & is_column[None, :]
                w = tl.load(matrix + rows * row_stride + columns * column_stride, mask=is_there, other=0.0)
                some = tl.load(row_of + depth[None, :], mask=is_row[:, None] & is_inside[None, :], other=0.0)
                if FORM == 1:
                    num_rows = inner if IS_TRANSPOSED else outer
                    scale = tl.load(scales + expert.to(tl.int64) * num_rows + rows, mask=rows < num_rows, other=0.0)
                    w = w.to(tl.float32) * scale.to(tl.float32)
                total += tl.dot(some, w.to(some.dtype), input_precision="tf32x3")
            _store(output, bias, weights, total, choice, column, expert, outer, is_row, HAS_BIAS, HAS_WEIGHTS)


@triton.jit
def _store(
    output,
    bias,
    weights,
    total,
    choice,
    column,
    expert,
    outer,
    is_row,
    HAS_BIAS: tl.constexpr,
    HAS_WEIGHTS: tl.constexpr,
):
    """Finish and store products of some choices with some columns, rounding where separate operations would."""
    is_column = column < outer
    kind = output.dtype.element_ty
    total = total.to(kind)
    if HAS_BIAS:
        added = tl.load(bias + expert.to(tl.int64) * outer + column, mask=is_column, other=0.0)
        total = (total.to(tl.float32) + added.to(tl.float32)[None, :]).to(kind)
    if HAS_WEIGHTS:
        weight = tl.load(weights + choice, mask=is_row, other=0.0).to(tl.float32)
        total = (total.to(tl.float32) * weight[:, None]).to(kind)
    tl.store(output + choice[:, None] * outer + column[None, :], total, mask=is_row[:, None] & is_column[None, :])
