"""The interface to the peer-to-peer network: how a node is configured, calls and streams by peer id, and the DHT.

`libp2p.py` implements it on p2pd and hivemind. This layer moves frames and knows nothing of what is in them. Its bounds
for calls and DHT records hold for the real network and for the fake one. Imports nothing heavy.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from potluck.membership.budgets import Budgets
from potluck.membership.gate import MembersGate, OnNews
from potluck.membership.identity import Identity
from potluck.membership.membership import Membership
from potluck.p2p.joining import OnWaiting
from potluck.p2p.listening import is_loopback
from potluck.protocol.blocks import PeerId, PersonId, PersonOf
from potluck.protocol.codes import RemoteError
from potluck.protocol.values import Buffer
from potluck.wire.errors import encode_refusal

Refusal = Callable[[RemoteError], bytes]
"""Encodes a refusal for the callers of one protocol."""

UnaryHandler = Callable[[bytes, PeerId], Awaitable[bytes]]
"""body, authenticated caller -> answer. Raises `RemoteError`; anything else is answered `INTERNAL` and logged once."""


class Stream(Protocol):
    """One bidirectional stream of frames. Not safe for concurrent `send` or concurrent `receive`."""

    async def send(self, *pieces: Buffer, timeout_s: float | None = None) -> None:
        """Send one message frame whose body is the pieces joined. Waits while the peer does not read.

        Raises:
            RemoteError: UNREACHABLE if the connection is gone.
            TimeoutError: the peer did not read for `timeout_s`; the stream is of no use any more.
        """

    def send_now(self, *pieces: Buffer) -> bool:
        """Send a small message frame at once, without a task. False: nothing was sent, it has to wait; `send` it.

        Raises:
            RemoteError: UNREACHABLE if the connection is gone.
        """

    async def receive(self, *, timeout_s: float | None = None, silence_s: float | None = None) -> bytes | None:
        """Return the body of the next message frame, or None once the peer ended its side.

        Args:
            silence_s: how long to wait without a single byte, instead of `timeout_s` for the whole frame.

        Raises:
            RemoteError: the peer's own error frame; UNREACHABLE if the connection broke; BAD_REPLY for a frame above
                the limit or with an unknown marker.
            TimeoutError: nothing came in time; the stream stays usable.
        """

    async def send_error(self, refusal: bytes) -> None:
        """Send an error frame; the peer's `receive` raises what it says."""

    async def end(self) -> None:
        """Tell the peer that no more messages will be sent; the other direction stays open.

        Only a caller can say it: a callee's end is seen when its handler returns and the stream closes. So None from
        `receive` gives a caller no reason: a caller that still expects a frame must treat it as a failure.
        """

    async def close(self) -> None:
        """Close both directions at once. Idempotent, never raises."""


StreamHandler = Callable[[Stream, PeerId], Awaitable[None]]
"""Called once a stream; the stream is closed when it returns. A `RemoteError` it raises becomes an error frame.

It is cancelled when the connection breaks before the caller has ended its side: nobody waits for its work any more.
"""

DhtKey = str
DhtSubkey = str


@dataclass(frozen=True, slots=True)
class DhtValue:
    """A value read from the DHT: msgpack-decoded payload with its expiration (Unix seconds)."""

    value: object
    expiration: float


