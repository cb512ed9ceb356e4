"""Attention of ragged rows over paged memory in two launches: any mixture of decode rows and prefill chunks.

The first kernel takes one tile of a row's new tokens, for one key-value head with all the query heads that share it,
over one part of the row's past (split-KV, so that a single row fills the device); the second merges the parts by their
log-sum-exp. Grids depend on numbers of tokens only, never on lengths, so a launch can be captured in a CUDA graph.

Imports triton: import this module where triton was found. Never run on a GPU so far; see docs/decisions/0011-cuda.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
import triton
from torch import Tensor

from potluck.checkpoint import kernels

_DECODE_TILE = 16  # query vectors a program: the smallest that tensor cores take
_PREFILL_TILE = 64
_PROGRAMS_PER_PROCESSOR = 4
_MAX_SPLITS = 32
_PROCESSORS_ELSEWHERE = 8  # for the interpreter: enough to split


@dataclass(frozen=True, slots=True)
class PagedRows:
    """Which tokens of a step belong to which row, and where the rows' keys and values are; all int32, on the device.

    Shapes:
        rows [num_rows, 4]: first token in the step, tokens in the step, length after the step (0: a row that only fills
            a bucket and attends to nothing), and where the row's page 0 is, or would be, in `tables`.
        tiles [num_tiles, 2]: row, and first of its tokens that the tile holds; see `tiles_of`.
        tables [pages of all rows]: page numbers in the arena.
    """

    rows: Tensor
    tiles: Tensor
    tables: Tensor
    tile_tokens: int


@dataclass(frozen=True, slots=True)
class AttentionKind:
    """What differs between families and layers.

    Attributes:
        window: newest positions that a token sees, itself included; None for all.
        soft_cap: scores are squeezed into (-cap, cap) by tanh; None for none.
    """

    scale: float
    window: int | None = None
    soft_cap: float | None = None


def tile_tokens_of(group_size: int, *, decode_only: bool) -> int:
    """Tokens a tile; `group_size` is query heads a key-value head."""
    return max((_DECODE_TILE if decode_only else _PREFILL_TILE) // group_size, 1)


def tiles_of(num_tokens: Sequence[int], tile_tokens: int) -> list[tuple[int, int]]:
    """Tiles of rows with `num_tokens` new tokens each: (row, first of its tokens)."""
    return [(row, first) for row, tokens in enumerate(num_tokens) for first in range(0, tokens, tile_tokens)]


def paged_attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    paged: PagedRows,
    kind: AttentionKind,
    *,
    page_tokens: int,
    sinks: Tensor | None = None,
) -> Tensor:
    """Attention of each token over its row's keys and values up to itself, which are in the arenas already.

    Shapes: query [tokens, heads, key_dim]; keys [kv_heads, capacity, key_dim] and values [kv_heads, capacity,
    value_dim] with the last dimension dense; sinks [heads], a score that takes part in the softmax and adds nothing;
    returns [tokens, heads, value_dim] in the query's dtype.
    """
    tokens, heads, key_dim = query.shape
    kv_heads, _, value_dim = values.shape
    num_tiles = paged.tiles.shape[0]
    splits = _num_splits(num_tiles * kv_heads, _num_processors(query.device))
    parts = torch.empty((tokens, heads, splits, value_dim), dtype=torch.float32, device=query.device)
    sums = torch.empty((tokens, heads, splits), dtype=torch.float32, device=query.device)
    output = torch.empty((tokens, heads, value_dim), dtype=query.dtype, device=query.device)
    kernels.attend[(num_tiles, kv_heads, splits)](
        query,
        keys,
        values,
        parts,
        sums,
        paged.rows,
        paged.tiles,
        paged.tables,
        query.stride(0),
        query.stride(1),
        keys.stride(0),
        keys.stride(1),
        values.stride(0),
        values.stride(1),
        kind.scale,
        kind.soft_cap or 0.0,
        kind.window or 0,
        heads,
        HAS_SOFT_CAP=kind.soft_cap is not None,
        HAS_WINDOW=kind.window is not None,
        PAGE=page_tokens,
        SPLITS=splits,
        **shape_options(heads // kv_heads, paged.tile_tokens, key_dim, value_dim, query.dtype),
    )
    kernels.merge[(tokens, heads)](
        parts,
        sums,
        output,
        sinks if sinks is not None else sums,
        heads,
        HAS_SINKS=sinks is not None,
        SPLITS=splits,
        VALUE_DIM=value_dim,
        VALUE_PAD=triton.next_power_of_2(value_dim),
        num_warps=4,
    )
    return output


def shape_options(
    group_size: int, tile_tokens: int, key_dim: int, value_dim: int, dtype: torch.dtype
) -> dict[str, int]:
    """The attention kernel's constants that follow from shapes, and how triton is to compile it.

    Within 99 KB of shared memory, which every GPU since Ampere gives a program.
    """
    is_large = max(key_dim, value_dim) > 128 or dtype == torch.float32
    return {
        "GROUP": group_size,
        "TILE_TOKENS": tile_tokens,
        "TILE": max(triton.next_power_of_2(tile_tokens * group_size), _DECODE_TILE),
        "BLOCK": 32 if is_large else 64,
        "KEY_DIM": key_dim,
        "VALUE_DIM": value_dim,
        "KEY_PAD": max(triton.next_power_of_2(key_dim), 16),
        "VALUE_PAD": max(triton.next_power_of_2(value_dim), 16),
        "num_warps": 4,
        "num_stages": 1 if dtype == torch.float32 else 2 if is_large else 3,
    }


def _num_splits(programs: int, processors: int) -> int:
    """Parts of each row's past, a power of two: as many as give every processor something to do."""
    wanted = -(-processors * _PROGRAMS_PER_PROCESSOR // max(programs, 1))
    return min(int(triton.next_power_of_2(wanted)), _MAX_SPLITS)


@lru_cache(maxsize=8)
def _num_processors(device: torch.device) -> int:
    if device.type != "cuda":
        return _PROCESSORS_ELSEWHERE
    return int(torch.cuda.get_device_properties(device).multi_processor_count)
