# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""Triton kernels. The module imports triton, which only comes with torch for CUDA; callers check that it is there.

Arguments have no annotations except for compile-time constants, because triton reads annotations. Constants are in
capitals. A number in `do_not_specialize` may change without compiling again.

Source: FlashAttention-2's online softmax (arXiv 2307.08691) and Flash-Decoding's split over keys; the page table is
vLLM's (arXiv 2309.06180).
"""

from __future__ import annotations

import triton
import triton.language as tl

from potluck.blocks.kernels.launching import launch_without_compiler

launch_without_compiler()  # called here, because every launch of a kernel imports this module


@triton.jit(do_not_specialize=["splits"])
def attend(
    query,
    keys,
    values,
    key_factors,
    value_factors,
    parts,
    sums,
    rows,
    tiles,
    tables,
    query_token_stride,
    query_head_stride,
    head_stride,
    scale,
    soft_cap,
    window,
    heads,
    splits,
    HAS_SOFT_CAP: tl.constexpr,
    HAS_WINDOW: tl.constexpr,
    IS_INT8: tl.constexpr,
    GROUP: tl.constexpr,
    HEADS: tl.constexpr,
    TILE_TOKENS: tl.constexpr,
    TILE: tl.constexpr,
    PAGE: tl.constexpr,
    BLOCK: tl.constexpr,
    KEY_DIM: tl.constexpr,
    VALUE_DIM: tl.constexpr,
    KEY_PAD: tl.constexpr,
    VALUE_PAD: tl.constexpr,
):
    """Attend with one tile of queries [TILE, KEY_PAD], (token, head) flattened, to one part of the row's past.

    The grid's second axis counts key-value heads, each divided into parts of HEADS out of its GROUP of query heads.
    Keys, values and, if IS_INT8, the factors of both lie as in `blocks.cache.arenas`, `head_stride` slots a head.
    """
    tile, split = tl.program_id(0), tl.program_id(2)
    num_parts: tl.constexpr = (GROUP + HEADS - 1) // HEADS
    kv_head = tl.program_id(1) // num_parts
    group_start = tl.program_id(1) % num_parts * HEADS
    row = tl.load(tiles + 2 * tile).to(tl.int32)
    first = tl.load(tiles + 2 * tile + 1).to(tl.int32)
    row_start = tl.load(rows + 4 * row)
    row_tokens = tl.load(rows + 4 * row + 1).to(tl.int32)
    length = tl.load(rows + 4 * row + 2).to(tl.int32)
    table = tables + tl.load(rows + 4 * row + 3)

    index = tl.arange(0, TILE)
    token = first + index // HEADS
    head_in_group = group_start + index % HEADS
    head = kv_head * GROUP + head_in_group
    is_query = (index < TILE_TOKENS * HEADS) & (token < row_tokens) & (head_in_group < GROUP)
    position = length - row_tokens + token
    step_token = row_start + token

    key_dims, value_dims = tl.arange(0, KEY_PAD), tl.arange(0, VALUE_PAD)
    q = tl.load(
        query + step_token[:, None] * query_token_stride + head[:, None] * query_head_stride + key_dims[None, :],
        mask=is_query[:, None] & (key_dims[None, :] < KEY_DIM),
        other=0.0,
    )

    end = tl.minimum(length, length - row_tokens + first + TILE_TOKENS)
    oldest = 0
    if HAS_WINDOW:
        oldest = tl.maximum(length - row_tokens + first - window + 1, 0)  # earlier pages need not be in the table
    begin = oldest // BLOCK * BLOCK
    part = tl.cdiv(tl.cdiv(tl.maximum(end - begin, 0), BLOCK), splits) * BLOCK
    begin += split * part
    end = tl.minimum(end, begin + part)

    best = tl.full([TILE], float("-inf"), tl.float32)
    total = tl.zeros([TILE], tl.float32)
    mixed = tl.zeros([TILE, VALUE_PAD], tl.float32)
    first_slot = kv_head.to(tl.int64) * head_stride
    for start in range(begin, end, BLOCK):
        past = start + tl.arange(0, BLOCK)
        is_past = (past >= oldest) & (past < end)
        page = tl.load(table + past // PAGE, mask=is_past, other=0)
        slot = first_slot + page * PAGE + past % PAGE
        k = tl.load(
            keys + slot[None, :] * KEY_DIM + key_dims[:, None],
            mask=is_past[None, :] & (key_dims[:, None] < KEY_DIM),
            other=0,
        )
        scores = tl.dot(q, k.to(q.dtype), input_precision="tf32x3") * scale
        if IS_INT8:
            factor = tl.load(key_factors + slot, mask=is_past, other=0.0)
            scores *= factor.to(tl.float32)[None, :]
        if HAS_SOFT_CAP:
            scores = soft_cap * (2.0 * tl.sigmoid(2.0 * scores / soft_cap) - 1.0)
        is_seen = is_past[None, :] & (past[None, :] <= position[:, None])
        if HAS_WINDOW:
            is_seen = is_seen & (position[:, None] - past[None, :] < window)
        scores = tl.where(is_seen, scores, float("-inf"))
        new_best = tl.maximum(best, tl.max(scores, 1))
        shift = tl.where(new_best == float("-inf"), 0.0, new_best)  # a token that sees nothing must not give NaN
        weights = tl.exp(scores - shift[:, None])
        old = tl.exp(best - shift)
        v = tl.load(
            values + slot[:, None] * VALUE_DIM + value_dims[None, :],
            mask=is_past[:, None] & (value_dims[None, :] < VALUE_DIM),
            other=0,
        )
        total = total * old + tl.sum(weights, 1)
        if IS_INT8:
            factor = tl.load(value_factors + slot, mask=is_past, other=0.0)
            weights *= factor.to(tl.float32)[None, :]
        mixed = mixed * old[:, None] + tl.dot(weights.to(q.dtype), v.to(q.dtype), input_precision="tf32x3")
        best = new_best

    is_empty = total == 0.0
    total = tl.where(is_empty, 1.0, total)
    mixed = mixed / total[:, None]
    target = (step_token * heads + head) * splits + split
    tl.store(
        parts + target[:, None] * VALUE_DIM + value_dims[None, :],
        mixed,
        mask=is_query[:, None] & (value_dims[None, :] < VALUE_DIM),
    )
    tl.store(sums + target, tl.where(is_empty, float("-inf"), best + tl.log(total)), mask=is_query)


@triton.jit(do_not_specialize=["splits"])
def merge(
    parts,
    sums,
    output,
    sinks,
    heads,
    splits,
    HAS_SINKS: tl.constexpr,
    MOST_SPLITS: tl.constexpr,
    VALUE_DIM: tl.constexpr,
    VALUE_PAD: tl.constexpr,
):
    """Merge one token's parts for one head, weighted by the exponents of their sums; a sink only takes weight."""
    head = tl.program_id(1)
    vector = tl.program_id(0).to(tl.int64) * heads + head
    split, dims = tl.arange(0, MOST_SPLITS), tl.arange(0, VALUE_PAD)
    logs = tl.load(sums + vector * splits + split, mask=split < splits, other=float("-inf"))
    best = tl.max(logs, 0)
    if HAS_SINKS:
        sink = tl.load(sinks + head).to(tl.float32)
        best = tl.maximum(best, sink)
    best = tl.where(best == float("-inf"), 0.0, best)
    weights = tl.exp(logs - best)
    total = tl.sum(weights, 0)
    if HAS_SINKS:
        total += tl.exp(sink - best)
    part = tl.load(
        parts + (vector * splits + split[:, None]) * VALUE_DIM + dims[None, :],
        mask=(split[:, None] < splits) & (dims[None, :] < VALUE_DIM),
        other=0.0,
    )
    mixed = tl.sum(part * weights[:, None], 0) / tl.where(total == 0.0, 1.0, total)
    tl.store(output + vector * VALUE_DIM + dims, mixed, mask=dims < VALUE_DIM)


