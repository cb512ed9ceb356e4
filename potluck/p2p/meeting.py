"""Notices where members are found, so that a node can come back through any of them.

Each connected peer is asked where it listens. What it says is dialled later, and the peer proves its id then, so a
wrong address costs one failed dial.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Iterable

from potluck.errors import PotluckError
from potluck.p2p.addresses import split_peer
from potluck.p2p.config import HostConfig, OnAddresses
from potluck.p2p.ports import is_loopback
from potluck.protocol.blocks import PeerId

FIRST_LOOK_S, INTERVAL_S = 3.0, 60.0
_MAX_PEERS = 16  # looked at in one round

FindPeer = Callable[[PeerId], Awaitable[Iterable[str]]]


def ways_in(config: HostConfig) -> tuple[str, ...]:
    """Return whom a node asks when it joins: the bootstrap peers, and members that it met before. Pure.

    A node without bootstrap peers founded the swarm. It needs nobody to start, so it greets others later.
    """
    return tuple(dict.fromkeys((*config.bootstrap_peers, *met_before(config)))) if config.bootstrap_peers else ()


def met_before(config: HostConfig) -> tuple[str, ...]:
    """Return where members were found in earlier runs."""
    return () if config.membership is None else config.membership.met


async def greet(
    addrs: Iterable[str],
    dial: Callable[[PeerId, list[str]], Awaitable[None]],
    meet: Callable[[list[PeerId]], Awaitable[object]],
) -> None:
    """Dial members side by side and present this node to those that answer, so that they know where it is now."""

    async def try_one(addr: str) -> None:
        peer, where = split_peer(addr)
        with contextlib.suppress(PotluckError):  # it is away
            await dial(peer, [where])
            await meet([peer])

    await asyncio.gather(*map(try_one, addrs))


async def keep_meeting(computers: Callable[[], list[PeerId]], find: FindPeer, on_met: OnAddresses) -> None:
    """Tell `on_met` again and again where members' computers listen that are connected now."""
    await asyncio.sleep(FIRST_LOOK_S)
    before: tuple[str, ...] = ()
    while True:
        peers = computers()
        found = []
        for peer in random.sample(peers, min(len(peers), _MAX_PEERS)):
            try:
                found += [f"{addr}/p2p/{peer}" for addr in useful(await find(peer))]
            except PotluckError:
                continue  # it has just left
        met = tuple(sorted(found))
        if met and met != before:
            before = met
            on_met(met)
        await asyncio.sleep(INTERVAL_S)


def useful(addrs: Iterable[str]) -> list[str]:
    """Return the addresses that are worth a dial from elsewhere: direct ones, and loopback only if there are no others.

    Pure.
    """
    direct = [addr for addr in addrs if "p2p-circuit" not in addr]
    return [addr for addr in direct if not is_loopback(addr)] or direct
