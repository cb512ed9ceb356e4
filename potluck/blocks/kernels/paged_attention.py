"""Attention of ragged rows over paged memory in two launches, for any mixture of decode rows and prefill chunks.

The first kernel takes one tile of a row's new tokens, for one key-value head with all query heads that share it, over
one part of the row's past (split-KV, so that a single row fills the device). The second merges the parts by their
log-sum-exp. Grids depend on numbers of tokens, never on lengths, so a CUDA graph can capture a launch.

It imports triton, so import it only where triton was found. See docs/decisions/0011-cuda.md.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from potluck.blocks.accelerators import num_processors
from potluck.blocks.cache.arenas import Held
from potluck.blocks.cache.pages import PAGE_TOKENS
from potluck.blocks.kernels import triton_kernels
from potluck.blocks.span.step_plans import PagedRows

_LEAST_TILE = 16  # query vectors for each program, the fewest that tensor cores take
_TILE = 64
# All tiles with so many numbers a row or more are swizzled alike in shared memory. Where int8 keys and values are not,
# ptxas 12.8.93 (in Triton 3.6.0 and 3.7.1) computes a tile's address on sm_90 from a register that nothing has set.
_SWIZZLED_ALIKE = 64
_PROGRAMS_PER_PROCESSOR = 4
_MAX_SPLITS = 32
_PROCESSORS_ELSEWHERE = 1  # enough to split, for the interpreter


def paged_attention(
    query: Tensor,
    held: Held,
    paged: PagedRows,
    *,
    scale: float,
    soft_cap: float | None = None,
    sinks: Tensor | None = None,
) -> Tensor:
    """Attend with each token to its row's keys and values up to itself, which are already in the arenas.

    Shapes: query [tokens, heads, key_dim]; held [kv_heads, capacity, dim], contiguous; returns [tokens, heads,
    value_dim] in the query's dtype.

    Args:
        soft_cap: squeezes scores into (-cap, cap) by tanh.
        sinks: [heads], scores that take part in the softmax but contribute no value.
    """
    keys, values, *factors = held
    tokens, heads, key_dim = query.shape
    kv_heads, capacity, value_dim = values.shape
    num_tiles = paged.tiles.shape[0]
    options = shape_options(heads // kv_heads, paged.tile_tokens, key_dim, value_dim, query.dtype)
    columns = kv_heads * -(-options["GROUP"] // options["HEADS"])
    splits = _num_splits(num_tiles * columns, num_processors(query.device) or _PROCESSORS_ELSEWHERE)
    parts = torch.empty((tokens, heads, splits, value_dim), dtype=torch.float32, device=query.device)
    sums = torch.empty((tokens, heads, splits), dtype=torch.float32, device=query.device)
    output = torch.empty((tokens, heads, value_dim), dtype=query.dtype, device=query.device)
    triton_kernels.attend[(num_tiles, columns, splits)](
        query,
        keys,
        values,
        *(factors or (keys, values)),
        parts,
        sums,
        paged.rows,
        paged.tiles,
        paged.tables,
        query.stride(0),
        query.stride(1),
        capacity,
        scale,
        soft_cap or 0.0,
        paged.window or 0,
        heads,
        splits,
        HAS_SOFT_CAP=soft_cap is not None,
        HAS_WINDOW=paged.window is not None,
        IS_INT8=bool(factors),
        PAGE=PAGE_TOKENS,
        **options,
    )
    triton_kernels.merge[(tokens, heads)](
        parts,
        sums,
        output,
        sinks if sinks is not None else sums,
        heads,
        splits,
        HAS_SINKS=sinks is not None,
        MOST_SPLITS=_MAX_SPLITS,
        VALUE_DIM=value_dim,
        VALUE_PAD=triton.next_power_of_2(value_dim),
        num_warps=4,
    )
    return output


def shape_options(
    group_size: int, tile_tokens: int, key_dim: int, value_dim: int, dtype: torch.dtype
) -> dict[str, int]:
    """Return the attention kernel's constants that follow from shapes, and triton's options for compiling it.

    They keep it within 99 KB of shared memory, which every GPU since Ampere gives a program.
    """
    is_large, is_exact = max(key_dim, value_dim) > 128, dtype == torch.float32
    heads = min(group_size, max(_TILE // tile_tokens, 1))
    least_pad = max(min(triton.next_power_of_2(max(key_dim, value_dim)), _SWIZZLED_ALIKE), 16)
    return {
        "GROUP": group_size,
        "HEADS": heads,
        "TILE_TOKENS": tile_tokens,
        "TILE": max(triton.next_power_of_2(tile_tokens * heads), _LEAST_TILE),
        "BLOCK": 32 if is_large or is_exact else 64,
        "KEY_DIM": key_dim,
        "VALUE_DIM": value_dim,
        "KEY_PAD": max(triton.next_power_of_2(key_dim), least_pad),
        "VALUE_PAD": max(triton.next_power_of_2(value_dim), least_pad),
        "num_warps": 4,
        "num_stages": 1 if is_exact else 2 if is_large else 3,
    }


def _num_splits(programs: int, processors: int) -> int:
    """Return a number of parts for each row's past, a power of two that keeps every processor busy."""
    wanted = -(-processors * _PROGRAMS_PER_PROCESSOR // max(programs, 1))
    return min(int(triton.next_power_of_2(wanted)), _MAX_SPLITS)
