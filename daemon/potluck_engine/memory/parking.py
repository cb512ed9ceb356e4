"""Keeps sessions whose streams ended because the device was given back, for clients that return to them.

A client continues elsewhere if it can, by replaying. If no other server has the blocks, or its new route leads here
again, it asks to resume. A session belongs to the peer that opened it. No I/O, no clock; the caller frees the KV memory
of evicted sessions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.messages import SessionOpening
from potluck_engine.sessions import ServedSession

KEEP_S = 300.0  # clients that still wait return within seconds; others have continued elsewhere
MAX_A_PERSON = 32


@dataclass(frozen=True, slots=True)
class _Parked:
    session: ServedSession
    until_s: float


class Parking:
    """The parked sessions; for the asyncio thread only, `now` in monotonic seconds.

    Attributes:
        is_open: whether sessions that end now are kept.
    """

    def __init__(self) -> None:
        self.is_open = False
        self._parked: dict[tuple[PeerId, str], _Parked] = {}  # oldest first

    def __len__(self) -> int:
        return len(self._parked)

    @property
    def sessions(self) -> Iterator[ServedSession]:
        return (parked.session for parked in self._parked.values())

    def keep(self, session: ServedSession, now: float) -> bool:
        """Keep the session, and return True, unless it has no id, no tokens, or its person has too many parked."""
        memory = session.memory
        if not self.is_open or session.session_id is None or not session.position:
            return False
        if (memory.client, session.session_id) in self._parked:
            return False
        if sum(parked.session.memory.person == memory.person for parked in self._parked.values()) >= MAX_A_PERSON:
            return False
        self._parked[memory.client, session.session_id] = _Parked(session, now + KEEP_S)
        return True

    def take(self, client: PeerId, opening: SessionOpening, rows: int) -> ServedSession | None:
        """Take out the session that `client` wants to resume; None if there is none that fits the opening."""
        if opening.session_id is None:
            return None
        parked = self._parked.get((client, opening.session_id))
        if parked is None or not _is_same(parked.session, opening, rows):
            return None
        del self._parked[client, opening.session_id]
        return parked.session

    def evict(self, served: Span) -> list[ServedSession]:
        """Drop and return the sessions over blocks that are not served any more."""
        gone = [key for key, parked in self._parked.items() if not served.covers(parked.session.memory.span)]
        return [self._parked.pop(key).session for key in gone]

    def expire(self, now: float) -> list[ServedSession]:
        """Drop and return the sessions that no client came back to."""
        late = [key for key, parked in self._parked.items() if parked.until_s <= now]
        return [self._parked.pop(key).session for key in late]


def _is_same(session: ServedSession, opening: SessionOpening, rows: int) -> bool:
    memory = session.memory
    return (
        not memory.is_closed
        and memory.rows == rows
        and memory.span == opening.span
        and memory.adapter == opening.caller.adapter
        and session.max_length == opening.max_length
        and (memory.is_alone or not opening.exact)
    )
