"""Computes what a place is worth: every block has a price, which is high where the swarm is thin.

The swarm is worth the soft minimum of its coverage, the tokens a second that each block can take: almost the least
covered block, but every thin one counts. A server's best place is the window of blocks that makes the swarm worth most;
with prefix sums all windows are compared in O(blocks).

Pure, and vectorised over servers, so that the simulation in `benchmarks/` decides for thousands with these functions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_DOUBLINGS = 7  # the soft minimum has sharpness 2^7; with 2^5 it looks past the thinnest blocks of a large swarm
_FLOOR = 0.02  # mean coverages, added to every block so that an empty one has a finite price
HORIZON_S = 120.0  # a place that takes so long to fetch is worth half, because the swarm changes meanwhile


@dataclass(frozen=True, slots=True, eq=False)
class ServerTable:
    """A table of servers, one a row.

    Shapes: start, length, window, throughput_tps [servers]; fetch_s [servers, blocks].

    Attributes:
        start: the start of the span that a server serves or is about to serve.
        length: the length of that span; 0 if it has none yet.
        window: how many blocks it can hold; 0 if it stays where it is.
        fetch_s: the seconds until a block's files are on its disk; 0 if they are.
    """

    start: Ints
    length: Ints
    window: Ints
    throughput_tps: Floats
    fetch_s: Floats

    @property
    def spans(self) -> Bools:
        """The blocks that each server serves or is about to serve. Shape: [servers, blocks]."""
        blocks = np.arange(self.fetch_s.shape[1], dtype=np.int16)  # half the time of int64 in every decision
        start, end = self.start.astype(np.int16), (self.start + self.length).astype(np.int16)
        return (start[:, None] <= blocks) & (blocks < end[:, None])

    def rows(self, rows: Ints) -> ServerTable:
        return ServerTable(
            self.start[rows], self.length[rows], self.window[rows], self.throughput_tps[rows], self.fetch_s[rows]
        )


def best_places(coverage: Floats, servers: ServerTable, horizon_s: float = HORIZON_S) -> tuple[Ints, Floats]:
    """Return each server's best place while all others stay, and the swarm's gain by it, in mean coverage.

    Shapes: both [servers].

    Args:
        coverage: [blocks], tokens a second, including these servers' own spans.
        horizon_s: a place that takes so long to fetch is worth half.
    """
    mean = mean_of(coverage)
    others = np.maximum(coverage - servers.spans * servers.throughput_tps[:, None], 0.0)
    worth, now = worth_of_windows(others, servers, mean)
    fetch_s = fetch_s_of_windows(servers)
    gain = np.where(worth > 0, (worth - now[:, None]) * horizon_s / (horizon_s + fetch_s), -np.inf)
    start = np.argmax(gain, axis=1)
    return start, gain[np.arange(len(start)), start]


def worth_of_windows(others: Floats, servers: ServerTable, mean: float) -> tuple[Floats, Floats]:
    """Return what the swarm is worth with each server's window at each block, and with its present span.

    Shapes: [servers, blocks], 0 where the window does not fit, and [servers].

    Args:
        others: [servers, blocks], coverage without the server.
    """
    relative = others / mean
    price = _price(relative)
    # The price outside the window must not be a difference of sums: an empty block would round everything else away.
    before, after = _prefix_sums(price), _prefix_sums(price[:, ::-1])[:, ::-1]
    with_it = _prefix_sums(_price(relative + (servers.throughput_tps / mean)[:, None]))
    num_blocks = others.shape[1]
    ends = _ends(servers.window, num_blocks)
    outside = before[:, :-1] + after.take(ends)
    inside = np.maximum(with_it.take(ends) - with_it[:, :-1], 0.0)
    fits = np.arange(num_blocks) + servers.window[:, None] <= num_blocks
    worth = np.where(fits, _worth(outside + inside, num_blocks), 0.0)
    rows, start, end = np.arange(len(others)), servers.start, servers.start + servers.length
    outside_now = before[rows, start] + after[rows, end]
    inside_now = np.maximum(with_it[rows, end] - with_it[rows, start], 0.0)
    return worth, _worth(outside_now + inside_now, num_blocks)


def soft_min(coverage: Floats, mean: float) -> Floats:
    """Return what the swarm is worth, in mean coverage. Shapes: [..., blocks] -> [...]."""
    return _worth(_price(coverage / mean).sum(axis=-1), coverage.shape[-1])


def mean_of(coverage: Floats) -> float:
    return max(float(coverage.mean()), 1e-9)


def fetch_s_of_windows(servers: ServerTable) -> Floats:
    """Return the seconds until all files of the window at each block are on disk. Shape: [servers, blocks]."""
    sums = _prefix_sums(servers.fetch_s)
    fetch_s: Floats = sums.take(_ends(servers.window, servers.fetch_s.shape[1])) - sums[:, :-1]
    return fetch_s


def _price(relative: Floats) -> Floats:
    price = 1.0 / (relative + _FLOOR)
    for _ in range(_DOUBLINGS):
        price *= price
    return price


def _worth(prices: Floats, num_blocks: int) -> Floats:
    worth: Floats = (np.maximum(prices, 1e-300) / num_blocks) ** -(0.5**_DOUBLINGS)
    return worth


def _prefix_sums(values: Floats) -> Floats:
    """Return sums from the first block on. Shape: [servers, blocks + 1]."""
    sums = np.zeros((len(values), values.shape[1] + 1))
    np.cumsum(values, axis=1, out=sums[:, 1:])
    return sums


def _ends(window: Ints, num_blocks: int) -> Ints:
    """Return the index in flattened prefix sums where the window at each block ends, at most at the last block."""
    ends = np.minimum(np.arange(num_blocks) + window[:, None], num_blocks)
    flat: Ints = ends + (num_blocks + 1) * np.arange(len(window))[:, None]
    return flat
