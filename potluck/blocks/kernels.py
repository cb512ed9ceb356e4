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

from potluck.blocks.launching import launch_without_compiler

launch_without_compiler()  # here, because whatever launches a kernel imports this module


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
    Keys, values and, if IS_INT8, the factors of both lie as in `potluck.blocks.arenas`, `head_stride` slots a head.
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
    wide = wide * tl.rsqrt(tl.sum(wide * wide, 0) / width + epsilon)
    if ROUNDS_FIRST:
        wide = wide.to(x.dtype).to(tl.float32)
    factor = tl.load(weight + dims, mask=is_dim, other=0.0).to(tl.float32)
    if PLUS_ONE:
        factor += 1.0
    tl.store(output + start + dims, factor * wide, mask=is_dim)


@triton.jit
def rotate(
    query,
    keys,
    cosines,
    sines,
    query_heads,
    query_token_stride,
    key_token_stride,
    table_token_stride,
    HEAD_DIM: tl.constexpr,
    HALF: tl.constexpr,
    PAD: tl.constexpr,
    IS_INTERLEAVED: tl.constexpr,
):
    """Rotate the first 2 * HALF dimensions of one head of one token in place: halves, or neighbours if IS_INTERLEAVED.

    Heads of queries come first in the grid, then those of keys.
    """
    token, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    dims = tl.arange(0, PAD)
    is_dim = dims < HALF
    if head < query_heads:
        vector = query + token * query_token_stride + head * HEAD_DIM
    else:
        vector = keys + token * key_token_stride + (head - query_heads) * HEAD_DIM
    if IS_INTERLEAVED:
        ones, others = vector + 2 * dims, vector + 2 * dims + 1
    else:
        ones, others = vector + dims, vector + HALF + dims
    tables = token * table_token_stride + dims
    first = tl.load(ones, mask=is_dim, other=0.0).to(tl.float32)
    second = tl.load(others, mask=is_dim, other=0.0).to(tl.float32)
    cosine = tl.load(cosines + tables, mask=is_dim, other=0.0).to(tl.float32)
    sine = tl.load(sines + tables, mask=is_dim, other=0.0).to(tl.float32)
    tl.store(ones, first * cosine - second * sine, mask=is_dim)
    tl.store(others, second * cosine + first * sine, mask=is_dim)


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