@triton.jit
def add_and_norm(
    hidden,
    added,
    weight,
    total,
    output,
    epsilon,
    width,
    HAS_ADDED: tl.constexpr,
    ROUNDS_FIRST: tl.constexpr,
    PLUS_ONE: tl.constexpr,
    PAD: tl.constexpr,
):
    """Normalise one token: `total` = hidden + added if HAS_ADDED; `output` = its RMS norm times weight.

    It rounds where the families' own code rounds: after the sum, and before the weight if ROUNDS_FIRST.
    """
    dims = tl.arange(0, PAD)
    is_dim = dims < width
    start = tl.program_id(0).to(tl.int64) * width
    x = tl.load(hidden + start + dims, mask=is_dim, other=0.0)
    if HAS_ADDED:
        plus = tl.load(added + start + dims, mask=is_dim, other=0.0).to(tl.float32)
        x = (x.to(tl.float32) + plus).to(hidden.dtype.element_ty)
        tl.store(total + start + dims, x, mask=is_dim)
    wide = x.to(tl.float32)
    scale = tl.rsqrt(tl.sum(wide * wide, 0) / width + epsilon)
    tl.store(output + start + dims, _weighted(x, scale, weight + dims, is_dim, ROUNDS_FIRST, PLUS_ONE), mask=is_dim)


