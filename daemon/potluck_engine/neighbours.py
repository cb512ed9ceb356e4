"""Who is gone: each server watches the next few of the swarm, in the order of their ids, by asking whether they answer.

A heartbeat takes half a minute to run out. In a ring everybody is watched by as many as they watch, however large the
swarm is, and pings go over connections that stay open.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence

from potluck.p2p.network import Host
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import RemoteError

WATCHED = 6
_EVERY_S = 2.0
_ANSWER_S = 2.0
_TRIES = 3  # who is killed refuses at once; who computes with all it has may be slow to answer
_GONE_S = 60.0  # for so long it is not believed to be there, unless it answers: by then its heartbeat has run out


class Neighbours:
    """`watch` runs until it is cancelled.

    Args:
        on_loss: called when somebody did not answer.
    """

    def __init__(self, host: Host, me: PeerId, on_loss: Callable[[PeerId], None]) -> None:
        self._host = host
        self._me = me
        self._on_loss = on_loss
        self._peers: Sequence[PeerId] = ()
        self._gone: dict[PeerId, float] = {}  # until when, monotonic seconds

    def know(self, peers: Iterable[PeerId]) -> None:
        """These are in the directory now."""
        self._peers = following(peers, self._me, WATCHED)

    def gone(self) -> frozenset[PeerId]:
        """Those that do not answer."""
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
            self._on_loss(peer)


def following(peers: Iterable[PeerId], me: PeerId, count: int) -> list[PeerId]:
    """The next `count` peers after `me` in the ring of ids."""
    others = sorted(peer for peer in set(peers) if peer != me)
    first = next((index for index, peer in enumerate(others) if peer > me), 0)
    return (others[first:] + others[:first])[:count]
