"""Reserves memory for a moment for clients that asked for a quote. Shared by the asyncio and the compute thread.

A reservation lasts seconds and ends by itself, or with the first pages that a session of its person takes. One person
can hold half of the free pages and all people together three quarters, however often they ask, so that some pages are
left for clients that ask for no quotes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from potluck.protocol.blocks import PersonId

HELD_S = 2.0
_MAX_A_PERSON = 8
_MAX_ALL = 256


@dataclass(frozen=True, slots=True)
class Reservation:
    """Pages that are promised to one person for a moment."""

    person: PersonId
    pages: int
    rows: int
    until: float  # monotonic seconds


class Reservations:
    """The present reservations, oldest first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: tuple[Reservation, ...] = ()

    def hold(self, person: PersonId, *, pages: int, rows: int, free: int, now: float) -> int:
        """Reserve up to `pages` of the `free` ones for `person`. Return how many are reserved."""
        with self._lock:
            held = self._current(now)
            mine = [each for each in held if each.person == person]
            if len(mine) >= _MAX_A_PERSON:
                held = tuple(each for each in held if each is not mine[0])
            others = _pages(each for each in held if each.person != person)
            own = _pages(each for each in held if each.person == person)
            granted = max(min(pages, free // 2 - own, 3 * free // 4 - others - own), 0)
            self._held = (*held, Reservation(person, granted, rows, now + HELD_S))[-_MAX_ALL:]
            return granted

    def use(self, person: PersonId) -> None:
        """End the person's oldest reservation, because a session of it took its first pages."""
        with self._lock:
            first = next((each for each in self._held if each.person == person), None)
            self._held = tuple(each for each in self._held if each is not first)

    def pages(self, now: float, *, besides: PersonId | None = None) -> int:
        """Return how many pages are reserved, `besides` those for one person."""
        return _pages(each for each in self._current(now) if each.person != besides)

    def rows(self, now: float) -> int:
        """Return how many rows the expected sessions have."""
        return sum(each.rows for each in self._current(now))

    def next_end(self, now: float) -> float | None:
        """Return the time at which the next reservation ends."""
        return min((each.until for each in self._current(now)), default=None)

    def _current(self, now: float) -> tuple[Reservation, ...]:
        return tuple(each for each in self._held if each.until > now)


def _pages(reservations: Iterable[Reservation]) -> int:
    return sum(each.pages for each in reservations)