@triton.jit
def _weighted(x, scale, weights, is_dim, ROUNDS_FIRST: tl.constexpr, PLUS_ONE: tl.constexpr):
    """Return what an RMS norm makes of x, float32; `scale` is 1 over the root of its mean square."""
    wide = x.to(tl.float32) * scale
    if ROUNDS_FIRST:
        wide = wide.to(x.dtype).to(tl.float32)
    factor = tl.load(weights, mask=is_dim, other=0.0).to(tl.float32)
    if PLUS_ONE:
        factor += 1.0
    return factor * wide


@triton.jit
def rotate_and_keep(
    query,
    keys,
    values,
    query_norm,
    key_norm,
    cosines,
    sines,
    output,
    held_keys,
    held_values,
    key_factors,
    value_factors,
    slots,
    query_heads,
    kv_heads,
    query_token_stride,
    key_token_stride,
    key_head_stride,
    value_token_stride,
    value_head_stride,
    table_token_stride,
    head_stride,
    epsilon,
    KEY_DIM: tl.constexpr,
    VALUE_DIM: tl.constexpr,
    HALF: tl.constexpr,
    PAD: tl.constexpr,
    IS_INTERLEAVED: tl.constexpr,
    HAS_NORMS: tl.constexpr,
    ROUNDS_FIRST: tl.constexpr,
    PLUS_ONE: tl.constexpr,
    IS_INT8: tl.constexpr,
):
    """Write one head of one token: queries to `output` [tokens, query_heads, KEY_DIM], keys and values to their slots.

    Queries and keys are normalised if HAS_NORMS, and their first 2 * HALF dimensions are rotated: halves, or
    neighbours if IS_INTERLEAVED. Heads of queries come first in the grid, then those of keys and those of values.
    What is held lies as `attend` describes.
    """
    token, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    kv_head = (head - query_heads) % kv_heads
    dims = tl.arange(0, PAD)
    slot = kv_head.to(tl.int64) * head_stride + tl.load(slots + token)
    if head >= query_heads + kv_heads:
        vector = values + token * value_token_stride + kv_head * value_head_stride
        x = tl.load(vector + dims, mask=dims < VALUE_DIM, other=0.0)
        _keep(x, held_values, value_factors, slot, dims, VALUE_DIM, IS_INT8)
    else:
        if head < query_heads:
            vector, weight = query + token * query_token_stride + head * KEY_DIM, query_norm
        else:
            vector, weight = keys + token * key_token_stride + kv_head * key_head_stride, key_norm
        x = tl.load(vector + dims, mask=dims < KEY_DIM, other=0.0)
        scale = 1.0
        if HAS_NORMS:
            wide = x.to(tl.float32)
            scale = tl.rsqrt(tl.sum(wide * wide, 0) / KEY_DIM + epsilon)
            x = _weighted(x, scale, weight + dims, dims < KEY_DIM, ROUNDS_FIRST, PLUS_ONE).to(x.dtype)
        if HALF > 0:
            is_turned = dims < 2 * HALF
            if IS_INTERLEAVED:
                pair, is_first, distance = dims // 2, dims % 2 == 0, 1
            else:
                is_first, distance = dims < HALF, HALF
                pair = tl.where(is_first, dims, dims - HALF)
            other = tl.where(is_first, dims + distance, dims - distance)
            y = tl.load(vector + other, mask=is_turned, other=0.0)
            if HAS_NORMS:
                y = _weighted(y, scale, weight + other, is_turned, ROUNDS_FIRST, PLUS_ONE).to(x.dtype)
            tables = token * table_token_stride + pair
            cosine = tl.load(cosines + tables, mask=is_turned, other=1.0).to(tl.float32)
            sine = tl.load(sines + tables, mask=is_turned, other=0.0).to(tl.float32)
            x = (x.to(tl.float32) * cosine + y.to(tl.float32) * tl.where(is_first, -sine, sine)).to(x.dtype)
        if head < query_heads:
            tl.store(output + (token * query_heads + head) * KEY_DIM + dims, x, mask=dims < KEY_DIM)
        else:
            _keep(x, held_keys, key_factors, slot, dims, KEY_DIM, IS_INT8)


