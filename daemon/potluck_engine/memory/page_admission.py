"""Decides which session gets the next pages of the KV cache. Pure: it only counts, and `paging.py` carries it out.

A request that fits is granted at once. Otherwise it waits in line until its deadline:

    - Small requests may pass a large one `MAX_PASSES` times; after that none passes, so that no request starves.
    - While people compete, each is entitled to an equal share of all pages. A request within its person's share goes
      before all others, so that one person with many sessions can fill an idle server but cannot keep others out.
    - Pages that the first request lacks are taken from sessions that have been idle for a while: of people beyond their
      share first, and longest idle first. Then they are taken from sessions that wait behind it. These sessions are
      spilled, not lost.
    - Pages that are reserved for a person with a quote are not free for others.
    - Spare sessions, which only stand by for another server, wait behind all others, take nothing from anybody, and
      lose their pages first. They don't count towards anybody's share.

Clients that ask for a quote have memory reserved for them for some seconds. A reservation ends by itself, or with the
first pages that a session of its person takes. One person can reserve half of the free pages and all people together
three quarters, however often they ask, so that some pages are left for clients that ask for no quotes. The asyncio and
the compute thread share the reservations.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from potluck.protocol.blocks import PersonId

HELD_S = 2.0
_MAX_A_PERSON = 8
_MAX_ALL = 256
MAX_PASSES = 16
IDLE_S = 1.0  # longer than a decoding client's pause between steps, shorter than that of a person who reads


@dataclass(frozen=True, slots=True)
class Reservation:
    """Pages that are promised to one person for a moment."""

    person: PersonId
    pages: int
    rows: int
    until: float  # monotonic seconds


class Reservations:
    """The reservations that hold at present, the oldest first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: tuple[Reservation, ...] = ()

    def reserve(self, person: PersonId, *, pages: int, rows: int, free: int, now: float) -> int:
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

    def consume(self, person: PersonId) -> None:
        """End a person's oldest reservation, because one of their sessions took its first pages."""
        with self._lock:
            first = next((each for each in self._held if each.person == person), None)
            self._held = tuple(each for each in self._held if each is not first)

    def pages(self, now: float, *, besides: PersonId | None = None) -> int:
        """Return how many pages are reserved, without those for the person `besides`."""
        return _pages(each for each in self._current(now) if each.person != besides)

    def rows(self, now: float) -> int:
        """Return how many rows the quoted sessions have."""
        return sum(each.rows for each in self._current(now))

    def next_end(self, now: float) -> float | None:
        """Return the time at which the next reservation ends."""
        return min((each.until for each in self._current(now)), default=None)

    def _current(self, now: float) -> tuple[Reservation, ...]:
        return tuple(each for each in self._held if each.until > now)


def _pages(reservations: Iterable[Reservation]) -> int:
    return sum(each.pages for each in reservations)


@dataclass(slots=True, eq=False)
class Holder:
    """A session that holds or needs pages.

    Attributes:
        pages: how many it holds; 0 if it is new or spilled.
        is_running: whether a step of it has its memory and is not answered.
        pinned_until: the time before which it cannot be spilled, see `Spill`.
    """

    person: PersonId
    pages: int = 0
    is_running: bool = False
    used_at: float = 0.0
    pinned_until: float = 0.0
    is_spare: bool = False


@dataclass(slots=True, eq=False)
class PageRequest:
    """The pages that a step needs beyond those of its session."""

    holder: Holder
    pages: int
    deadline: float
    passes: int = 0  # how many later requests were granted before this one


@dataclass(frozen=True, slots=True)
class Grant:
    """Give the pages to the holder, and add them to `holder.pages`."""

    request: PageRequest


@dataclass(frozen=True, slots=True)
class Refuse:
    """Refuse a request that exceeds the memory, or whose deadline is over."""

    request: PageRequest


@dataclass(frozen=True, slots=True)
class Spill:
    """Take all pages of this session, and update what its request needs then; or set `pinned_until` to a later time.

    A spare session is ended instead.
    """

    holder: Holder


