# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""Triton kernels. Imports triton, which comes with torch for CUDA only; who calls them decides whether it is there.

Arguments have no annotations but for compile-time constants: triton reads annotations. Constants are in capitals. The
numbers are checked with triton's interpreter, and all kernels are compiled for sm_90, in the unit tests.

Source: FlashAttention-2's online softmax (arXiv 2307.08691) and Flash-Decoding's split over keys; the page table is
vLLM's (arXiv 2309.06180).
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def attend(
    query,
    keys,
    values,
    parts,
    sums,
    rows,
    tiles,
    tables,
    query_token_stride,
    query_head_stride,
    key_head_stride,
    key_token_stride,
    value_head_stride,
    value_token_stride,
    scale,
    soft_cap,
    window,
    heads,
    HAS_SOFT_CAP: tl.constexpr,
    HAS_WINDOW: tl.constexpr,
    GROUP: tl.constexpr,
    TILE_TOKENS: tl.constexpr,
    TILE: tl.constexpr,
    PAGE: tl.constexpr,
    BLOCK: tl.constexpr,
    KEY_DIM: tl.constexpr,
    VALUE_DIM: tl.constexpr,
    KEY_PAD: tl.constexpr,
    VALUE_PAD: tl.constexpr,
    SPLITS: tl.constexpr,
):
    """One tile of queries [TILE, KEY_PAD], (token, head of the group) flattened, over one part of the row's past."""
    tile, kv_head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    row = tl.load(tiles + 2 * tile)
    first = tl.load(tiles + 2 * tile + 1)
    row_start = tl.load(rows + 4 * row)
    row_tokens = tl.load(rows + 4 * row + 1)
    length = tl.load(rows + 4 * row + 2)
    table = tables + tl.load(rows + 4 * row + 3)

    index = tl.arange(0, TILE)
    token = first + index // GROUP
    head = kv_head * GROUP + index % GROUP
    is_query = (index < TILE_TOKENS * GROUP) & (token < row_tokens)
    position = length - row_tokens + token
    step_token = (row_start + token).to(tl.int64)

    key_dims, value_dims = tl.arange(0, KEY_PAD), tl.arange(0, VALUE_PAD)
    q = tl.load(
        query + step_token[:, None] * query_token_stride + head[:, None] * query_head_stride + key_dims[None, :],
        mask=is_query[:, None] & (key_dims[None, :] < KEY_DIM),
        other=0.0,
    )

    end = tl.minimum(length, length - row_tokens + first + TILE_TOKENS)
    begin = 0
    if HAS_WINDOW:
        begin = tl.maximum(length - row_tokens + first - window + 1, 0) // BLOCK * BLOCK
    part = tl.cdiv(tl.cdiv(tl.maximum(end - begin, 0), BLOCK), SPLITS) * BLOCK
    begin += split * part
    end = tl.minimum(end, begin + part)

    best = tl.full([TILE], float("-inf"), tl.float32)
    total = tl.zeros([TILE], tl.float32)
    mixed = tl.zeros([TILE, VALUE_PAD], tl.float32)
    key_base = keys + kv_head.to(tl.int64) * key_head_stride
    value_base = values + kv_head.to(tl.int64) * value_head_stride
    for start in range(begin, end, BLOCK):
        past = start + tl.arange(0, BLOCK)
        is_past = past < end
        page = tl.load(table + past // PAGE, mask=is_past, other=0).to(tl.int64)
        slot = page * PAGE + past % PAGE
        k = tl.load(
            key_base + slot[None, :] * key_token_stride + key_dims[:, None],
            mask=is_past[None, :] & (key_dims[:, None] < KEY_DIM),
            other=0.0,
        )
        scores = tl.dot(q, k, input_precision="tf32x3") * scale
        if HAS_SOFT_CAP:
            scores = soft_cap * (2.0 * tl.sigmoid(2.0 * scores / soft_cap) - 1.0)
        is_seen = is_past[None, :] & (past[None, :] <= position[:, None])
        if HAS_WINDOW:
            is_seen = is_seen & (position[:, None] - past[None, :] < window)
        scores = tl.where(is_seen, scores, float("-inf"))
        new_best = tl.maximum(best, tl.max(scores, 1))
        shift = tl.where(new_best == float("-inf"), 0.0, new_best)  # a token that sees nothing here must not give NaN
        weights = tl.exp(scores - shift[:, None])
        old = tl.exp(best - shift)
        v = tl.load(
            value_base + slot[:, None] * value_token_stride + value_dims[None, :],
            mask=is_past[:, None] & (value_dims[None, :] < VALUE_DIM),
            other=0.0,
        )
        total = total * old + tl.sum(weights, 1)
        mixed = mixed * old[:, None] + tl.dot(weights.to(v.dtype), v, input_precision="tf32x3")
        best = new_best

    is_empty = total == 0.0
    total = tl.where(is_empty, 1.0, total)
    mixed = mixed / total[:, None]
    target = (step_token * heads + head) * SPLITS + split
    tl.store(
        parts + target[:, None] * VALUE_DIM + value_dims[None, :],
        mixed,
        mask=is_query[:, None] & (value_dims[None, :] < VALUE_DIM),
    )
    tl.store(sums + target, tl.where(is_empty, float("-inf"), best + tl.log(total)), mask=is_query)


@triton.jit
def merge(
    parts,
    sums,
    output,
    sinks,
    heads,
    HAS_SINKS: tl.constexpr,
    SPLITS: tl.constexpr,
    VALUE_DIM: tl.constexpr,
    VALUE_PAD: tl.constexpr,
):
    """One token and head: its parts weighted by the exponent of their sums; a sink only takes weight."""
    head = tl.program_id(1)
    vector = tl.program_id(0).to(tl.int64) * heads + head
    splits, dims = tl.arange(0, SPLITS), tl.arange(0, VALUE_PAD)
    logs = tl.load(sums + vector * SPLITS + splits)
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
        parts + (vector * SPLITS + splits[:, None]) * VALUE_DIM + dims[None, :],
        mask=dims[None, :] < VALUE_DIM,
        other=0.0,
    )
    mixed = tl.sum(part * weights[:, None], 0) / tl.where(total == 0.0, 1.0, total)
    tl.store(output + vector * VALUE_DIM + dims, mixed, mask=dims < VALUE_DIM)
