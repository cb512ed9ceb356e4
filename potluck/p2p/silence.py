"""Ends connections to peers that never present themselves, and keeps those that this node needs.

A stranger may present itself and nothing else, but p2pd would keep its connection, and relay for it, as long as it
likes. So a node looks every few seconds at who is connected. Whoever uses another node as a relay presents itself there
too, and asks it something now and then: p2pd dials relays by itself, and they may have started anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping

from potluck.errors import PotluckError
from potluck.protocol.blocks import PeerId

log = logging.getLogger(__name__)

INTERVAL_S = 5.0
MAX_LOOKS = 3  # a peer that dials back stays for less than two

_CIRCUIT = "/p2p-circuit"


class SilentPeers:
    """Counts in how many looks a peer was connected without being known."""

    def __init__(self) -> None:
        self._looks: dict[PeerId, int] = {}

    def look(self, connected: Iterable[PeerId], is_known: Callable[[PeerId], bool]) -> list[PeerId]:
        """Return whom to disconnect. Those who come back before the next look are named again then."""
        self._looks = {peer: self._looks.get(peer, 0) + 1 for peer in connected if not is_known(peer)}
        return [peer for peer, looks in self._looks.items() if looks >= MAX_LOOKS]


def relays_in(connected: Mapping[PeerId, Iterable[str]]) -> set[PeerId]:
    """Return the peers through which others are connected. Pure.

    Args:
        connected: peers with the far ends of their connections, .../p2p/RELAY/p2p-circuit for a relayed one.
    """
    parts = (addr.partition(_CIRCUIT) for addrs in connected.values() for addr in addrs)
    return {PeerId(way.rpartition("/p2p/")[2]) for way, circuit, _ in parts if circuit and "/p2p/" in way}


async def keep_out(
    neighbours: Callable[[], Awaitable[Mapping[PeerId, Iterable[str]]]],
    is_known: Callable[[PeerId], bool],
    disconnect: Callable[[PeerId], Awaitable[None]],
    ask: Callable[[PeerId], Awaitable[object]],
) -> None:
    """Look at the connected peers for ever.

    Args:
        neighbours: returns the connected peers with the far ends of their connections. Raises PotluckError.
        ask: presents this node to a relay, unless the relay knows it. Raises PotluckError.
    """
    silent = SilentPeers()
    while True:
        await asyncio.sleep(INTERVAL_S)
        with contextlib.suppress(PotluckError):  # p2pd is being started anew
            connected = await neighbours()
            for peer in silent.look(connected, is_known):
                log.debug("%s has not presented itself", peer)
                await disconnect(peer)
            for relay in relays_in(connected):
                with contextlib.suppress(PotluckError):
                    await ask(relay)
