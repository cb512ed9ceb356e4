"""The layers of a model, as people count them: from 1, and who serves them."""

from __future__ import annotations

from collections.abc import Sequence

from potluck_control.schema import SwarmStatus

from potluck_app.words import dates, numbers
from potluck_app.words.language import tr


def model(name: str) -> str:
    """As people call it: without the folders before it."""
    return name.rstrip("/").rpartition("/")[2] or name


def blocks(swarm: SwarmStatus, *, is_live: bool = True) -> str:
    """One line under the strip: what is ours, and what nobody serves. Not live: no engine looks, so say when it was."""
    own = tr("none of them yours") if swarm.span is None else tr("yours: {blocks}").format(blocks=span(*swarm.span))
    seen = coverage(swarm.coverage)
    if swarm.coverage_at is not None and not is_live:
        seen = tr("at {time} {coverage}").format(time=dates.clock(swarm.coverage_at), coverage=seen)
    count = tr("%n block(s)", "", swarm.num_blocks)
    return f"{count}; {own}; {seen}"


def outlook(swarm: SwarmStatus) -> str:
    """What the whole swarm bears and what holds it back, as a sentence; empty while that is not known."""
    known = swarm.outlook
    if known is None or known.tokens_per_s <= 0.0:
        return ""
    said = tr("Together the swarm serves up to {rate}").format(rate=numbers.rate(known.tokens_per_s))
    if sum(end - start for start, end in known.bottlenecks) == swarm.num_blocks:
        return f"{said}."
    framed = ", ".join(span(start, end) for start, end in known.bottlenecks)
    limit = tr("blocks {blocks} (framed) set the limit.").format(blocks=framed)
    return f"{said}; {limit}"


def coverage(counts: Sequence[int]) -> str:
    if not counts:
        return tr("coverage not known yet")
    gaps = [span(start, end) for start, end in gaps_of(counts)]
    if gaps:
        return tr("nobody serves {blocks}").format(blocks=", ".join(gaps))
    return tr("each served at least %n time(s)", "", min(counts))


def gaps_of(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Ranges [start, end) of blocks without a replica."""
    gaps: list[tuple[int, int]] = []
    for block, replicas in enumerate(counts):
        if replicas:
            continue
        if gaps and gaps[-1][1] == block:
            gaps[-1] = (gaps[-1][0], block + 1)
        else:
            gaps.append((block, block + 1))
    return gaps


def span(start: int, end: int) -> str:
    """As everywhere in Potluck: [start, end)."""
    return f"{start}:{end}"