class PageAdmission:
    """The holders of pages, and the line of waiting requests."""

    def __init__(self, num_pages: int) -> None:
        self.num_pages = num_pages
        self.holders: dict[Holder, None] = {}  # the oldest first
        self.reservations = Reservations()
        self._line: list[PageRequest] = []

    @property
    def num_waiting(self) -> int:
        return len(self._line)

    @property
    def most_wanted(self) -> int:
        """The number of pages of the largest request in line."""
        return max((request.pages for request in self._line if not request.holder.is_spare), default=0)

    def enqueue(self, request: PageRequest) -> None:
        """Put a request in line, at most one for each session; `next` decides on it."""
        self._line.append(request)

    def withdraw(self, holder: Holder) -> None:
        """Take the request of `holder` out of the line."""
        self._line = [request for request in self._line if request.holder is not holder]

    def next(self, now: float, free: int) -> Grant | Refuse | Spill | None:
        """Return the next action, or None. Call it again after each action."""
        if not self._line:
            return None
        for request in self._line:
            if request.pages + request.holder.pages > self.num_pages:
                return self._refuse(request)
        order = self._order()
        granted = next((request for request in order if request.pages <= self._free_for(request, now, free)), None)
        if granted is not None:
            if not granted.holder.pages:
                self.reservations.consume(granted.holder.person)
            place = self._line.index(granted)
            for passed in self._line[:place]:
                passed.passes += 1
            del self._line[place]
            return Grant(granted)
        victim = self._victim(order, now, self._free_for(order[0], now, free))
        if victim is not None:
            return Spill(victim)
        late = next((request for request in self._line if request.deadline <= now), None)
        return None if late is None else self._refuse(late)

    def wake_at(self, now: float) -> float | None:
        """Return the time at which `next` may decide differently even if no pages are freed."""
        if not self._line:
            return None
        idle = [holder.used_at + IDLE_S for holder in self.holders if holder.pages and not holder.is_running]
        kept = self.reservations.next_end(now)
        times = [request.deadline for request in self._line] + [at for at in idle if at > now]
        return min(times) if kept is None else min(*times, kept)

    def _refuse(self, request: PageRequest) -> Refuse:
        self._line.remove(request)
        return Refuse(request)

    def _order(self) -> list[PageRequest]:
        """Return the requests that may be granted, in order. Pages are collected for the first one."""
        line = [request for request in self._line if not request.holder.is_spare]
        if not line:
            return self._line
        for request in line:
            if request.passes >= MAX_PASSES:
                return [request]
        share = self._share()
        entitled = [request for request in line if self._pages_of(request.holder.person) + request.pages <= share]
        people = {request.holder.person for request in entitled}
        return entitled + [request for request in line if request not in entitled and people <= {request.holder.person}]

    def _free_for(self, request: PageRequest, now: float, free: int) -> int:
        return free - self.reservations.pages(now, besides=request.holder.person)

    def _share(self) -> float:
        people = {holder.person for holder in self.holders if holder.pages and not holder.is_spare}
        people |= {request.holder.person for request in self._line if not request.holder.is_spare}
        return self.num_pages / max(len(people), 1)

    def _pages_of(self, person: PersonId) -> int:
        mine = [holder for holder in self.holders if holder.person == person and not holder.is_spare]
        return sum(holder.pages for holder in mine)

    def _victim(self, order: list[PageRequest], now: float, free: int) -> Holder | None:
        """Return the next session to spill for the first request; None if all together would not free enough."""
        if order[0].holder.is_spare:
            return None
        victims = list(self._victims(order[0], now))
        if free + sum(holder.pages for holder in victims) < order[0].pages:
            return None
        return victims[0]

    def _victims(self, first: PageRequest, now: float) -> Iterator[Holder]:
        share = self._share()
        waiting = [request.holder for request in self._line]
        resting = [
            holder for holder in self.holders if holder.pages and not holder.is_running and holder not in waiting
        ]
        yield from sorted((holder for holder in resting if holder.is_spare), key=lambda holder: holder.used_at)
        idle = [
            holder
            for holder in resting
            if not holder.is_spare and now >= max(holder.used_at + IDLE_S, holder.pinned_until)
        ]
        yield from sorted(idle, key=lambda holder: (self._pages_of(holder.person) <= share, holder.used_at))
        for request in reversed(self._line):
            holder = request.holder
            if request is not first and holder.pages and not holder.is_spare and now >= holder.pinned_until:
                yield holder