class Host(Protocol):
    """A node of the network. Made by `start()` of an implementation; every await has a timeout."""

    identity: Identity
    budgets: Budgets
    members: MembersGate | None  # None: an open swarm

    @property
    def peer_id(self) -> PeerId: ...

    @property
    def ticket(self) -> bytes:
        """Return the pass by which others recognise this node as a member's; empty if they know it by its own key."""

    def person_of(self, peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
        """Return whose node a peer is, see `PersonOf`. In an open swarm each peer is a person."""

    def is_on_probation(self, peer: PeerId, /) -> bool:
        """Return whether a peer belongs to somebody who joined a public swarm lately."""

    async def places(self) -> Mapping[PeerId, str]:
        """Return the ranges of addresses at which peers of a public swarm are seen; nothing in other swarms.

        Raises:
            NetworkError: the node does not answer.
        """

    async def meet(self, peers: Sequence[PeerId]) -> bool:
        """Present this node to peers that may be members it has not heard of; return whether it learned of any."""

    async def addresses(self) -> tuple[str, ...]:
        """Return full multiaddrs of this node, ending in /p2p/<peer id>."""

    async def serve_unary(self, protocol: str, handler: UnaryHandler, *, refuse: Refusal = encode_refusal) -> None: ...

    async def serve_stream(
        self, protocol: str, handler: StreamHandler, *, max_frame_bytes: int, refuse: Refusal = encode_refusal
    ) -> None: ...

    async def call(self, peer: PeerId, protocol: str, body: bytes, *, timeout_s: float) -> bytes:
        """Make a unary call and return the answer; bodies above 4 MiB are refused before sending.

        Raises:
            RemoteError: what the peer answered, or UNREACHABLE.
        """

    async def open_stream(self, peer: PeerId, protocol: str, *, timeout_s: float, max_frame_bytes: int) -> Stream:
        """Open a stream.

        Raises:
            RemoteError: UNREACHABLE, or NOT_SERVED if the peer answers that it does not know the protocol.
        """

    async def ping(self, peer: PeerId, *, timeout_s: float) -> float:
        """Return the seconds until a peer has answered, whatever it answers. Raises RemoteError UNREACHABLE."""

    async def dial_anew(self, peer: PeerId, addrs: Sequence[str] | None = None, *, seen_as: str = "") -> bool:
        """Return whether a stranger from here reaches `peer` at one of `addrs` (without /p2p/), trying twice.

        Args:
            addrs: None takes those at which the peer says that it listens; only in open swarms.
            seen_as: this node's address as `peer` sees it. With one, the stranger stays long enough for the peer's
                p2pd to find out that it can be reached, without which its relay ends every connection after 128 KiB.

        Raises:
            NetworkError: no stranger can be made here, which says nothing about `peer`.
        """

    async def disconnect(self, peer: PeerId) -> None:
        """Drop the connection to a peer, so that the next call dials anew; its streams break. Never raises."""

    async def store(self, key: DhtKey, subkey: DhtSubkey, value: object, *, expiration: float) -> bool:
        """Store a msgpack-able value under (key, subkey); expiration in Unix seconds. False if nobody took it."""

    async def get(self, keys: Sequence[DhtKey]) -> Mapping[DhtKey, Mapping[DhtSubkey, DhtValue]]:
        """Return the newest unexpired values of each key by subkey.

        Missing keys, subkeys that are no text, and payloads that are not valid msgpack are left out.
        """

    async def wait_lost(self) -> None:
        """Return once the node has ended without being asked to: it is of no use until `restart`."""

    async def restart(self) -> None:
        """Restart a lost node under the same identity. Its streams are gone. Raises NetworkError."""

    async def close(self) -> None:
        """Stop everything this node started. Idempotent."""


MAX_RECORD_BYTES = 65_536  # a stock record with 32 pings has about 2 KB, ours with 200 digests about 6
MAX_HORIZON_S = 900.0  # the longest announcement, a stretched heartbeat, lasts 300 s; stock peers store for 240 s
MAX_UNARY_BYTES = 4 * 1024 * 1024  # p2pd's limit for the envelope, on both sides
MAX_UNARY_BODY_BYTES = MAX_UNARY_BYTES - 512  # leaves room for call id, peer id and protocol name
_MAX_SUBKEY_LETTERS = 256


def is_plausible(subkey: object, expiration: float, *, now: float) -> bool:
    """Return whether a record may be kept: it has a text subkey or none, and its end is finite and near, or past."""
    if subkey is not None and not (isinstance(subkey, str) and len(subkey) <= _MAX_SUBKEY_LETTERS):
        return False
    return math.isfinite(expiration) and expiration <= now + MAX_HORIZON_S


RecordCheck = Callable[[DhtSubkey, object, float, PersonOf], bool]
"""subkey, decoded value, expiration (Unix seconds), whose node a peer is -> whether the record may be stored."""

OnAddresses = Callable[[tuple[str, ...]], None]
"""Called with addresses of members, each time that they are others than before."""


def ignore(*told: object) -> None:
    """Ignore what a node reports."""


LOOPBACK = ("/ip4/127.0.0.1/tcp/0",)


@dataclass(frozen=True, slots=True)
class HostConfig:
    """The configuration of a node. A client needs `bootstrap_peers` and `dht_client`; a server `listen_addrs`."""

    membership: Membership | None = None  # what the node shows; None: it lets everybody in, as in an open swarm
    identity_path: Path | None = None  # made if missing; None: a fresh identity for this run
    listen_addrs: tuple[str, ...] = LOOPBACK
    announce_addrs: tuple[str, ...] = ()  # announced instead of the listen addresses; empty: those
    bootstrap_peers: tuple[str, ...] = ()  # full multiaddrs ending in /p2p/<peer id>
    dht_client: bool = False  # a client stores no records for others and is not dialled by them
    relays: tuple[str, ...] = ()  # nobody reaches this node but through one of these peers; full multiaddrs
    relays_for_others: bool = True  # carry the traffic of peers that nobody reaches directly
    finds_nearby: bool = False  # look for members on the local network, and be found there
    on_news: OnNews = ignore  # called with new records of members, to be kept; must not wait
    on_leader: Callable[[], None] = ignore  # called when a leader's computer was heard; must not wait
    on_met: OnAddresses = ignore  # called with full multiaddrs of members that answered; must not wait
    on_nearby: OnAddresses = ignore  # called with what the search of the local network found; must not wait
    record_checks: Mapping[DhtKey, RecordCheck] = field(default_factory=dict)  # keys with rules of their own
    runtime_dir: Path | None = None  # where sockets live; None: the user's own runtime folder
    patience_s: float = 0.0  # how long to try again while no bootstrap peer answers; inf: as long as it takes
    on_waiting: OnWaiting = ignore  # called with the reason why it tries again

    @property
    def is_alone(self) -> bool:
        """Return whether the network lies within one computer."""
        return all(map(is_loopback, (*self.listen_addrs, *self.bootstrap_peers)))

    @property
    def is_open(self) -> bool:
        """Return whether everybody may speak with the node, stock peers included."""
        return self.membership is None or self.membership.swarm.is_open

    @property
    def is_client(self) -> bool:
        """Return whether the node stores no records for others, as nobody reaches it directly."""
        return self.dht_client or bool(self.relays)
