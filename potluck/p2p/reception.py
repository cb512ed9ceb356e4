"""Admits the calls and streams of peers, runs their handlers, and ends connections to strangers.

The budgets and the gate decide who is served. p2pd closes connections that nobody marked first when it has too many;
it executes each order to close or keep one in turn, over a connection of its own. A stranger that is thrown out would
be back in milliseconds, so its connection stays for a second in which nobody listens, unless it sends a lot meanwhile.

A stranger may present itself and nothing else, but p2pd would keep its connection, and relay for it, as long as it
likes. So a node looks every few seconds at who is connected. A node that uses another one as a relay presents itself
there too, and asks it something now and then: p2pd dials relays by itself, and they may have started anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar, cast

from hivemind.proto import p2pd_pb2 as pb

from potluck.errors import NetworkError, PotluckError
from potluck.membership.budgets import Budgets, Lease, Refused
from potluck.membership.gate import PRESENT, Gate, OpenGate
from potluck.p2p.encoding import delimited, peer_id
from potluck.p2p.listening import host_of
from potluck.p2p.network import Refusal
from potluck.p2p.pacing import Pacer
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.wire.errors import encode_refusal

_IGNORE_S = 1.0
_MAX_IGNORED = 32  # requests and streams of a peer meanwhile
_TAG, _WEIGHT = "member", 100


class Connections(asyncio.Protocol):
    """The orders of one node to its p2pd."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._ignored: dict[bytes, int] = {}  # requests and streams of peers that are thrown out in a moment

    def close(self, peer: bytes) -> None:
        """Close all connections to a peer."""
        self._ignored.pop(peer, None)
        self._order(pb.Request(type=pb.Request.DISCONNECT, disconnect=pb.DisconnectRequest(peer=peer)))

    def throw_out(self, peer: bytes) -> None:
        """Count that something of a peer was ignored, and close all connections to it soon."""
        count = self._ignored[peer] = self._ignored.get(peer, 0) + 1
        if count == 1:
            asyncio.get_running_loop().call_later(_IGNORE_S, self._close_ignored, peer)
        elif count > _MAX_IGNORED:
            self.close(peer)

    def _close_ignored(self, peer: bytes) -> None:
        if peer in self._ignored:
            self.close(peer)

    def keep(self, peer: bytes) -> None:
        """Close connections to others first."""
        tag = pb.ConnManagerRequest(type=pb.ConnManagerRequest.TAG_PEER, peer=peer, tag=_TAG, weight=_WEIGHT)
        self._order(pb.Request(type=pb.Request.CONNMANAGER, connManager=tag))

    def stop(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance

    def _order(self, request: pb.Request) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(delimited(request.SerializeToString()))


_EVERY_S = 0.25
_PREFIX_BITS = 64  # bits of an IPv6 address; a household or a server has all addresses behind them to itself

ListPeers = Callable[[], Awaitable[Mapping[PeerId, tuple[str, ...]]]]
"""Returns the connected peers with the far ends of their connections. Raises NetworkError."""


class Origins:
    """The addresses of connected peers, as of the last time that p2pd was asked."""

    def __init__(self, list_peers: ListPeers) -> None:
        self._list_peers = list_peers
        self._known: Mapping[PeerId, tuple[str, ...]] = {}
        self._read_at = -_EVERY_S
        self._reading = asyncio.Lock()

    async def of(self, peer: PeerId) -> str:
        """Return the address that a connected peer comes from; for a relayed one, the relay's. Empty: unknown."""
        asked_at = _loop_s()
        if peer not in self._known:
            async with self._reading:
                if self._read_at < asked_at:
                    await self._read()
        return first_origin(self._known.get(peer, ()))

    async def _read(self) -> None:
        await asyncio.sleep(max(0.0, self._read_at + _EVERY_S - _loop_s()))
        self._read_at = _loop_s()
        try:
            self._known = await self._list_peers()
        except NetworkError:  # p2pd ends: the callers are gone with it
            self._known = {}


def first_origin(addrs: Iterable[str]) -> str:
    """Return the `origin` of the first of a peer's addresses; empty if there is none."""
    return next(map(origin, addrs), "")


def origin(addr: str) -> str:
    """Return what the budgets call an address: the IP of a multiaddr, or the first half of an IPv6 address."""
    host = host_of(addr)
    if isinstance(host, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((host, _PREFIX_BITS), strict=False))
    return str(host or "")


def _loop_s() -> float:
    return asyncio.get_running_loop().time()


log = logging.getLogger(__name__)

T = TypeVar("T")

_RETRY_S = 1.0  # pause for callers beyond their budget
_PRESENT_S = 2.0  # time limit of a stranger's presentation


async def _find_nobody(peer: PeerId) -> NoReturn:
    raise RemoteError(Code.UNREACHABLE, "nobody knows where the peer is")


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms on which a node deals with its peers.

    All bytes of calls and streams pass `uploads` or `downloads`; `gate` says who may call, and `budgets` how much.
    `find` connects to a peer that p2pd knows no way to, or raises RemoteError UNREACHABLE.
    """

    gate: Gate = field(default_factory=OpenGate)
    budgets: Budgets = field(default_factory=Budgets)
    uploads: Pacer = field(default_factory=Pacer)
    downloads: Pacer = field(default_factory=Pacer)
    find: Callable[[PeerId], Awaitable[None]] = _find_nobody


@dataclass(frozen=True, slots=True)
class Handler:
    """The function that answers the calls, or serves the streams, of one protocol."""

    run: Callable[[Any, PeerId], Awaitable[Any]]
    refuse: Refusal = encode_refusal
    max_frame_bytes: int | None = None  # limit of a stream; None: the protocol has unary calls


class Reception:
    """The place at which the calls and streams of one node's peers arrive."""

    def __init__(self, terms: Terms, origins: Origins) -> None:
        self.handlers: dict[str, Handler] = {}
        self.connections = Connections()
        self._gate, self._budgets, self._origins = terms.gate, terms.budgets, origins

    def admit(self, peer: bytes, num_bytes: int | None) -> Lease | RemoteError | None:
        """Charge a call of so many bytes, or a stream (None), to its sender's budget.

        Return why it is refused if that is spent; None if the peer is thrown out without a word.
        """
        caller, budgets = peer_id(peer), self._budgets
        lease = budgets.open_stream(caller, _now()) if num_bytes is None else budgets.request(caller, num_bytes, _now())
        if isinstance(lease, Lease):
            return lease
        if lease is Refused.FOR_NOW:
            return _beyond_budget()
        self.connections.throw_out(peer)
        return None

    def handler(self, caller: PeerId, protocol: str) -> Handler:
        """Return who answers a caller, which may be a refusal."""
        if not self._gate.may_call(caller, protocol):
            return _TO_STRANGERS
        if protocol == PRESENT and self._budgets.is_stranger(caller):
            return Handler(self._answer_stranger)
        return self.handlers.get(protocol, _TO_NOBODY)

    async def outcome(self, work: Awaitable[T], caller: PeerId, protocol: str) -> T | RemoteError:
        """Return how a handler ended. What goes wrong in it is logged in one line, if the caller's budget allows."""
        try:
            return await work
        except RemoteError as error:
            return error
        except Exception as error:
            if self._budgets.may_log(caller, _now()):
                traceback = error if log.isEnabledFor(logging.DEBUG) else None
                log.warning("a handler of %s failed: %r", protocol, error, exc_info=traceback)
            return RemoteError(Code.INTERNAL, "the peer failed; its log has the reason")

    async def _answer_stranger(self, body: bytes, caller: PeerId) -> bytes:
        """Run the handler of presentations: a few at a time from one address, each for a moment. Raises RemoteError."""
        try:
            async with asyncio.timeout(_PRESENT_S):
                lease = self._budgets.present(await self._origins.of(caller), len(body), _now())
                if not isinstance(lease, Lease):
                    raise _beyond_budget()
                try:
                    answer: bytes = await self.handlers.get(PRESENT, _TO_NOBODY).run(body, caller)
                    return answer
                finally:
                    self._budgets.end(lease)
        except TimeoutError:
            raise RemoteError(Code.BUSY, "this took too long; try again", retry_after_s=_RETRY_S) from None


async def _refuse_stranger(asked: object, caller: PeerId) -> NoReturn:
    raise RemoteError(Code.NOT_A_MEMBER, "this node does not know you; present yourself first")


async def _refuse_unknown(asked: object, caller: PeerId) -> NoReturn:
    raise RemoteError(Code.NOT_SERVED, "unknown protocol")


_TO_STRANGERS, _TO_NOBODY = Handler(_refuse_stranger), Handler(_refuse_unknown)


def _beyond_budget() -> RemoteError:
    return RemoteError(Code.BUSY, "too many requests or streams at a time", retry_after_s=_RETRY_S)


def _now() -> float:
    return asyncio.get_running_loop().time()


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


async def disconnect_strangers(
    neighbours: Callable[[], Awaitable[Mapping[PeerId, Iterable[str]]]],
    is_known: Callable[[PeerId], bool],
    disconnect: Callable[[PeerId], Awaitable[None]],
    ask: Callable[[PeerId], Awaitable[object]],
) -> None:
    """Disconnect peers that stay unknown, and present this node to its relays, for ever.

    Args:
        neighbours: returns the connected peers with the far ends of their connections. Raises PotluckError.
        ask: presents this node to a relay, unless the relay knows it. Raises PotluckError.
    """
    looks: dict[PeerId, int] = {}  # looks at each peer that this node does not know
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
