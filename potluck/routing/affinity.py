"""Which servers were given which beginnings, so that a prompt that begins alike goes where its keys and values are.

Servers keep beginnings for the client that sent them and for the span it asked, so this is the client's own memory. A
beginning is known by a chain of fingerprints, one for each page of its tokens. No I/O, no clock.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from potluck.protocol.blocks import PeerId, Span

STICKINESS = 0.7  # what a route with a known beginning may cost more than the best one: 1 / 0.7
_MAX_BEGINNINGS = 1024
_LIVES_S = 600.0  # servers let go of beginnings that nobody asks for

Parts = tuple[tuple[PeerId, Span], ...]


@dataclass(frozen=True, slots=True)
class _Memory:
    parts: Parts
    until_s: float


class Affinity:
    """Beginnings of the latest sessions, the longest unused ones first."""

    def __init__(self) -> None:
        self._routes: OrderedDict[bytes, _Memory] = OrderedDict()  # by the fingerprint of a beginning

    def remember(self, chain: Sequence[bytes], parts: Parts, now: float) -> None:
        """`parts` were given a prompt with these fingerprints."""
        for key in chain:
            self._routes[key] = _Memory(parts, now + _LIVES_S)
            self._routes.move_to_end(key)
        while len(self._routes) > _MAX_BEGINNINGS:
            self._routes.popitem(last=False)

    def find(self, chain: Sequence[bytes], now: float) -> Parts | None:
        """The route of the longest known beginning."""
        for key in reversed(chain):
            memory = self._routes.get(key)
            if memory is not None and now < memory.until_s:
                return memory.parts
        return None
