"""Ends connections to peers that never present themselves, and keeps those that this node needs.

A stranger may present itself and nothing else, but p2pd would keep its connection, and relay for it, as long as it
likes. So a node looks every few seconds at who is connected. Whoever uses another node as a relay presents itself there
too, and asks it something now and then: p2pd dials relays by itself, and they may have started anew.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping

from potluck.errors import PotluckError
from potluck.protocol.blocks import PeerId

INTERVAL_S = 5.0
MAX_LOOKS = 3  # a peer that dials back stays for less than two

_CIRCUIT = "/p2p-circuit"


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
    looks: dict[PeerId, int] = {}  # at a peer that this node does not know
    while True:
        await asyncio.sleep(INTERVAL_S)
        with contextlib.suppress(PotluckError):  # p2pd is being started anew
            connected = await neighbours()
            looks = {peer: looks.get(peer, 0) + 1 for peer in connected if not is_known(peer)}
            for peer in looks:
                if looks[peer] >= MAX_LOOKS:
                    await disconnect(peer)
            for relay in relays_in(connected):
                with contextlib.suppress(PotluckError):
                    await ask(relay)
