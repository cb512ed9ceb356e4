# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""Triton kernels of products with matrices in numbers, int8 or int4, dense or of experts, and one that restores them.

As in `kernels`, arguments have no annotations except for compile-time constants, which are in capitals. Triton copies
16 bytes at a time in the background where a tile has so many for each thread: COLUMNS, DEPTH and how levels are read
follow from that (see the figure `int4_loads`).
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

    FORM is 0 for numbers, 1 for int8 and 2 for int4 (see `potluck.blocks.formats`), where SHARED columns have levels in
    common, and `scales` holds step and middle as one integer; GROUP divides SHARED and DEPTH. Without `tiles` there is
    one expert, and choices lie in order. With second and third matrices, their outputs begin at columns `second` and
    `third`, which are multiples of COLUMNS. Of programs for the same outputs, the last one that ends adds up `parts`.
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
        rows = outer  # of the matrix
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
        if FORM == 2:
            if IS_TRANSPOSED:
                level = scales + expert * inner + (first + columns)[None, :] // SHARED * column_stride
                matrix += (first + columns)[None, :] * (COLUMNS // 2)
                total = _by_int4_transposed(row_of, is_row, matrix, level, is_column, begin, end, outer, TILE, COLUMNS)
            else:
                level_stride = column_stride
                if second_held is not None:
                    level_stride = rows
                total = _by_int4(
                    row_of, is_row, matrix + first // 2 * inner, scales + expert * outer + first, level_stride, begin,
                    end, inner, GROUP, SHARED, TILE, COLUMNS, DEPTH,
                )  # fmt: skip
        else:
            matrix += (first + columns)[None, :] * column_stride
            total = tl.zeros([TILE, COLUMNS], tl.float32)
            for start in tl.range(begin, end, DEPTH, num_stages=3):
                depth = start + tl.arange(0, DEPTH)
                is_inside = depth < inner
                is_there = is_inside[:, None] & is_column[None, :]
                w = tl.load(matrix + depth[:, None] * depth_stride, mask=is_there, other=0)
                some = tl.load(row_of + depth[None, :], mask=is_row[:, None] & is_inside[None, :], other=0.0)
                if FORM == 1 and IS_TRANSPOSED:
                    scale = tl.load(scales + expert * inner + depth, mask=is_inside, other=0.0)
                    w = w.to(tl.float32) * scale.to(tl.float32)[:, None]
                total += tl.dot(some, w.to(some.dtype), input_precision="tf32x3")
            if FORM == 1 and not IS_TRANSPOSED:
                scale = tl.load(scales + expert * outer + first + columns, mask=is_column, other=0.0)
                total *= scale.to(tl.float32)[None, :]

        is_last = True
        if parts is not None:
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
            total = total.to(kind)
            if bias is not None:
                added = tl.load(bias + expert * outer + first + columns, mask=is_column, other=0.0)
                total = (total.to(tl.float32) + added.to(tl.float32)[None, :]).to(kind)
            if weights is not None:
                weight = tl.load(weights + choice, mask=is_row, other=0.0).to(tl.float32)
                total = (total.to(tl.float32) * weight[:, None]).to(kind)
            target = output + choice[:, None].to(tl.int64) * outer + (column + columns)[None, :]
            tl.store(target, total, mask=is_row[:, None] & is_column[None, :])


@triton.jit
def _by_int4(
    row_of,
    is_row,
    matrix,
    scales,
    level_stride,
    begin,
    end,
    inner,
    GROUP: tl.constexpr,
    SHARED: tl.constexpr,
    TILE: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Return the product with one block of rows that were packed together. `matrix` and `scales` begin there."""
    half: tl.constexpr = COLUMNS // 2
    kind: tl.constexpr = row_of.dtype.element_ty
    low = tl.zeros([TILE, half], tl.float32)
    high = tl.zeros([TILE, half], tl.float32)
    for start in tl.range(begin, end, DEPTH, num_stages=3):
        depth = start + tl.arange(0, DEPTH)
        is_inside = depth < inner
        code = matrix + depth[:, None] * half + tl.arange(0, half)[None, :]
        codes = tl.load(code, mask=is_inside[:, None], other=0)
        low_w, high_w = _numbers_of(codes, scales, level_stride, start, inner, kind, GROUP, SHARED)
        some = tl.load(row_of + depth[None, :], mask=is_row[:, None] & is_inside[None, :], other=0.0)
        low += tl.dot(some, low_w.to(some.dtype), input_precision="tf32x3")
        high += tl.dot(some, high_w.to(some.dtype), input_precision="tf32x3")
    return tl.reshape(tl.permute(tl.join(low, high), [0, 2, 1]), [TILE, COLUMNS])


@triton.jit
def _numbers_of(
    codes,
    scales,
    level_stride,
    start,
    inner,
    KIND: tl.constexpr,
    GROUP: tl.constexpr,
    SHARED: tl.constexpr,
):
    """Return the numbers of both halves of a block's rows from `start` on. Shapes: codes and results [depth, half]."""
    depth: tl.constexpr = codes.shape[0]
    half: tl.constexpr = codes.shape[1]
    groups: tl.constexpr = depth // GROUP
    group = start + tl.arange(0, groups) * GROUP
    place = (group // SHARED)[:, None] * level_stride + tl.arange(0, 2 * half)[None, :]
    step, middle = _levels_of(tl.load(scales + place, mask=(group < inner)[:, None], other=0), KIND)
    low_step, high_step = tl.split(tl.permute(tl.reshape(step, [groups, 2, half]), [0, 2, 1]))
    low_middle, high_middle = tl.split(tl.permute(tl.reshape(middle, [groups, 2, half]), [0, 2, 1]))
    codes = tl.reshape(codes, [groups, GROUP, half])
    low = ((codes & 15).to(tl.float32) - 8.0) * low_step[:, None, :] + low_middle[:, None, :]
    high = ((codes >> 4).to(tl.float32) - 8.0) * high_step[:, None, :] + high_middle[:, None, :]
    return tl.reshape(low, [depth, half]), tl.reshape(high, [depth, half])


@triton.jit
def _levels_of(pair, KIND: tl.constexpr):
    """Return steps and middles in float32 from integers of 64 bits of float32, or of 32 bits of KIND."""
    if pair.dtype == tl.int64:
        return pair.to(tl.int32).to(tl.float32, bitcast=True), (pair >> 32).to(tl.int32).to(tl.float32, bitcast=True)
    low, high = pair.to(tl.int16), (pair >> 16).to(tl.int16)
    return low.to(KIND, bitcast=True).to(tl.float32), high.to(KIND, bitcast=True).to(tl.float32)


@triton.jit
def _by_int4_transposed(
    row_of,
    is_row,
    matrix,
    scales,
    is_column,
    begin,
    end,
    outer,
    TILE: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Return the product where a block of rows, which were packed together, is what one round of the loop reads."""
    half: tl.constexpr = COLUMNS // 2
    kind: tl.constexpr = row_of.dtype.element_ty
    total = tl.zeros([TILE, COLUMNS], tl.float32)
    halves = tl.arange(0, half)
    for start in tl.range(begin, end, COLUMNS, num_stages=3):
        code = matrix + start // 2 * outer + halves[:, None]
        codes = tl.load(code, mask=is_column[None, :], other=0)
        for part in tl.static_range(2):
            depth = start + part * half + halves
            pair = tl.load(scales + depth[:, None], mask=is_column[None, :], other=0)
            step, middle = _levels_of(pair, kind)
            w = (((codes >> (4 * part)) & 15).to(tl.float32) - 8.0) * step + middle
            some = tl.load(row_of + depth[None, :], mask=is_row[:, None], other=0.0)
            total += tl.dot(some, w.to(some.dtype), input_precision="tf32x3")
    return total


@triton.jit
def restore(
    held,
    scales,
    order,
    output,
    rows,
    columns,
    level_stride,
    FORM: tl.constexpr,
    GROUP: tl.constexpr,
    SHARED: tl.constexpr,
    ROWS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Write ROWS rows, DEPTH columns of each, of a matrix in int8 or int4 as numbers.

    FORM, GROUP, SHARED and `scales` are as for `grouped_product`; column i of the codes is column order[i] of numbers.
    """
    first = tl.program_id(0) * ROWS
    start = tl.program_id(1) * DEPTH
    depth = start + tl.arange(0, DEPTH)
    is_inside = depth < columns
    kind = output.dtype.element_ty
    row = first + tl.arange(0, ROWS)
    place = depth
    if order is not None:
        place = tl.load(order + depth, mask=is_inside, other=0)
    target = output + row[:, None].to(tl.int64) * columns + place[None, :]
    is_there = (row < rows)[:, None] & is_inside[None, :]
    if FORM == 1:
        codes = tl.load(held + row[:, None].to(tl.int64) * columns + depth[None, :], mask=is_there, other=0)
        scale = tl.load(scales + row, mask=row < rows, other=0.0).to(tl.float32)
        tl.store(target, (codes.to(tl.float32) * scale[:, None]).to(kind), mask=is_there)
    else:
        half: tl.constexpr = ROWS // 2
        code = held + first.to(tl.int64) // 2 * columns + depth[:, None] * half + tl.arange(0, half)[None, :]
        codes = tl.load(code, mask=is_inside[:, None], other=0)
        low, high = _numbers_of(codes, scales + first, level_stride, start, columns, kind, GROUP, SHARED)
        both = tl.reshape(tl.permute(tl.join(low, high), [2, 1, 0]), [ROWS, DEPTH])
        tl.store(target, both.to(kind), mask=is_there)
