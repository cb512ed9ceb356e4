"""Notices servers that are gone: each server pings the next few of the swarm in the order of their ids.

A heartbeat takes half a minute to run out. In a ring, every server is watched by as many as it watches, however large
the swarm is, and pings use connections that stay open.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence

from potluck.p2p.network import Host
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import RemoteError

log = logging.getLogger(__name__)

WATCHED = 6
_EVERY_S = 2.0
_ANSWER_S = 2.0
_TRIES = 3  # a killed server refuses at once; one that computes with all it has may be slow to answer
_GONE_S = 60.0  # by then the heartbeat of a server that is gone has run out


class Neighbours:
    """Pings neighbours while `watch` runs, and sets `loss` when one doesn't answer any more."""

    def __init__(self, host: Host, loss: asyncio.Event) -> None:
        self._host = host
        self._loss = loss
        self._peers: Sequence[PeerId] = ()
        self._gone: dict[PeerId, float] = {}  # until when, monotonic seconds

    def choose_among(self, peers: Iterable[PeerId]) -> None:
        """Watch the next few of these peers, which are in the directory now."""
        self._peers = following(peers, self._host.peer_id, WATCHED)

    def gone(self) -> frozenset[PeerId]:
        """Return the peers that didn't answer lately."""
        now = time.monotonic()
        self._gone = {peer: until for peer, until in self._gone.items() if until > now}
        return frozenset(self._gone)

    async def watch(self) -> None:
        while True:
            await asyncio.gather(*(self._ask(peer) for peer in self._peers))
            await asyncio.sleep(_EVERY_S)

    async def _ask(self, peer: PeerId) -> None:
        for _ in range(_TRIES):
            try:
                await self._host.ping(peer, timeout_s=_ANSWER_S)
            except RemoteError:
                continue
            self._gone.pop(peer, None)
            return
        is_news = peer not in self.gone()
        self._gone[peer] = time.monotonic() + _GONE_S
        if is_news:
            log.info("a server does not answer any more")
            self._loss.set()


def following(peers: Iterable[PeerId], me: PeerId, count: int) -> list[PeerId]:
    """Return the next `count` peers after `me` in the ring of ids."""
    others = sorted(peer for peer in set(peers) if peer != me)
    first = next((index for index, peer in enumerate(others) if peer > me), 0)
    return (others[first:] + others[:first])[:count]
