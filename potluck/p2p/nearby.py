"""Finds members of one's own swarm on the local network, when no address of an invite leads anywhere.

Nodes send each other small datagrams by IPv4 multicast that never leave the link. Each is encrypted with a key made of
the swarm's public key and the day, so only those who have an invite or a link of the swarm learn that a node of it is
here, and where. To others all datagrams look alike. What is heard is an address to try and nothing more: a peer
that is dialled proves its id, and the gate decides whether it belongs to the swarm.

    ask: "I am here. Who else is?" while a node has not joined | here: "I am here", each minute and as an answer
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import ipaddress
import logging
import os
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from msgspec import Meta, Struct

from potluck.p2p.joining import delays_s
from potluck.p2p.network import OnAddresses, ignore
from potluck.protocol.blocks import PeerId
from potluck.tasks import cancel_and_wait, keep_running, start_task

log = logging.getLogger(__name__)

GROUP, PORT = "239.255.80.76", 31329  # an address of the block that RFC 2365 leaves to local networks
_MAGIC = b"PLN2"
_NONCE_BYTES = 12
_BODY_BYTES = 96  # one size for all, so that strangers cannot tell a client from a server
DATAGRAM_BYTES = len(_MAGIC) + _NONCE_BYTES + _BODY_BYTES + 16
_DAY_S = 86_400
_MAX_FOUND = 16
_MAX_OF_SOURCE = 4  # peers at one address: few people run more nodes on a computer
_READ_A_SECOND, _READ_OF_SOURCE = 256, 16  # datagrams; the kernel drops more
_ANSWER_PAUSE_S = 1.0  # one answer serves all who asked meanwhile
_HERE_INTERVAL_S = 60.0
_FORGOTTEN_S = 3.5 * _HERE_INTERVAL_S  # a wireless network may lose three announcements in a row
_MAX_INTERFACES = 16


class Datagram(Struct, frozen=True):
    """The content of one datagram. A node that nobody can dial, such as a client, has port 0."""

    peer: Annotated[PeerId, Meta(pattern=r"^[1-9A-HJ-NP-Za-km-z]{1,55}\Z")]  # base58
    port: Annotated[int, Meta(ge=0, lt=1 << 16)]
    asks: bool


def encode(datagram: Datagram, swarm_key: bytes, now_s: float) -> bytes:
    """Return the datagram; `now_s` in Unix seconds chooses the day's key."""
    fields = msgspec.structs.asdict(datagram)
    filler = bytes(_BODY_BYTES - len(msgspec.msgpack.encode(fields | {"filler": b""})))
    body = msgspec.msgpack.encode(fields | {"filler": filler})
    nonce = os.urandom(_NONCE_BYTES)
    return _MAGIC + nonce + _cipher(swarm_key, int(now_s // _DAY_S)).encrypt(nonce, body, _MAGIC)


def decode(data: bytes, swarm_key: bytes, now_s: float) -> Datagram | None:
    """Return what a datagram says, or None if it is not of this swarm. The sender's clock may be a day off."""
    if len(data) != DATAGRAM_BYTES or not data.startswith(_MAGIC):
        return None
    nonce, sealed = data[len(_MAGIC) :][:_NONCE_BYTES], data[len(_MAGIC) + _NONCE_BYTES :]
    day = int(now_s // _DAY_S)
    for each in (day, day - 1, day + 1):
        with contextlib.suppress(InvalidTag, msgspec.MsgspecError, ValueError):
            body = _cipher(swarm_key, each).decrypt(nonce, sealed, _MAGIC)
            return msgspec.msgpack.decode(body, type=Datagram)
    return None


def _cipher(swarm_key: bytes, day: int) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(hmac.digest(swarm_key, b"potluck nearby %d" % day, hashlib.sha256))


class NodesNearby:
    """The places where nodes of the swarm were heard: a few at each address, and the newest of all."""

    def __init__(self) -> None:
        self._known: dict[PeerId, tuple[str, int, float]] = {}  # host, port, and when it was heard

    def record(self, datagram: Datagram, source: str, now_s: float = 0.0) -> bool:
        """Remember a node that can be dialled; return whether it is new, or is elsewhere now."""
        if not datagram.port or not _is_dialable(source):
            return False
        before = self._known.pop(datagram.peer, ("", 0, 0.0))
        self._known[datagram.peer] = source, datagram.port, now_s
        of_source = [peer for peer, (host, _, _) in self._known.items() if host == source]
        for peer in of_source[:-_MAX_OF_SOURCE] or list(self._known)[:-_MAX_FOUND]:
            del self._known[peer]
        return before[:2] != (source, datagram.port)

    def forget_silent(self, before_s: float) -> bool:
        """Forget the nodes that were last heard before that time; return whether there were any."""
        silent = [peer for peer, (_, _, heard_s) in self._known.items() if heard_s < before_s]
        for peer in silent:
            del self._known[peer]
        return bool(silent)

    @property
    def addresses(self) -> Mapping[PeerId, str]:
        """Return a multiaddr without /p2p/ for each node."""
        return {peer: f"/ip4/{host}/tcp/{port}" for peer, (host, port, _) in self._known.items()}

    @property
    def places(self) -> tuple[str, ...]:
        """Return host and port of each node, for people."""
        return tuple(sorted(f"{host}:{port}" for host, port, _ in self._known.values()))


def _is_dialable(source: str) -> bool:
    try:
        return not ipaddress.IPv4Address(source).is_multicast
    except ValueError:
        return False


class DatagramRate:
    """A limit of the datagrams that are read in a second, from everybody and from each source."""

    def __init__(self) -> None:
        self._second = -1
        self._of_source: Counter[str] = Counter()

    def is_used_up(self, now_s: float) -> bool:
        """Return whether nothing more is read in this second."""
        if int(now_s) != self._second:
            self._second = int(now_s)
            self._of_source.clear()
        return self._of_source.total() >= _READ_A_SECOND

    def admits(self, source: str) -> bool:
        """Count a datagram; return whether it is worth decrypting."""
        self._of_source[source] += 1
        return self._of_source[source] <= _READ_OF_SOURCE


class NearbySearch:
    """The search of one node on the local network, between `start` and `close`.

    Attributes:
        port: at which this node can be dialled; 0: it cannot.
        is_joined: a node that has joined no longer asks.
        found: where others are.
        news: set when a node was found that is new, or is elsewhere now.
    """

    def __init__(
        self,
        swarm_key: bytes,
        peer: PeerId,
        clock: Callable[[], float] = time.time,
        on_change: OnAddresses = ignore,
    ) -> None:
        self.port = 0
        self.is_joined = False
        self.found = NodesNearby()
        self.news = asyncio.Event()
        self._swarm_key = swarm_key
        self._peer = peer
        self._clock = clock
        self._on_change = on_change
        self._rate = DatagramRate()
        self._answered_s = -_ANSWER_PAUSE_S
        self._socket: socket.socket | None = None
        self._sending: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to ask and to listen. A computer where that is not possible, or without a key, finds nobody."""
        if not self._swarm_key:
            return
        try:
            self._socket = _multicast_socket()
        except OSError as error:
            log.info("no member is looked for on the local network: %s", error)
            return
        self._on_change(())
        self._listen()
        self._sending = start_task(keep_running("telling the local network", self._announce_forever))

    async def close(self) -> None:
        await cancel_and_wait(self._sending)
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def announce(self, *, asks: bool) -> None:
        """Send one datagram on each interface."""
        if self._socket is None:
            return
        data = encode(Datagram(self._peer, self.port, asks), self._swarm_key, self._clock())
        for interface in _interfaces():
            with contextlib.suppress(OSError):  # it has no IPv4 address, or is down
                self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, interface)
                self._socket.sendto(data, (GROUP, PORT))

    def receive(self, data: bytes, source: str) -> None:
        """Act on a datagram that came from an IPv4 address."""
        heard = decode(data, self._swarm_key, self._clock())
        if heard is None or heard.peer == self._peer:
            return
        if self.found.record(heard, source, time.monotonic()):
            log.info("a member may be on the local network")
            self.news.set()
            self._on_change(self.found.places)
        if heard.asks and self.port and time.monotonic() - self._answered_s >= _ANSWER_PAUSE_S:
            self._answered_s = time.monotonic()
            self.announce(asks=False)

    async def _announce_forever(self) -> None:
        delays = delays_s()
        while True:
            assert self._socket is not None
            for interface in _interfaces():  # again each time: the computer may have come to another network
                with contextlib.suppress(OSError):
                    self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, interface)
            self.announce(asks=not self.is_joined)
            if self.found.forget_silent(time.monotonic() - _FORGOTTEN_S):
                self._on_change(self.found.places)
            await asyncio.sleep(_HERE_INTERVAL_S if self.is_joined else next(delays))

    def _listen(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().add_reader(self._socket, self._read, self._socket)

    def _read(self, sock: socket.socket) -> None:
        if self._rate.is_used_up(time.monotonic()):
            loop = asyncio.get_running_loop()
            loop.remove_reader(sock)
            loop.call_later(1.0, self._listen)
            return
        with contextlib.suppress(OSError):
            data, (source, _) = sock.recvfrom(DATAGRAM_BYTES + 1)
            if self._rate.admits(source):
                self.receive(data, source)


def _multicast_socket() -> socket.socket:
    """Return a socket that receives what is sent to the group. Raises OSError."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # several nodes on one computer
        if sys.platform == "darwin":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # what the option above does elsewhere
        made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
        made.bind((GROUP, PORT))  # nothing but what is sent to the group
    except OSError:
        made.close()
        raise
    return made


def _interfaces() -> list[bytes]:
    """Return a `struct ip_mreqn` for each interface, as joining and sending take it."""
    indexes = [index for index, _ in socket.if_nameindex()][:_MAX_INTERFACES]
    return [struct.pack("4s4si", socket.inet_aton(GROUP), bytes(4), index) for index in indexes]
