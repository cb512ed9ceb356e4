"""The layers of a model as people count them, from 1, and who serves them. The daemon calls them blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from potluck_control.api.schema import SwarmStatus

from potluck import formatting
from potluck_app.words import formats
from potluck_app.words.language import tr

Layer = tuple[int, ...] | None
"""The places in the list of people of those who serve a layer, one for each computer; None: not known."""
STRANGER = -1  # the place of somebody who is not in the list
_WORTH_SAYING = 0.01  # smallest share of a swarm's capacity to mention


def model(name: str) -> str:
    """Return the name of a model without the folders before it."""
    return name.rstrip("/").rpartition("/")[2] or name


def span(start: int, end: int) -> str:
    """Return the blocks [start, end) as layers: 0 and 12 are 1–12."""
    return formatting.layers(start, end, "–")


def summary(counts: Sequence[int], num_blocks: int, served: tuple[int, int] | None) -> str:
    """Return who serves the layers, as sentences.

    Args:
        counts: how many servers each has; none: not known.
        served: the blocks [start, end) that this computer serves.
    """
    yours = tr("You serve none.") if served is None else tr("You serve {layers}.").format(layers=span(*served))
    return " ".join(filter(None, (coverage(counts, num_blocks), yours, _thin(counts))))


def coverage(counts: Sequence[int], num_blocks: int) -> str:
    if not counts:
        return tr("%n layer(s), status unknown.", "", num_blocks)
    if all(counts):
        return tr("All %n layer(s) online.", "", num_blocks)
    text = tr("Nobody serves layer {layers}.") if counts.count(0) == 1 else tr("Nobody serves layers {layers}.")
    return text.format(layers=_runs_of(0, counts))


def speed_for_you(swarm: SwarmStatus) -> str:
    """Return how fast answers come to this person, or "" while nobody looks whether they come at all."""
    speed = swarm.speed_for_you
    return tr("About {rate} for you.").format(rate=formats.rate(speed.tokens_per_s)) if speed is not None else ""


def one_more(swarm: SwarmStatus) -> str:
    """Return what one more computer would bring, as a sentence, or "" while that is unknown."""
    known = swarm.one_more
    if known is None:
        return ""
    start, end = known.span
    gaps = [block for block, count in enumerate(swarm.coverage) if count == 0]
    if gaps and all(start <= block < end for block in gaps):
        text = tr("One more computer would serve layers {layers} and complete the model.")
    elif gaps:
        text = tr("One more computer would serve layers {layers}. Others would still be missing.")
    elif known.gain >= _WORTH_SAYING:
        text = tr("One more computer would serve layers {layers} and let {percent} % more answers run at once.")
    else:
        text = tr("One more computer would serve layers {layers}, in case another one leaves.")
    return text.format(layers=span(start, end), percent=formats.number(100 * known.gain))


def _thin(counts: Sequence[int]) -> str:
    """Return which layers have a single server, if others have more, and none has none."""
    if not counts or min(counts) != 1 or max(counts) == 1:
        return ""
    text = tr("Only one computer serves layer {layers}.")
    if counts.count(1) > 1:
        text = tr("Only one computer serves layers {layers}.")
    return text.format(layers=_runs_of(1, counts))


def _runs_of(count: int, counts: Sequence[int]) -> str:
    """Return the layers that have so many servers."""
    edges = [-1, *(block for block, found in enumerate(counts) if found != count), len(counts)]
    runs = [(before + 1, after) for before, after in pairwise(edges) if after > before + 1]
    return ", ".join(span(start, end) for start, end in runs)
