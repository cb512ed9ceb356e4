"""Computes what the swarm can do and what it lacks, for people and not for decisions. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from potluck.protocol.blocks import Span
from potluck_engine.placement.choose import choose_span
from potluck_engine.placement.price import Bools
from potluck_engine.placement.swarm_map import SwarmMap


@dataclass(frozen=True, slots=True)
class Outlook:
    """The tokens a second that pass through all blocks, and the blocks that hold them back."""

    tokens_per_s: float  # of the thinnest block; 0: a block is not served
    bottlenecks: tuple[Span, ...]  # the blocks that bear no more than that
    one_more_tokens_per_s: float  # with one more server
    one_more_span: Span  # that it would serve


def outlook(swarm_map: SwarmMap) -> Outlook:
    """Return the outlook of the live servers; the map's own server is the additional one and must serve nothing yet."""
    coverage = swarm_map.coverage(swarm_map.live)
    lowest = float(coverage.min())
    span = choose_span(swarm_map)
    with_it = coverage.copy()
    with_it[span.start : span.end] += swarm_map.servers.throughput_tps[swarm_map.me]
    return Outlook(lowest, _runs(coverage <= lowest * (1 + 1e-9)), float(with_it.min()), span)


def _runs(mask: Bools) -> tuple[Span, ...]:
    """Return the runs of neighbouring blocks where the mask holds."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    return tuple(Span(int(start), int(end)) for start, end in zip(edges[::2], edges[1::2], strict=True))
