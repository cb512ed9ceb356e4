"""Remembers which servers computed which beginnings of prompts, so that a similar prompt can use their caches.

A server keeps a beginning only for the client that sent it and for the span of that session, so each client remembers
its own. A beginning is a chain of fingerprints, one for each page of tokens. No I/O, no clock.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from potluck.protocol.blocks import PeerId, Span

STICKINESS = 0.7  # a route with a known beginning may cost 1 / 0.7 times as much as the best one
_MAX_BEGINNINGS = 1024
_LIVES_S = 600.0  # servers drop beginnings that nobody uses

Parts = tuple[tuple[PeerId, Span], ...]


@dataclass(frozen=True, slots=True)
class _Memory:
    parts: Parts
    until_s: float


class Affinity:
    """The routes of the latest sessions by their beginnings, the least recently used first."""

    def __init__(self) -> None:
        self._routes: OrderedDict[bytes, _Memory] = OrderedDict()  # by the fingerprint of a beginning

    def remember(self, chain: Sequence[bytes], parts: Parts, now: float) -> None:
        """Note that the servers of `parts` computed a prompt with these fingerprints."""
        for key in chain:
            self._routes[key] = _Memory(parts, now + _LIVES_S)
            self._routes.move_to_end(key)
        while len(self._routes) > _MAX_BEGINNINGS:
            self._routes.popitem(last=False)

    def find(self, chain: Sequence[bytes], now: float) -> Parts | None:
        """Return the route of the longest known beginning, or None."""
        for key in reversed(chain):
            memory = self._routes.get(key)
            if memory is not None and now < memory.until_s:
                return memory.parts
        return None
