"""Finds where a peer listens by asking members that may be connected to it, and remembers where members were found.

A peer tells where it listens; a member that it has met passes that on. So p2pd needs no table of its own that
strangers could fill or poison. An answer is dialled, and the peer proves its id then, so a wrong address costs one
failed dial. A node asks each connected member where it listens, so that it can come back through any of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Container, Iterable
from typing import Final

from potluck.errors import NetworkError, PotluckError
from potluck.membership.identity import base58_decode
from potluck.p2p.encoding import checked_multiaddr, split_peer
from potluck.p2p.joining import until_one_succeeds
from potluck.p2p.listening import is_loopback
from potluck.p2p.network import HostConfig, OnAddresses
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError

WHERE: Final = "PotluckNode.rpc_where"  # unary: where a peer listens whose id is sent; the peer itself if it is empty
_MAX_ASKED = 8
_PAUSE_S = 10.0  # pause until a peer that nobody knew is looked for again
_MAX_MISSED = 1024
_MAX_ADDRESSES, _MAX_ADDRESS_CHARS = 16, 256
_MAX_ID_CHARS = 64


class Finder:
    """The questions and answers of one node about where peers listen.

    Args:
        own: returns where this node listens. Raises NetworkError.
        ask: asks a peer that can be dialled (`WHERE`). Raises RemoteError.
        known: returns whom to ask, those that know most first. Raises NetworkError.
        dial: dials a peer at addresses without /p2p/. Raises NetworkError.
        is_met: whether a peer has shown who it is, so that asking it is worth the effort.
    """

    def __init__(
        self,
        own: Callable[[], Awaitable[Iterable[str]]],
        ask: Callable[[PeerId, bytes], Awaitable[bytes]],
        known: Callable[[], Awaitable[list[PeerId]]],
        dial: Callable[[PeerId, list[str]], Awaitable[None]],
        is_met: Callable[[PeerId], bool],
    ) -> None:
        self._own, self._ask, self._known, self._dial, self._is_met = own, ask, known, dial, is_met
        self._finding: dict[PeerId, asyncio.Task[object]] = {}
        self._missed: dict[PeerId, float] = {}  # when

    async def find(self, peer: PeerId) -> None:
        """Connect to a peer whose addresses p2pd does not know. Raises RemoteError UNREACHABLE."""
        now = asyncio.get_running_loop().time()
        if self._missed.get(peer, -_PAUSE_S) + _PAUSE_S > now:
            raise _nowhere()
        task = self._finding.get(peer)
        if task is None:
            task = self._finding[peer] = asyncio.create_task(self._find(peer))
            task.add_done_callback(lambda ended: self._finish(peer, ended))
        try:
            await asyncio.shield(task)
        except NetworkError as error:
            raise _nowhere() from error

    async def where(self, peer: PeerId) -> list[str]:
        """Return where a peer says that it listens (without /p2p/). Raises RemoteError."""
        return _read(await self._ask(peer, b""))

    async def answer(self, body: bytes, caller: PeerId) -> bytes:
        """Answer `WHERE`. Raises RemoteError, NetworkError."""
        if body:
            peer = _peer(body)
            if not self._is_met(peer):
                raise _nowhere()
            return "\n".join(await self.where(peer)).encode()
        addrs = [addr.rpartition("/p2p/")[0] for addr in await self._own()]
        return "\n".join(addrs[:_MAX_ADDRESSES]).encode()

    async def close(self) -> None:
        for task in self._finding.values():
            task.cancel()

    async def _find(self, peer: PeerId) -> None:
        known = [other for other in await self._known() if other != peer]
        if not known:
            raise _nowhere()
        await until_one_succeeds([self._dial_through(other, peer) for other in known[:_MAX_ASKED]], grace_s=0.0)

    async def _dial_through(self, other: PeerId, peer: PeerId) -> None:
        await self._dial(peer, _read(await self._ask(other, peer.encode())))

    def _finish(self, peer: PeerId, task: asyncio.Task[object]) -> None:
        del self._finding[peer]
        if task.cancelled() or task.exception() is None:
            return
        if len(self._missed) >= _MAX_MISSED:
            self._missed.clear()
        self._missed[peer] = asyncio.get_running_loop().time()


def order(neighbours: Iterable[PeerId], first: Container[PeerId]) -> list[PeerId]:
    """Return whom to ask: those of `first` that are connected, then others by chance."""
    asked = list(neighbours)
    random.shuffle(asked)
    return sorted(asked, key=lambda peer: peer not in first)


def _peer(body: bytes) -> PeerId:
    try:
        peer = body[: _MAX_ID_CHARS + 1].decode("ascii")
        base58_decode(peer)
        if len(peer) <= _MAX_ID_CHARS:
            return PeerId(peer)
    except ValueError:
        pass
    raise RemoteError(Code.BAD_REQUEST, "not a peer id")


def _read(body: bytes) -> list[str]:
    """Return the addresses of an answer that are some."""
    try:
        addrs = body[: _MAX_ADDRESSES * _MAX_ADDRESS_CHARS].decode("ascii").split("\n")[:_MAX_ADDRESSES]
        return [checked_multiaddr(addr) for addr in addrs]
    except (ValueError, NetworkError) as error:
        raise RemoteError(Code.BAD_REPLY, "not addresses") from error


def _nowhere() -> RemoteError:
    return RemoteError(Code.UNREACHABLE, "nobody who is connected knows where the peer is")


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
    """Call `on_met` whenever the addresses of the connected members' computers have changed."""
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
