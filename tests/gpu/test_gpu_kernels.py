"""The Triton kernels: their numbers, on the GPU or, with TRITON_INTERPRET=1 in the environment, on the CPU."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton")
IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
if not (torch.cuda.is_available() or IS_INTERPRETED):
    pytest.skip("needs a GPU, or TRITON_INTERPRET=1", allow_module_level=True)

from potluck.checkpoint.paged_attention import (  # noqa: E402 (triton may be missing)
    AttentionKind,
    PagedRows,
    paged_attention,
    tile_tokens_of,
    tiles_of,
)

# The interpreter computes with numpy, which warns of infinities that are meant.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
DEVICE = "cpu" if IS_INTERPRETED else "cuda"
# The interpreter's bf16 is a row of integers to its matrix product.
DTYPES = [torch.float32, torch.float16, *([] if IS_INTERPRETED else [torch.bfloat16])]
TOLERANCE = {torch.float32: 1e-5, torch.float16: 1e-3, torch.bfloat16: 1e-2}
PAGE = 16
CAPACITY = 2048


@dataclass
class Row:
    new: int
    length: int
    pages: list[int]
    first_page: int = 0


def rows_of(news: list[int], lengths: list[int], window: int | None = None) -> list[Row]:
    pages = random.Random(0).sample(range(CAPACITY // PAGE), CAPACITY // PAGE)
    rows = []
    for new, length in zip(news, lengths, strict=True):
        first = max(length - new - window + 1, 0) // PAGE if window else 0
        rows.append(Row(new, length, [pages.pop() for _ in range(-(-length // PAGE) - first)], first))
    return rows


def paged(rows: list[Row], group: int, *, decode_only: bool = False) -> PagedRows:
    meta, tables, start = [], [], 0
    for row in rows:
        meta.append((start, row.new, row.length, len(tables) - row.first_page))
        tables += row.pages
        start += row.new
    tile = tile_tokens_of(group, decode_only=decode_only)
    tiles = tiles_of([row.new for row in rows], tile)
    return PagedRows(*(torch.tensor(data, dtype=torch.int32, device=DEVICE) for data in (meta, tiles, tables)), tile)


def reference(
    query: Tensor, keys: Tensor, values: Tensor, rows: list[Row], kind: AttentionKind, sinks: Tensor | None
) -> Tensor:
    """Row by row in float64, over gathered keys and values."""
    group = query.shape[1] // keys.shape[0]
    outputs, start = [], 0
    for row in rows:
        past = torch.arange(row.first_page * PAGE, row.length, device=DEVICE)
        slots = torch.tensor(
            [row.pages[p // PAGE - row.first_page] * PAGE + p % PAGE for p in past.tolist()], device=DEVICE
        )
        k, v = (arena[:, slots].double().repeat_interleave(group, 0) for arena in (keys, values))
        q = query[start : start + row.new].double()
        scores = torch.einsum("nhd,hld->hnl", q, k) * kind.scale
        if kind.soft_cap is not None:
            scores = kind.soft_cap * torch.tanh(scores / kind.soft_cap)
        now = torch.arange(row.length - row.new, row.length, device=DEVICE)[:, None]
        seen = past[None] <= now
        if kind.window is not None:
            seen &= now - past[None] < kind.window
        scores = scores.masked_fill(~seen, -torch.inf)
        if sinks is not None:
            scores = torch.cat((scores, sinks.double()[:, None, None].expand(-1, row.new, 1)), dim=-1)
        weights = scores.softmax(-1)[..., : len(past)]
        outputs.append(torch.einsum("hnl,hld->nhd", weights, v))
        start += row.new
    return torch.cat(outputs)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("news", "lengths", "heads", "kv_heads", "dims", "kind", "has_sinks"),
    [
        pytest.param([1, 1, 1], [5, 300, 33], 8, 2, (64, 64), AttentionKind(0.125), False, id="decode"),
        pytest.param([1, 1], [1, 700], 4, 4, (32, 32), AttentionKind(0.2), False, id="every head its own keys"),
        pytest.param([7, 1, 70], [7, 100, 140], 8, 2, (64, 64), AttentionKind(0.125), False, id="prefill and decode"),
        pytest.param([40, 1], [140, 90], 7, 1, (48, 32), AttentionKind(0.2), False, id="odd group and dimensions"),
        pytest.param([30, 1], [140, 200], 4, 2, (32, 32), AttentionKind(0.2, window=20), False, id="window"),
        pytest.param([30, 1], [50, 90], 4, 2, (32, 32), AttentionKind(0.5, soft_cap=3.0), False, id="soft cap"),
        pytest.param([30, 1], [50, 90], 4, 2, (32, 32), AttentionKind(0.2), True, id="sinks"),
    ],
)
def test_the_kernel_agrees_with_attention_row_by_row(
    news: list[int],
    lengths: list[int],
    heads: int,
    kv_heads: int,
    dims: tuple[int, int],
    kind: AttentionKind,
    has_sinks: bool,
    dtype: torch.dtype,
) -> None:
    torch.manual_seed(0)
    rows = rows_of(news, lengths, kind.window)
    query = torch.randn(sum(news), heads, dims[0]).to(DEVICE, dtype)
    keys, values = (torch.randn(kv_heads, CAPACITY, dim).to(DEVICE, dtype) for dim in dims)
    sinks = torch.randn(heads, device=DEVICE) if has_sinks else None
    where = paged(rows, heads // kv_heads, decode_only=max(news) == 1)

    output = paged_attention(query, keys, values, where, kind, page_tokens=PAGE, sinks=sinks)

    expected = reference(query, keys, values, rows, kind, sinks)
    error = (output.double() - expected).norm() / expected.norm()
    assert error < TOLERANCE[dtype]


def test_a_row_that_only_fills_a_bucket_gets_zeros_and_changes_no_other() -> None:
    torch.manual_seed(0)
    rows = rows_of([1, 1], [40, 9])
    filled = [*rows, Row(new=1, length=0, pages=[])]
    query = torch.randn(3, 4, 32, device=DEVICE)
    keys, values = (torch.randn(2, CAPACITY, 32, device=DEVICE) for _ in range(2))
    kind = AttentionKind(0.2)

    output = paged_attention(query, keys, values, paged(filled, 2, decode_only=True), kind, page_tokens=PAGE)

    assert not output[2].any()
    alone = paged_attention(query[:2], keys, values, paged(rows, 2, decode_only=True), kind, page_tokens=PAGE)
    torch.testing.assert_close(output[:2], alone, rtol=1e-6, atol=1e-6)
