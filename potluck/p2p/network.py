"""The interface to the peer-to-peer network: calls and streams addressed by peer id, and the DHT.

`libp2p.py` implements it on p2pd and hivemind. This layer moves frames and knows nothing of what is in them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from potluck.membership.budgets import Budgets
from potluck.membership.gate import MembersGate
from potluck.membership.identity import Identity
from potluck.protocol.blocks import PeerId, PersonId
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import RemoteError
from potluck.wire.refusals import encode_refusal

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
        """The body of the next message frame, or None once the peer ended its side.

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
        """Say that no more messages will be sent; the other direction stays open.

        Only a caller can say it: a callee's end is seen when its handler returns and the stream closes. So None from
        `receive` tells a caller nothing about why; whoever still expects a frame must take it for a failure.
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
        """The pass by which others know this node for a member's; empty if they know it by its own key."""

    def person_of(self, peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
        """See `PersonOf`. In an open swarm each peer is a person."""

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
        """Full multiaddrs of this node, ending in /p2p/<peer id>."""

    async def serve_unary(self, protocol: str, handler: UnaryHandler, *, refuse: Refusal = encode_refusal) -> None: ...

    async def serve_stream(
        self, protocol: str, handler: StreamHandler, *, max_frame_bytes: int, refuse: Refusal = encode_refusal
    ) -> None: ...

    async def call(self, peer: PeerId, protocol: str, body: bytes, *, timeout_s: float) -> bytes:
        """Unary call; bodies above 4 MiB are refused before sending.

        Raises:
            RemoteError: what the peer answered, or UNREACHABLE.
        """

    async def open_stream(self, peer: PeerId, protocol: str, *, timeout_s: float, max_frame_bytes: int) -> Stream:
        """Raises RemoteError: UNREACHABLE, or NOT_SERVED if the peer answers that it does not know the protocol."""

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
        """Newest unexpired values of each key by subkey; missing keys and non-string subkeys are left out.
        Payloads that are not valid msgpack are left out."""

    async def wait_lost(self) -> None:
        """Return once the node has ended without being asked to: it is of no use until `restart`."""

    async def restart(self) -> None:
        """Bring a lost node back under the same identity. Its streams are gone. Raises NetworkError."""

    async def close(self) -> None:
        """Stop everything this node started. Idempotent."""
