"""What a place is worth: every block has a price, high where the swarm is thin.

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

_DOUBLINGS = 4  # the soft minimum has sharpness 2^4: 8 looks past the thinnest block, 24 misses the second thinnest
_FLOOR = 0.02  # of the mean coverage, added to every block: an empty one is dear, but not infinitely so
_HORIZON_S = 3600.0  # a place that takes longer to fetch is worth nothing: volunteers do not stay for ever


@dataclass(frozen=True, slots=True, eq=False)
class Servers:
    """Servers, one a row.

    Shapes: start, length, window, throughput_tps [servers]; fetch_s [servers, blocks].
    """

    start: Ints  # of the span that it serves or is about to
    length: Ints  # of that span; 0: it has none yet
    window: Ints  # blocks that it can hold, 1 to all
    throughput_tps: Floats
    fetch_s: Floats  # until a block's files are on its disk; 0: they are

    @property
    def spans(self) -> Bools:
        """[servers, blocks]: what each serves or is about to."""
        blocks = np.arange(self.fetch_s.shape[1])
        return (self.start[:, None] <= blocks) & (blocks < (self.start + self.length)[:, None])

    def rows(self, rows: Ints) -> Servers:
        return Servers(
            self.start[rows], self.length[rows], self.window[rows], self.throughput_tps[rows], self.fetch_s[rows]
        )


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The best place of each server and what the swarm gains if it goes there, in mean coverage. Shapes: [servers]."""

    start: Ints
    gain: Floats


def best_places(coverage: Floats, servers: Servers) -> Places:
    """Where each server should be, everyone else where they are.

    Args:
        coverage: [blocks], tokens a second, these servers' own spans included.
    """
    mean = mean_of(coverage)
    others = np.maximum(coverage - servers.spans * servers.throughput_tps[:, None], 0.0)
    worth, now = worth_of_windows(others, servers, mean)
    fetch_s = _sums(servers.fetch_s, servers.window)
    gain = np.where(worth > 0, (worth - now[:, None]) * np.maximum(0.0, 1.0 - fetch_s / _HORIZON_S), -np.inf)
    start = np.argmax(gain, axis=1)
    return Places(start, gain[np.arange(len(start)), start])


def worth_of_windows(others: Floats, servers: Servers, mean: float) -> tuple[Floats, Floats]:
    """What the swarm is worth with each server's window at each block, and with its span as it is.

    Shapes: [servers, blocks], 0 where the window does not fit, and [servers].

    Args:
        others: [servers, blocks], coverage without the server.
    """
    relative = others / mean
    without = _price(relative)
    with_it = _price(relative + (servers.throughput_tps / mean)[:, None])
    before, inside = _prefix_sums(without), _prefix_sums(with_it)

    def worth(start: Ints, end: Ints) -> Floats:
        # What lies outside is never a difference of large sums: beside the price of one empty block, all else is noise.
        first, last = np.take_along_axis(before, start, 1), before[:, -1:] - np.take_along_axis(before, end, 1)
        middle = np.take_along_axis(inside, end, 1) - np.take_along_axis(inside, start, 1)
        return _worth(np.maximum(first + last, 0.0) + np.maximum(middle, 0.0), others.shape[1])

    starts = np.broadcast_to(np.arange(others.shape[1]), others.shape)
    ends = starts + servers.window[:, None]
    fits = ends <= others.shape[1]
    now = worth(servers.start[:, None], (servers.start + servers.length)[:, None])
    return np.where(fits, worth(starts, np.where(fits, ends, starts)), 0.0), now[:, 0]


def soft_min(coverage: Floats, mean: float) -> float:
    """What the swarm is worth, in mean coverage."""
    return float(_worth(_price(coverage / mean).sum(keepdims=True), len(coverage))[0])


def mean_of(coverage: Floats) -> float:
    return max(float(coverage.mean()), 1e-9)


def fetch_s_of_windows(servers: Servers) -> Floats:
    """[servers, blocks]: until all files of the window at that block are on disk."""
    return _sums(servers.fetch_s, servers.window)


def _price(relative: Floats) -> Floats:
    price = 1.0 / (relative + _FLOOR)
    for _ in range(_DOUBLINGS):
        price *= price
    return price


def _worth(prices: Floats, num_blocks: int) -> Floats:
    worth = np.maximum(prices, 1e-300) / num_blocks
    for _ in range(_DOUBLINGS):
        worth = np.sqrt(worth)
    return 1.0 / worth


def _prefix_sums(values: Floats) -> Floats:
    """[servers, blocks + 1]"""
    sums = np.zeros((len(values), values.shape[1] + 1))
    np.cumsum(values, axis=1, out=sums[:, 1:])
    return sums


def _sums(values: Floats, window: Ints) -> Floats:
    """[servers, blocks]: over the window that begins at each block, cut at the last one."""
    sums = _prefix_sums(values)
    ends = np.minimum(np.arange(values.shape[1]) + window[:, None], values.shape[1])
    return np.take_along_axis(sums, ends, axis=1) - sums[:, :-1]