@triton.jit
def _keep(x, held, factors, slot, dims, DIM: tl.constexpr, IS_INT8: tl.constexpr):
    """Write a head to its slot; in int8 its codes and their factor, rounded as by `blocks.cache.arenas.encoded`."""
    target = held + slot * DIM + dims
    if IS_INT8:
        wide = x.to(tl.float32)
        step = tl.maximum(tl.div_rn(tl.max(tl.abs(wide), 0), 127.0), 1e-30)
        factor = step.to(tl.bfloat16)
        code = tl.div_rn(wide, tl.zeros_like(wide) + factor.to(tl.float32))
        code = code + 12582912.0 - 12582912.0  # 1.5 * 2**23: rounds to even, as torch does
        tl.store(target, tl.minimum(tl.maximum(code, -127.0), 127.0).to(tl.int8), mask=dims < DIM)
        tl.store(factors + slot, factor)
    else:
        tl.store(target, x, mask=dims < DIM)


@triton.jit
def activate_times(gate, up, output, gate_stride, up_stride, width, IS_GELU: tl.constexpr, BLOCK: tl.constexpr):
    """Compute output = silu(gate) * up, or gelu(gate) * up by tanh, for a part of one token.

    It rounds after the activation, as two operations would.
    """
    token = tl.program_id(0).to(tl.int64)
    index = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    is_inside = index < width
    x = tl.load(gate + token * gate_stride + index, mask=is_inside, other=0.0)
    y = tl.load(up + token * up_stride + index, mask=is_inside, other=0.0).to(tl.float32)
    wide = x.to(tl.float32)
    if IS_GELU:
        inner = 0.7978845608028654 * (wide + 0.044715 * wide * wide * wide)
        active = wide * tl.sigmoid(2.0 * inner)  # 1 + tanh(a) = 2 sigmoid(2 a)
    else:
        active = wide * tl.sigmoid(wide)
    tl.store(output + token * width + index, active.to(x.dtype).to(tl.float32) * y, mask=is_inside)
