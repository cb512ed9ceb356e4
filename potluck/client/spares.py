"""Keeps another person's server warm for each server of a long session, so that a loss needs no full replay.

    the replay would take long, and somebody has room and is idle   ->  a spare server is fed the inputs so far
    every 64 tokens                                                 ->  it is fed those since, while steps go on
    the server is lost                                              ->  the spare one gets the rest and takes over
    the server says that it is leaving                              ->  it is fed without pauses, and takes over between
                                                                        two steps when it lacks a few tokens

The client feeds small pieces one after the other, at most half of the time. A spare server answers with one token of
each piece. Its session yields to all others (`StepRequest.is_spare`); servers that don't know spare sessions get none.

Inputs are several times fewer bytes than keys and values. See docs/decisions/0051.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from potluck.client.hop import Hop
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import RemoteError
from potluck.routing import UNKNOWN_RTT_S, RouteHop
from potluck.tasks import cancel_and_wait

_log = logging.getLogger(__name__)

_WORTH_S: Final = 1.0  # of a replay
_LAG_TOKENS: Final = 64  # that a spare server may lack, and after which a session looks for one again
_LAST_TOKENS: Final = 16  # that it may lack when it takes over from a leaving one; they travel with the next step
_RETRY_TOKENS: Final = 1024  # likewise, after one was lost
_PIECE_TOKENS: Final = 128  # all rows together; 1 MB at hidden size 4096, which 100 Mbit/s carry in 80 ms
_ROOM: Final = 2.0  # times the session's tokens that a server must have free
_IDLE_ROWS, _IDLE_QUEUE_MS = 4, 20.0  # of a server that is not loaded


def replay_s(part: RouteHop, tokens: int) -> float:
    """Return how long a server needs at least for all tokens of a session, by its own measurements."""
    record = part.server.record
    if record.forward_tps <= 0:
        return 0.0
    return tokens * (len(part.span) / record.forward_tps + (1 / record.network_tps if record.network_tps > 0 else 0.0))


def choose_spare(candidates: Sequence[RouteHop], tokens: int, rtts_s: Mapping[PeerId, float]) -> RouteHop | None:
    """Return the nearest server that is idle and has room, if a replay of so many tokens to it would take long."""
    idle = [
        part
        for part in candidates
        if (now := part.server.heartbeat).cache_tokens_left >= _ROOM * tokens
        and now.batch <= _IDLE_ROWS
        and now.queue_ms <= _IDLE_QUEUE_MS
        and replay_s(part, tokens) > _WORTH_S
    ]
    return min(idle, key=lambda part: rtts_s.get(part.peer_id, UNKNOWN_RTT_S), default=None)


@dataclass(slots=True, eq=False)
class _Spare:
    """A server that stands by."""

    hop: Hop
    kept: int = 0  # tokens that it has and that have not changed since
    intact: int = 0  # of the piece that is on its way: the end of what has not changed since
    is_lost: bool = False
    is_taken: asyncio.Event = field(default_factory=asyncio.Event)
    feeding: asyncio.Task[None] | None = None

    @property
    def is_fed(self) -> bool:
        return self.feeding is not None and not self.feeding.done()

    def lacks(self, settled: int, lead: Hop) -> bool:
        """Tell whether it lacks so much that it should be fed; hardly anything while `lead` is leaving."""
        return settled - self.kept > (_LAST_TOKENS if lead.is_leaving else _LAG_TOKENS - 1)


class Spares:
    """The spare servers of one session, at most one for each of its servers."""

    def __init__(
        self, find: Callable[[Hop, int], Hop | None], note_failure: Callable[[PeerId, RemoteError], None]
    ) -> None:
        """`find` returns a new hop that could stand by for another one at so many tokens, or None."""
        self._find = find
        self._note_failure = note_failure
        self._spares: dict[Hop, _Spare] = {}
        self._look_at: dict[Hop, int] = {}  # tokens
        self._settled = 0  # tokens that drafts do not take back

    def tend(self, hops: Sequence[Hop], settled: int) -> None:
        """Look for spare servers where there are none, and feed those that lack much; call it after each step."""
        self._settled = settled
        for gone in self._spares.keys() - set(hops):
            self._drop(gone)
        self._look_at = {lead: self._look_at.get(lead, 0) for lead in hops}
        for lead in hops:
            spare = self._spares.get(lead)
            if spare is None and not lead.is_leaving and settled >= self._look_at[lead]:
                self._look_at[lead] = settled + _LAG_TOKENS
                hop = self._find(lead, settled)
                if hop is None:
                    continue
                _log.info("blocks %s: feeding a spare server", lead.span)
                hop.is_spare = True
                spare = self._spares[lead] = _Spare(hop)
            if spare is not None and not spare.is_fed and spare.lacks(settled, lead):
                spare.feeding = asyncio.create_task(self._feed(lead, spare))

    def stand_by(self, lead: Hop) -> bool:
        """Tell whether there is a spare server for `lead`."""
        return lead in self._spares

    def take_warm(self, leaving: Hop) -> list[Hop] | None:
        """Hand over the spare server of a leaving one if nobody has to wait for it."""
        spare = self._spares.get(leaving)
        if spare is None or spare.is_fed or not spare.kept or spare.lacks(self._settled, leaving):
            return None
        del self._spares[leaving]
        return _handed_over(leaving, spare)

    async def take(self, lost: Hop) -> list[Hop] | None:
        """Hand over the spare server of `lost` with the inputs that it has; None if there is none."""
        spare = self._spares.pop(lost, None)
        if spare is None:
            return None
        spare.is_taken.set()
        try:
            if spare.feeding is not None:
                await asyncio.wait({spare.feeding})
        except BaseException:
            self._end(spare)
            raise
        if spare.is_lost or not spare.kept:
            self._end(spare)
            return None
        return _handed_over(lost, spare)

    def roll_back(self, position: int) -> None:
        """Note that the inputs from `position` on have changed."""
        self._settled = min(self._settled, position)
        for spare in self._spares.values():
            spare.kept, spare.intact = min(spare.kept, position), min(spare.intact, position)

    def call_off(self) -> None:
        """Drop all spare servers, because their inputs have changed."""
        for lead in list(self._spares):
            self._drop(lead)

    async def close(self) -> None:
        """End the sessions at all spare servers, so that they free their memory at once."""
        spares, self._spares = list(self._spares.values()), {}
        await cancel_and_wait(*(spare.feeding for spare in spares))
        await asyncio.gather(*(spare.hop.close() for spare in spares))

    async def _feed(self, lead: Hop, spare: _Spare) -> None:
        """Send pieces until the spare server has what is settled, or is taken."""
        hop, tokens = spare.hop, max(_PIECE_TOKENS // lead.history.batch, 1)
        try:
            while spare.kept < self._settled and not spare.is_taken.is_set():
                began_s = time.monotonic()
                end = spare.intact = min(spare.kept + tokens, self._settled)
                hop.roll_back(spare.kept)
                hop.history = lead.history.head(end)
                await hop.catch_up(end - 1)
                spare.kept = spare.intact
                if not hop.yields or hop.is_leaving:
                    self._give_up(lead, spare, "it keeps no spare sessions, or leaves")
                    return
                if not lead.is_leaving:
                    await _first_of(spare.is_taken, time.monotonic() - began_s)
        except RemoteError as error:
            self._note_failure(hop.peer_id, error)
            self._give_up(lead, spare, error.message)

    def _give_up(self, lead: Hop, spare: _Spare, why: str) -> None:
        _log.info("blocks %s: the spare server is given up: %s", lead.span, why)
        spare.is_lost = True
        self._look_at[lead] = self._settled + _RETRY_TOKENS
        if self._spares.get(lead) is spare:
            self._drop(lead)

    def _drop(self, lead: Hop) -> None:
        self._end(self._spares.pop(lead))

    def _end(self, spare: _Spare) -> None:
        if spare.feeding is not None and spare.feeding is not asyncio.current_task():
            spare.feeding.cancel()
        spare.hop.abandon()


def _handed_over(lead: Hop, spare: _Spare) -> list[Hop]:
    """Return the hop at a spare server as one of the session that has what it kept."""
    hop = spare.hop
    hop.roll_back(spare.kept)
    hop.is_spare = False
    hop.report.replayed_tokens = lead.history.length - spare.kept
    return [hop]


async def _first_of(event: asyncio.Event, pause_s: float) -> None:
    """Wait for the event, `pause_s` at most."""
    try:
        async with asyncio.timeout(pause_s):
            await event.wait()
    except TimeoutError:
        pass
