# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""Triton kernels of products with matrices in numbers, int8 or int4, dense or of experts, and one that restores them.

As in `kernels`, arguments have no annotations except for compile-time constants, which are in capitals. Triton copies
16 bytes at a time in the background where a tile has so many for each thread, and never single bytes: that is why codes
and levels are read as wider integers (see the figure `int4_loads`).
"""

from __future__ import annotations

import triton
import triton.language as tl

from potluck.blocks.kernels.launching import launch_without_compiler

launch_without_compiler()  # called here, because every launch of a kernel imports this module


@triton.jit(do_not_specialize=["choices"])  # otherwise a session waits for a compiler
def grouped_product(
    x,
    held,
    second_held,
    third_held,
    scales,
    second_scales,
    third_scales,
    bias,
    second_bias,
    third_bias,
    weights,
    output,
    parts,
    counters,
    order,
    tiles,
    x_stride,
    expert_stride,
    depth_stride,
    column_stride,
    share,
    choices,
    inner,
    outer,
    second,
    third,
    FORM: tl.constexpr,
    IS_TRANSPOSED: tl.constexpr,
    GROUP: tl.constexpr,
    SHARED: tl.constexpr,
    TILE: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Multiply TILE rows that chose the same expert by COLUMNS outputs of its matrix, or by a share of its depth.

    FORM is 0 for numbers, 1 for int8 and 2 for int4 (see `potluck.blocks.formats`), whose codes are read in words of 32
    bits. In int4 SHARED columns have levels in common, `scales` holds step and middle as one integer, and GROUP
    divides SHARED and DEPTH. Without `tiles` there is one expert, and choices lie in order. With second and third
    matrices, their outputs begin at columns `second` and `third`, which are multiples of COLUMNS. Of programs for the
    same outputs, the last one that ends adds up `parts`.
    """
    if tiles is None:
        expert = tl.full((), 0, tl.int64)
        place = tl.program_id(0) * TILE + tl.arange(0, TILE)
        is_row = place < choices
    else:
        tile = tiles + 4 * tl.program_id(0)
        expert = tl.load(tile).to(tl.int64)
        place = tl.load(tile + 1) + tl.arange(0, TILE)
        is_row = place < tl.load(tile + 2)
    if expert >= 0:
        choice = place
        if tiles is not None:
            choice = tl.load(order + place, mask=is_row, other=0)
        row_of = x + choice[:, None] // share * x_stride
        columns = tl.arange(0, COLUMNS)
        column = tl.program_id(1) * COLUMNS
        is_column = column + columns < outer
        first = column
        rows = outer  # strides of the matrix
        if second_held is not None:
            rows = tl.where(column < second, second, third - second)
            first = tl.where(column < second, column, column - second)
            held = tl.where(column < second, held, second_held)
            scales = tl.where(column < second, scales, second_scales)
            if bias is not None:
                bias = tl.where(column < second, bias, second_bias)
        if third_held is not None:
            rows = tl.where(column < third, rows, outer - third)
            first = tl.where(column < third, first, column - third)
            held = tl.where(column < third, held, third_held)
            scales = tl.where(column < third, scales, third_scales)
            if bias is not None:
                bias = tl.where(column < third, bias, third_bias)
        splits = tl.num_programs(2)
        deep = tl.cdiv(tl.cdiv(inner, DEPTH), splits) * DEPTH
        begin = tl.program_id(2) * deep
        end = tl.minimum(begin + deep, inner)

        matrix = held + expert * expert_stride
        scales_of = scales
        if scales is not None:
            scales_of += expert * (inner if IS_TRANSPOSED else outer)
        if FORM == 2 and IS_TRANSPOSED:
            total = _by_int4_transposed(
                row_of, is_row, matrix, scales_of, column_stride, first, begin, end, outer, GROUP, SHARED, TILE, COLUMNS
            )  # fmt: skip
        elif FORM == 2:
            level_stride = column_stride
            if second_held is not None:
                level_stride = rows
            matrix += first // 8 * inner
            scales_of += first
            total = tl.zeros([TILE, COLUMNS], tl.float32)
            for start in tl.range(begin, end, DEPTH, num_stages=3):
                depth = start + tl.arange(0, DEPTH)
                is_there = is_row[:, None] & (depth < inner)[None, :]
                some = tl.load(row_of + depth[None, :], mask=is_there, other=0.0)
                w = _of_int4(matrix, scales_of, level_stride, start, inner, some.dtype, GROUP, SHARED, COLUMNS, DEPTH)
                total += tl.dot(some, w.to(some.dtype), input_precision="tf32x3")
            total = tl.reshape(tl.permute(tl.reshape(total, [TILE, COLUMNS // 8, 4, 2]), [0, 3, 1, 2]), [TILE, COLUMNS])
        else:
            total = tl.zeros([TILE, COLUMNS], tl.float32)
            for start in tl.range(begin, end, DEPTH, num_stages=3):
                depth = start + tl.arange(0, DEPTH)
                is_inside = depth < inner
                some = tl.load(row_of + depth[None, :], mask=is_row[:, None] & is_inside[None, :], other=0.0)
                if FORM == 0:
                    places = depth[:, None] * depth_stride + (first + columns)[None, :] * column_stride
                    w = tl.load(matrix + places, mask=is_inside[:, None] & is_column[None, :], other=0.0)
                elif IS_TRANSPOSED:
                    w = _of_int8(matrix, column_stride, start, inner, first, outer, DEPTH, COLUMNS)
                    scale = tl.load(scales_of + depth, mask=is_inside, other=0.0)
                    w = w * scale.to(tl.float32)[:, None]
                else:
                    w = tl.trans(_of_int8(matrix, column_stride, first, rows, start, inner, COLUMNS, DEPTH))
                total += tl.dot(some, w.to(some.dtype), input_precision="tf32x3")
            if FORM == 1 and not IS_TRANSPOSED:
                scale = tl.load(scales_of + first + columns, mask=is_column, other=0.0)
                total *= scale.to(tl.float32)[None, :]

        is_last = splits == 1
        if splits > 1:
            number = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
            part = tl.arange(0, TILE)[:, None] * COLUMNS + columns[None, :]
            part += number.to(tl.int64) * splits * TILE * COLUMNS
            size: tl.constexpr = TILE * COLUMNS
            tl.store(parts + part + tl.program_id(2) * size, total, mask=is_row[:, None])
            tl.debug_barrier()
            is_last = tl.atomic_add(counters + number, 1, sem="acq_rel") == splits - 1
            if is_last:
                total = tl.zeros([TILE, COLUMNS], tl.float32)
                for split in range(splits):
                    total += tl.load(parts + part + split * size, mask=is_row[:, None], other=0.0, cache_modifier=".cg")
                tl.store(counters + number, 0)
        if is_last:  # rounds where separate operations would
            kind = output.dtype.element_ty
            made = total.to(kind)
            if bias is not None:
                added = tl.load(bias + expert * outer + first + columns, mask=is_column, other=0.0)
                made = (made.to(tl.float32) + added.to(tl.float32)[None, :]).to(kind)
            if weights is not None:
                weight = tl.load(weights + choice, mask=is_row, other=0.0).to(tl.float32)
                made = (made.to(tl.float32) * weight[:, None]).to(kind)
            target = output + choice[:, None].to(tl.int64) * outer + (column + columns)[None, :]
            tl.store(target, made, mask=is_row[:, None] & is_column[None, :])


@triton.jit
def _of_int4(
    words,
    pairs,
    level_stride,
    start,
    inner,
    KIND: tl.constexpr,
    GROUP: tl.constexpr,
    SHARED: tl.constexpr,
    ROWS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Return numbers [DEPTH, ROWS] of a block of rows; row 2 * (4 * i + j) + k is row (ROWS // 2) * k + 4 * i + j.

    That is how they lie in words of 32 bits. A code stays in its place in the word, and the distance between levels is
    divided by the power of two that this multiplies it with: both are exact.
    """
    groups: tl.constexpr = DEPTH // GROUP
    depth = start + tl.arange(0, DEPTH)
    word = depth[:, None] * (ROWS // 8) + tl.arange(0, ROWS // 8)[None, :]
    codes = tl.load(words + word, mask=(depth < inner)[:, None], other=0)
    group = start + tl.arange(0, groups) * GROUP
    level = (group // SHARED)[:, None] * level_stride + tl.arange(0, ROWS)[None, :]
    pair = tl.load(pairs + level, mask=(group < inner)[:, None], other=0)
    pair = tl.permute(tl.reshape(pair, [groups, 2, ROWS // 8, 4]), [0, 2, 3, 1])
    step, least = _levels_of(tl.reshape(pair, [groups, 1, ROWS // 8, 8]), KIND)
    nibble = tl.arange(0, 8)[None, None, None, :]
    step *= _shrunk(nibble)
    codes = tl.reshape(codes, [groups, GROUP, ROWS // 8, 1]).to(tl.uint32, bitcast=True)
    return tl.reshape((codes & _mask_of(nibble)).to(tl.float32) * step + least, [DEPTH, ROWS])


@triton.jit
def _levels_of(pair, KIND: tl.constexpr):
    """Return the distance between levels and the value of code 0, of integers that hold the value of code 8.

    They are pairs of float32 if they have 64 bits, else of KIND.
    """
    if pair.dtype == tl.int64:
        step, middle = pair.to(tl.int32).to(tl.float32, bitcast=True), (pair >> 32).to(tl.int32)
        middle = middle.to(tl.float32, bitcast=True)
    else:
        step = pair.to(tl.int16).to(KIND, bitcast=True).to(tl.float32)
        middle = (pair >> 16).to(tl.int16).to(KIND, bitcast=True).to(tl.float32)
    return step, middle - 8.0 * step


@triton.jit
def _mask_of(nibble):
    return tl.full(nibble.shape, 15, tl.uint32) << (4 * nibble).to(tl.uint32)


@triton.jit
def _shrunk(nibble):
    """Return 16 to the power of -nibble."""
    return ((127 - 4 * nibble) << 23).to(tl.float32, bitcast=True)


@triton.jit
def _of_int8(words, row_words, first, rows, start, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Return codes [ROWS, COLUMNS] of an int8 matrix [rows, columns], which is read in words of 32 bits, as numbers.

    `start` is a multiple of COLUMNS.
    """
    row = first + tl.arange(0, ROWS)
    place = tl.arange(0, COLUMNS // 4)
    word = row[:, None].to(tl.int64) * row_words + start // COLUMNS * (COLUMNS // 4) + place[None, :]
    is_inside = start + place // 4 * 16 < columns  # Triton sees in this form that it holds for 16 bytes at a time
    codes = tl.load(words + word, mask=(row < rows)[:, None] & is_inside[None, :], other=0)
    shift = 24 - 8 * tl.arange(0, 4)[None, None, :]
    codes = (tl.reshape(codes, [ROWS, COLUMNS // 4, 1]) << shift) >> 24
    return tl.reshape(codes.to(tl.float32), [ROWS, COLUMNS])


@triton.jit
def _by_int4_transposed(
    row_of,
    is_row,
    words,
    pairs,
    level_stride,
    first,
    begin,
    end,
    outer,
    GROUP: tl.constexpr,
    SHARED: tl.constexpr,
    TILE: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Return the product where a block of rows, which were packed together, is what one round of the loop reads."""
    kind: tl.constexpr = row_of.dtype.element_ty
    groups: tl.constexpr = COLUMNS // GROUP
    total = tl.zeros([TILE, COLUMNS], tl.float32)
    is_column = (first + tl.arange(0, COLUMNS) < outer)[None, :]
    word = (first + tl.arange(0, COLUMNS))[None, :] * (COLUMNS // 8) + tl.arange(0, COLUMNS // 8)[:, None]
    group = first + tl.arange(0, groups) * GROUP
    nibble = tl.arange(0, 8)[None, :, None]
    for start in tl.range(begin, end, COLUMNS, num_stages=3):
        depth = start + tl.arange(0, COLUMNS)
        codes = tl.load(words + start // 8 * outer + word, mask=is_column, other=0)
        level = (group // SHARED)[:, None] * level_stride + depth[None, :]
        pair = tl.load(pairs + level, mask=(group < outer)[:, None], other=0)
        some = tl.load(row_of + depth[None, :], mask=is_row[:, None], other=0.0)
        pair = tl.permute(tl.reshape(pair, [groups, 2, COLUMNS // 8, 4]), [2, 3, 1, 0])  # the order of `_of_int4`
        some = tl.permute(tl.reshape(some, [TILE, 2, COLUMNS // 8, 4]), [0, 2, 3, 1])
        step, least = _levels_of(tl.reshape(pair, [COLUMNS // 8, 8, groups]), kind)
        step = tl.reshape(step * _shrunk(nibble), [COLUMNS, groups, 1])
        codes = tl.reshape(codes, [COLUMNS // 8, 1, COLUMNS]).to(tl.uint32, bitcast=True)
        code = tl.reshape((codes & _mask_of(nibble)).to(tl.float32), [COLUMNS, groups, GROUP])
        w = tl.reshape(code * step + tl.reshape(least, [COLUMNS, groups, 1]), [COLUMNS, COLUMNS])
        total += tl.dot(tl.reshape(some, [TILE, COLUMNS]), w.to(some.dtype), input_precision="tf32x3")
    return total


@triton.jit
def restore(
    held,
    scales,
    order,
    output,
    rows,
    columns,
    stride,
    FORM: tl.constexpr,
    GROUP: tl.constexpr,
    SHARED: tl.constexpr,
    ROWS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Write ROWS rows, DEPTH columns of each, of a matrix in int8 or int4 as numbers.

    FORM, GROUP, SHARED, `held`, `scales` and `stride` are as for `grouped_product`. Column i of codes is column
    order[i] of numbers.
    """
    first = tl.program_id(0) * ROWS
    start = tl.program_id(1) * DEPTH
    row, depth = first + tl.arange(0, ROWS), start + tl.arange(0, DEPTH)
    kind: tl.constexpr = output.dtype.element_ty
    place = depth
    if order is not None:
        place = tl.load(order + depth, mask=depth < columns, other=0)
    if FORM == 1:
        scale = tl.load(scales + row, mask=row < rows, other=0.0).to(tl.float32)
        numbers = _of_int8(held, stride, first, rows, start, columns, ROWS, DEPTH) * scale[:, None]
    else:
        words = held + first.to(tl.int64) // 8 * columns
        numbers = _of_int4(words, scales + first, stride, start, columns, kind, GROUP, SHARED, ROWS, DEPTH)
        numbers = tl.permute(tl.reshape(numbers, [DEPTH, ROWS // 8, 4, 2]), [3, 1, 2, 0])
        numbers = tl.reshape(numbers, [ROWS, DEPTH])
    target = output + row[:, None].to(tl.int64) * columns + place[None, :]
    tl.store(target, numbers.to(kind), mask=(row < rows)[:, None] & (depth < columns)[None, :])
