"""Finds a server that tells a reader what changed.

Each reading goes to another person. Servers that do not answer cost little time: while one is silent the next is tried.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Sequence

from potluck.directory.attempts import Attempts
from potluck.directory.fairness import turns
from potluck.directory.reader import CALL_TIMEOUT_S, Reader
from potluck.directory.table import Table
from potluck.p2p.network import Host
from potluck.protocol.blocks import PeerId, PersonId
from potluck.protocol.codes import RemoteError
from potluck.tasks import cancel_and_wait

log = logging.getLogger(__name__)

_MOST_TRIED = 6  # at one reading, each of another person if there are so many
_MOST_ASKED = 2
_NEXT_AFTER_S = 0.25  # of silence
_DEAF_S = 300.0  # pause for a server that did not answer


class Sources:
    """The servers that a reader asks."""

    def __init__(self, host: Host, table: Table, attempts: Attempts, clock: Callable[[], float]) -> None:
        self._host = host
        self._table = table
        self._attempts = attempts
        self._clock = clock
        self._deaf_until: dict[PeerId, float] = {}
        self._asked_at: dict[PersonId | None, float] = {}

    async def ask(self, reader: Reader, *, unwanted: Collection[PeerId] = ()) -> bool:
        """Learn changes from a server that answers; return whether there was one."""
        candidates = self._candidates(unwanted)[:_MOST_TRIED]
        for _ in range(_MOST_ASKED):
            source = await self._first_to_answer(candidates)
            if source is None:
                return False
            candidates = [peer for peer in candidates if peer != source]
            try:
                await reader.ask(source)
            except RemoteError as error:
                log.debug("a server did not answer a question about the swarm: %s", error)
                self._deaf_until[source] = self._clock() + (error.retry_after_s or _DEAF_S)
                continue
            return True
        return False

    def _candidates(self, unwanted: Collection[PeerId]) -> list[PeerId]:
        """Return the live servers, first those of people who were not asked for the longest time."""
        now, loop_s = self._clock(), asyncio.get_running_loop().time()
        self._deaf_until = {peer: until for peer, until in self._deaf_until.items() if until > now}
        live = [
            peer
            for peer in self._table.live_peers(now)
            if peer != self._host.peer_id and peer not in unwanted and peer not in self._deaf_until
        ]
        person_of, asked_at = self._attempts.person_of, self._asked_at
        self._asked_at = {person: asked_at[person] for person in map(person_of, live) if person in asked_at}

        def rank(turn: tuple[int, PeerId]) -> tuple[bool, int, float]:
            number, peer = turn
            return self._attempts.is_doubtful(peer, loop_s), number, asked_at.get(person_of(peer), 0.0)

        return [peer for _, peer in sorted(turns(random.sample(live, len(live)), person_of), key=rank)]

    async def _first_to_answer(self, peers: Sequence[PeerId]) -> PeerId | None:
        """Return the first of `peers` that answers a ping; the next one is pinged when the others are silent."""
        left = list(reversed(peers))
        pings: dict[asyncio.Task[float], PeerId] = {}
        try:
            while left or pings:
                if left:
                    peer = left.pop()
                    self._asked_at[self._attempts.person_of(peer)] = self._clock()
                    pings[asyncio.create_task(self._host.ping(peer, timeout_s=CALL_TIMEOUT_S))] = peer
                timeout_s = _NEXT_AFTER_S if left else None
                done, _ = await asyncio.wait(pings, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
                for ping in done:
                    peer, error = pings.pop(ping), ping.exception()
                    self._attempts.note(peer, asyncio.get_running_loop().time(), answered=error is None)
                    if error is None:
                        return peer
                    if not isinstance(error, RemoteError):
                        raise error
            return None
        finally:
            await cancel_and_wait(*pings)
