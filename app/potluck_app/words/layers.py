"""The layers of a model as people count them, from 1, and who serves them. The daemon calls them blocks."""

from __future__ import annotations

from collections.abc import Sequence

from potluck_control.schema import SwarmStatus

from potluck_app.words import dates, numbers
from potluck_app.words.language import tr


def model(name: str) -> str:
    """Return the name of a model without the folders before it."""
    return name.rstrip("/").rpartition("/")[2] or name


def span(start: int, end: int) -> str:
    """Return the blocks [start, end) as layers: 0 and 12 are 1–12."""
    return f"{start + 1}–{end}" if end - start > 1 else str(end)


def summary(swarm: SwarmStatus, *, is_live: bool = True) -> str:
    """Return who serves the layers, as sentences. Not live: no engine looks, so say when one did."""
    seen = coverage(swarm.coverage, swarm.num_blocks)
    if swarm.coverage_at is not None and not is_live:
        seen = tr("{coverage} (at {time})").format(coverage=seen.rstrip("."), time=dates.clock(swarm.coverage_at)) + "."
    own = tr("You serve none.") if swarm.span is None else tr("You serve {layers}.").format(layers=span(*swarm.span))
    return f"{seen} {own}"


def coverage(counts: Sequence[int], num_blocks: int) -> str:
    if not counts:
        return tr("%n layer(s), status unknown.", "", num_blocks)
    gaps = [span(start, end) for start, end in gaps_of(counts)]
    if gaps and sum(count == 0 for count in counts) == 1:
        return tr("Nobody serves layer {layer}.").format(layer=gaps[0])
    if gaps:
        return tr("Nobody serves layers {layers}.").format(layers=", ".join(gaps))
    return tr("All %n layer(s) online.", "", num_blocks)


def outlook(swarm: SwarmStatus) -> str:
    """Return the swarm's capacity and the layers that limit it, as a sentence; empty while it is unknown."""
    known = swarm.outlook
    if known is None or known.tokens_per_s <= 0.0:
        return ""
    said = tr("Total capacity: about {rate}.").format(rate=numbers.rate(known.tokens_per_s))
    if sum(end - start for start, end in known.bottlenecks) == swarm.num_blocks:
        return said
    framed = ", ".join(span(start, end) for start, end in known.bottlenecks)
    return " ".join((said, tr("The framed layers limit it: {layers}.").format(layers=framed)))


def gaps_of(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the ranges [start, end) of blocks that nobody serves."""
    gaps: list[tuple[int, int]] = []
    for block, replicas in enumerate(counts):
        if replicas:
            continue
        if gaps and gaps[-1][1] == block:
            gaps[-1] = (gaps[-1][0], block + 1)
        else:
            gaps.append((block, block + 1))
    return gaps
