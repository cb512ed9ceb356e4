# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""Triton kernels around the products of a layer of experts: the choice, the map of choices to experts, and the sum.

Imports triton; see `triton_kernels` for how kernels are written. `experts` launches these.
"""

from __future__ import annotations

import triton
import triton.language as tl

from potluck.blocks.kernels.launching import launch_without_compiler

launch_without_compiler()  # called here, because every launch of a kernel imports this module


@triton.jit(do_not_specialize=["is_given"])
def choose(
    logits, chosen, weights, is_given, num_experts, RENORMALISES: tl.constexpr, SHARE: tl.constexpr, PAD: tl.constexpr
):
    """Choose one token's SHARE experts with the largest logits, the largest first; or weigh those in `chosen`.

    A weight is the expert's part of the softmax over all experts, or over the chosen ones if RENORMALISES. Of experts
    that score alike, the first is chosen.
    """
    token = tl.program_id(0).to(tl.int64)
    experts = tl.arange(0, PAD)
    is_expert = experts < num_experts
    scores = tl.load(logits + token * num_experts + experts, mask=is_expert, other=float("-inf")).to(tl.float32)
    parts = tl.exp(scores - tl.max(scores, 0))
    taken = tl.zeros([PAD], tl.float32)  # the parts of the chosen experts, by place
    for place in tl.static_range(SHARE):
        target = chosen + token * SHARE + place
        if is_given:
            expert = tl.load(target).to(tl.int32)
        else:
            expert = tl.minimum(tl.argmax(scores, 0), num_experts - 1)  # no numbers have it beyond
            tl.store(target, expert)
        is_it = experts == expert
        taken += tl.where(experts == place, tl.sum(tl.where(is_it, parts, 0.0), 0), 0.0)
        scores = tl.where(is_it, float("-inf"), scores)
    whole = tl.sum(taken, 0) if RENORMALISES else tl.sum(parts, 0)
    tl.store(weights + token * SHARE + experts, taken / whole, mask=experts < SHARE)


@triton.jit(do_not_specialize=["choices", "num_tiles"])
def group(chosen, order, tiles, choices, num_experts, num_tiles, TILE: tl.constexpr, BLOCK: tl.constexpr):
    """Write one expert's part of a `Grouping`: the places of its choices, and its tiles.

    Each program counts for itself the choices of the experts before its own, so none waits for another. The tiles of
    the expert begin at start // TILE + min(start, expert). By these numbers no two experts share a tile, and those of
    the last end at the static bound.
    """
    expert = tl.program_id(0)
    inside = tl.arange(0, BLOCK)
    before = tl.zeros([BLOCK], tl.int32)
    own = tl.zeros([BLOCK], tl.int32)
    for begin in range(0, choices, BLOCK):
        of = tl.load(chosen + begin + inside, mask=begin + inside < choices, other=-1)
        before += ((of >= 0) & (of < expert)).to(tl.int32)
        own += (of == expert).to(tl.int32)
    start = tl.sum(before, 0)
    end = start + tl.sum(own, 0)

    place = start
    for begin in range(0, tl.where(end > start, choices, 0), BLOCK):
        is_own = (tl.load(chosen + begin + inside, mask=begin + inside < choices, other=-1) == expert).to(tl.int32)
        tl.store(order + place + tl.cumsum(is_own, 0) - 1, (begin + inside).to(tl.int64), mask=is_own != 0)
        place += tl.sum(is_own, 0)

    first_tile = start // TILE + tl.minimum(start, expert)
    end_tile = end // TILE + tl.minimum(end, expert + 1)
    end_tile = tl.where(expert == num_experts - 1, num_tiles, end_tile)
    for begin in range(first_tile, end_tile, BLOCK):
        tile = begin + inside
        first = start + (tile - first_tile) * TILE
        target = tiles + 4 * tile
        is_tile = tile < end_tile
        tl.store(target, tl.where(first < end, expert, -1), mask=is_tile)
        tl.store(target + 1, tl.minimum(first, end), mask=is_tile)
        tl.store(target + 2, tl.minimum(first + TILE, end), mask=is_tile)
        tl.store(target + 3, 0, mask=is_tile)


@triton.jit
def sum_of_choices(made, residual, output, width, HAS_RESIDUAL: tl.constexpr, SHARE: tl.constexpr, BLOCK: tl.constexpr):
    """Sum what one token's SHARE experts made, round, and add the residual if HAS_RESIDUAL, for a part of the token."""
    token = tl.program_id(0).to(tl.int64)
    index = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    is_inside = index < width
    total = tl.zeros([BLOCK], tl.float32)
    for place in tl.static_range(SHARE):
        part = tl.load(made + (token * SHARE + place) * width + index, mask=is_inside, other=0.0)
        total += part.to(tl.float32)
    if HAS_RESIDUAL:
        plus = tl.load(residual + token * width + index, mask=is_inside, other=0.0).to(tl.float32)
        total = total.to(output.dtype.element_ty).to(tl.float32) + plus
    tl.store(output + token * width + index, total, mask=is_inside)
