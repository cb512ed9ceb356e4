"""An in-memory network with the semantics of the real one, for tests: no process, no socket, no waiting.

Nodes of one `FakeNetwork` reach each other by peer id. A test may give links a latency, freeze a node (it keeps its
connections and answers nothing) or kill it (its connections break). The clock is a parameter: records expire at will.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgpack

from potluck.errors import NetworkError
from potluck.membership.budgets import Budgets
from potluck.membership.gate import MembersGate
from potluck.membership.identity import Identity
from potluck.p2p import frames
from potluck.p2p.network import (
    MAX_RECORD_BYTES,
    MAX_UNARY_BODY_BYTES,
    DhtKey,
    DhtSubkey,
    DhtValue,
    RecordCheck,
    Refusal,
    Stream,
    StreamHandler,
    UnaryHandler,
    is_plausible,
)
from potluck.p2p.pacing import Pacer
from potluck.protocol.blocks import PeerId, PersonId, PersonOf, each_peer_a_person
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.values import Buffer
from potluck.wire.errors import decode_refusal, encode_refusal

log = logging.getLogger(__name__)

T = TypeVar("T")
_MAX_QUEUED_FRAMES = 8


@dataclass(slots=True)
class FakeNetwork:
    """Everything that nodes share. `latency_s` is one way; a pair in `latencies_s` overrides it, in both directions."""

    latency_s: float = 0.0
    latencies_s: dict[tuple[PeerId, PeerId], float] = field(default_factory=dict)
    clock: Callable[[], float] = time.time
    person_of: PersonOf = each_peer_a_person
    on_probation: Collection[PeerId] = ()
    places: Mapping[PeerId, str] = field(default_factory=dict)
    nodes: dict[PeerId, FakeHost] = field(default_factory=dict)
    records: dict[DhtKey, dict[object, tuple[bytes, float]]] = field(default_factory=dict)
    _ports: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def start(
        self, identity: Identity | None = None, *, record_checks: Mapping[DhtKey, RecordCheck] | None = None
    ) -> FakeHost:
        """A new node; raises NetworkError if its identity already lives here."""
        identity = identity or Identity.generate()
        if identity.peer_id in self.nodes:
            raise NetworkError("another node already runs with this identity")
        addr = f"/ip4/127.0.0.1/tcp/{next(self._ports)}/p2p/{identity.peer_id}"
        host = self.nodes[identity.peer_id] = FakeHost(self, identity, addr, dict(record_checks or {}))
        return host

    def between(self, one: PeerId, other: PeerId) -> float:
        return self.latencies_s.get((one, other), self.latencies_s.get((other, one), self.latency_s))

    async def reach(self, caller: FakeHost, peer: PeerId) -> FakeHost:
        """The node `peer`, after the way to it; raises RemoteError UNREACHABLE."""
        if caller.is_dead:
            raise RemoteError(Code.UNREACHABLE, "this node is closed")
        await asyncio.sleep(self.between(caller.peer_id, peer))
        host = self.nodes.get(peer)
        if host is None:
            raise RemoteError(Code.UNREACHABLE, "no such peer")
        await host.thawed()
        return host


class FakeHost:
    """A node; implements `potluck.p2p.network.Host`."""

    def __init__(
        self, network: FakeNetwork, identity: Identity, addr: str, checks: Mapping[DhtKey, RecordCheck]
    ) -> None:
        self.identity = identity
        self.budgets = Budgets()
        self.members: MembersGate | None = None  # an open swarm's
        self.uploads = Pacer()  # nothing passes them here
        self.downloads = Pacer()
        self.is_dead = False
        self.unary_handlers: dict[str, UnaryHandler] = {}
        self._refusals: dict[str, Refusal] = {}
        self.stream_handlers: dict[str, tuple[StreamHandler, int, Refusal]] = {}
        self.calls: Counter[str] = Counter()  # handled here, by protocol
        self._network = network
        self._addr = addr
        self._checks = checks
        self._moving = asyncio.Event()
        self._moving.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._streams: set[FakeStream] = set()
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    # -- what a test does to it ----------------------------------------------------------------------------------------

    def freeze(self) -> None:
        """Stop answering, like a process that got SIGSTOP."""
        self._moving.clear()

    def thaw(self) -> None:
        self._moving.set()

    def kill(self) -> None:
        """End at once, like a process that got SIGKILL: peers see broken connections, its tasks stop."""
        self.is_dead = True
        self._network.nodes.pop(self.peer_id, None)
        for stream in list(self._streams):
            stream.break_off()
        for task in self._tasks:
            task.cancel()
        if not self._lost.done():
            self._lost.set_result(None)

    @property
    def is_frozen(self) -> bool:
        return not self._moving.is_set()

    async def thawed(self) -> None:
        await self._moving.wait()

    # -- the interface of Host -----------------------------------------------------------------------------------------

    @property
    def peer_id(self) -> PeerId:
        return self.identity.peer_id

    ticket = b""

    def person_of(self, peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
        return self._network.person_of(peer, ticket)

    def is_on_probation(self, peer: PeerId, /) -> bool:
        return peer in self._network.on_probation

    async def places(self) -> Mapping[PeerId, str]:
        return self._network.places

    async def meet(self, peers: Sequence[PeerId]) -> bool:
        return False

    async def addresses(self) -> tuple[str, ...]:
        return (self._addr,)

    async def serve_unary(self, protocol: str, handler: UnaryHandler, *, refuse: Refusal = encode_refusal) -> None:
        if protocol in self.unary_handlers:
            raise ValueError(f"{protocol} already has a handler")
        self.unary_handlers[protocol], self._refusals[protocol] = handler, refuse

    async def serve_stream(
        self, protocol: str, handler: StreamHandler, *, max_frame_bytes: int, refuse: Refusal = encode_refusal
    ) -> None:
        self.stream_handlers[protocol] = (handler, max_frame_bytes, refuse)

    async def call(self, peer: PeerId, protocol: str, body: bytes, *, timeout_s: float) -> bytes:
        if len(body) > MAX_UNARY_BODY_BYTES:
            raise RemoteError(Code.TOO_LONG, f"a call of {len(body)} bytes is above the limit of 4 MiB")
        return await _within(timeout_s, self._call(peer, protocol, bytes(body)))

    async def open_stream(self, peer: PeerId, protocol: str, *, timeout_s: float, max_frame_bytes: int) -> Stream:
        return await _within(timeout_s, self._open_stream(peer, protocol, max_frame_bytes))

    async def ping(self, peer: PeerId, *, timeout_s: float) -> float:
        await _within(timeout_s, self._network.reach(self, peer))
        return 2 * self._network.between(self.peer_id, peer)

    async def dial_anew(self, peer: PeerId, addrs: Sequence[str] | None = None, *, seen_as: str = "") -> bool:
        try:
            await self._network.reach(self, peer)
        except RemoteError:
            return False
        return True

    async def disconnect(self, peer: PeerId) -> None:
        for stream in list(self._streams):
            if stream.far_peer == peer:
                stream.break_off()

    async def store(self, key: DhtKey, subkey: DhtSubkey, value: object, *, expiration: float) -> bool:
        payload, now = msgpack.packb(value), self._network.clock()
        if len(payload) > MAX_RECORD_BYTES or not is_plausible(subkey, expiration, now=now) or expiration < now:
            return False
        if any(not host.accepts(key, subkey, payload, expiration) for host in self._network.nodes.values()):
            return False
        held = self._network.records.setdefault(key, {})
        if subkey in held and held[subkey][1] >= expiration > now:
            return False
        held[subkey] = (payload, expiration)
        return True

    async def get(self, keys: Sequence[DhtKey]) -> dict[DhtKey, dict[DhtSubkey, DhtValue]]:
        found: dict[DhtKey, dict[DhtSubkey, DhtValue]] = {}
        for key in keys:
            for subkey, (payload, expiration) in self._network.records.get(key, {}).items():
                if not isinstance(subkey, str) or not expiration > self._network.clock():
                    continue
                if not self.accepts(key, subkey, payload, expiration):
                    continue
                with contextlib.suppress(ValueError, msgpack.UnpackException):
                    found.setdefault(key, {})[subkey] = DhtValue(msgpack.unpackb(payload), expiration)
        return found

    async def wait_lost(self) -> None:
        await asyncio.shield(self._lost)

    async def restart(self) -> None:
        self.is_dead = False
        self._network.nodes[self.peer_id] = self
        self._lost = asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        if not self.is_dead:
            self.kill()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- inside --------------------------------------------------------------------------------------------------------

    def accepts(self, key: DhtKey, subkey: object, payload: bytes, expiration: float) -> bool:
        """Whether this node, as a keeper of records, would take the record."""
        check = self._checks.get(key)
        return check is None or (
            isinstance(subkey, str) and check(subkey, msgpack.unpackb(payload), expiration, self.person_of)
        )

    async def _call(self, peer: PeerId, protocol: str, body: bytes) -> bytes:
        host = await self._network.reach(self, peer)
        if protocol not in host.unary_handlers:
            raise RemoteError(Code.NOT_SERVED, f"the peer does not speak {protocol}")
        host.calls[protocol] += 1
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        task = host.spawn(_answer(host.unary_handlers[protocol], host._refusals[protocol], body, self.peer_id, answer))
        try:
            result = await answer
        except asyncio.CancelledError:
            task.cancel()
            raise
        await host.thawed()
        await asyncio.sleep(self._network.between(self.peer_id, peer))
        return result

    async def _open_stream(self, peer: PeerId, protocol: str, max_frame_bytes: int) -> Stream:
        host = await self._network.reach(self, peer)
        if protocol not in host.stream_handlers:
            raise RemoteError(Code.NOT_SERVED, f"the peer does not speak {protocol}")
        handler, callee_max_bytes, refuse = host.stream_handlers[protocol]
        host.calls[protocol] += 1
        delay_s = self._network.between(self.peer_id, peer)
        near = FakeStream(self, delay_s, max_frame_bytes, is_caller=True)
        far = FakeStream(host, delay_s, callee_max_bytes, is_caller=False)
        near.connect(far)
        far.connect(near)
        self._streams.add(near)
        host._streams.add(far)
        far.on_abort = host.spawn(_serve(handler, refuse, far, self.peer_id)).cancel
        return near

    def spawn(self, work: Awaitable[None]) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def forget(self, stream: FakeStream) -> None:
        self._streams.discard(stream)


class FakeStream:
    """One end; frames arrive in the other end's queue after the link's delay."""

    def __init__(self, host: FakeHost, delay_s: float, max_frame_bytes: int, *, is_caller: bool) -> None:
        self._host = host
        self._delay_s = delay_s
        self._max_frame_bytes = max_frame_bytes
        self._is_caller = is_caller
        self._other: FakeStream | None = None
        self.on_abort: Callable[[], object] = lambda: None  # ends who serves the stream
        self._is_ended = False  # by its caller
        self._frames: deque[tuple[float, bytes | RemoteError | None]] = deque()  # when it arrives, what
        self._last: RemoteError | bool | None = False  # what every later receive says; False: still open
        self._closed = False
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def connect(self, other: FakeStream) -> None:
        self._other = other

    @property
    def far_peer(self) -> PeerId | None:
        return self._other._host.peer_id if self._other is not None else None

    async def send(self, *pieces: Buffer, timeout_s: float | None = None) -> None:
        body = b"".join(pieces)
        assert self._other is not None
        async with asyncio.timeout(timeout_s):
            await self._host.thawed()
            await self._wait_for_reader()
        self._require_open()
        self._other._deliver(body, self._delay_s)

    async def _wait_for_reader(self) -> None:
        assert self._other is not None
        try:
            async with asyncio.timeout(None if self._is_caller else frames.UNREAD_S):
                await self._other._room.wait()
        except TimeoutError:
            await self.close()

    def send_now(self, *pieces: Buffer) -> bool:
        self._require_open()
        assert self._other is not None
        if self._host.is_frozen or not self._other._room.is_set():
            return False
        self._other._deliver(b"".join(pieces), self._delay_s)
        return True

    async def send_error(self, refusal: bytes) -> None:
        self._require_open()
        assert self._other is not None
        self._other._deliver(decode_refusal(refusal, may_be_plain_text=True), self._delay_s)

    async def end(self) -> None:
        if self._is_caller:
            self._require_open()
            assert self._other is not None
            self._other._deliver(None, self._delay_s)

    async def receive(self, *, timeout_s: float | None = None, silence_s: float | None = None) -> bytes | None:
        try:
            async with asyncio.timeout(timeout_s or silence_s):
                await self._wait_for_frame()
        except TimeoutError as error:
            raise TimeoutError("no frame came in time") from error
        if self._last is False or self._frames:
            _, frame = self._frames.popleft()
            if len(self._frames) < _MAX_QUEUED_FRAMES:
                self._room.set()
            if not isinstance(frame, bytes):
                self._last = frame
                self._frames.clear()
        else:
            frame = self._last  # type: ignore[assignment]
        if isinstance(frame, RemoteError):
            raise frame
        return frame

    async def close(self) -> None:
        if not self._closed:
            self._finish(RemoteError(Code.UNREACHABLE, "this side closed the stream"))
            assert self._other is not None
            self._other._hang_up(self._delay_s)

    def break_off(self) -> None:
        """The node died: its side is gone at once, the other side learns it after the link's delay."""
        if not self._closed:
            self._finish(RemoteError(Code.UNREACHABLE, "this node is closed"))
            assert self._other is not None
            self._other._hang_up(self._delay_s)

    async def _wait_for_frame(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._host.thawed()
            if self._frames:
                delay_s = self._frames[0][0] - loop.time()
                if delay_s <= 0:
                    return
                await asyncio.sleep(delay_s)
            elif self._last is not False:
                return
            else:
                self._changed.clear()
                await self._changed.wait()

    def _deliver(self, frame: bytes | RemoteError | None, delay_s: float) -> None:
        if self._last is not False:
            return
        self._is_ended |= frame is None
        if isinstance(frame, bytes) and len(frame) > self._max_frame_bytes:
            frame = RemoteError(Code.BAD_REPLY, f"the peer sent a frame of {len(frame)} bytes")
            assert self._other is not None
            self._other._hang_up(delay_s)
        self._frames.append((asyncio.get_running_loop().time() + delay_s, frame))
        if len(self._frames) >= _MAX_QUEUED_FRAMES:
            self._room.clear()
        self._changed.set()

    def _hang_up(self, delay_s: float) -> None:
        """The other side is gone: a caller cannot tell that from a normal end, a callee can."""
        if not self._closed:
            if not (self._is_caller or self._is_ended or isinstance(self._last, RemoteError)):
                asyncio.get_running_loop().call_later(delay_s, self.on_abort)
            self._deliver(None if self._is_caller else RemoteError(Code.UNREACHABLE, "the connection broke"), delay_s)
            self._closed = True
            self._room.set()
            self._host.forget(self)

    def _finish(self, last: RemoteError) -> None:
        self._closed = True
        if self._last is False:
            self._last = last
        self._frames.clear()
        self._changed.set()
        self._room.set()
        self._host.forget(self)

    def _require_open(self) -> None:
        if self._closed or self._host.is_dead:
            raise RemoteError(Code.UNREACHABLE, "the connection is closed")


async def _answer(
    handler: UnaryHandler, refuse: Refusal, body: bytes, caller: PeerId, answer: asyncio.Future[bytes]
) -> None:
    try:
        result = await handler(body, caller)
        if len(result) > MAX_UNARY_BODY_BYTES:
            raise RemoteError(Code.TOO_LONG, "the answer is above the limit of 4 MiB; use the stream call")
        outcome: bytes | RemoteError = result
    except RemoteError as error:
        outcome = decode_refusal(refuse(error), may_be_plain_text=True)
    except asyncio.CancelledError:
        outcome = RemoteError(Code.UNREACHABLE, "the connection broke")
    except Exception as error:
        log.warning("a handler failed: %r", error, exc_info=error)
        outcome = RemoteError(Code.INTERNAL, "the peer failed; its log has the reason")
    if answer.done():
        return
    if isinstance(outcome, RemoteError):
        answer.set_exception(outcome)
    else:
        answer.set_result(outcome)


async def _serve(handler: StreamHandler, refuse: Refusal, stream: FakeStream, caller: PeerId) -> None:
    try:
        await handler(stream, caller)
    except RemoteError as error:
        with contextlib.suppress(RemoteError):
            await stream.send_error(refuse(error))
    except Exception as error:
        log.warning("a stream handler failed: %r", error, exc_info=error)
        with contextlib.suppress(RemoteError):
            await stream.send_error(refuse(RemoteError(Code.INTERNAL, "the peer failed; its log has the reason")))
    finally:
        await stream.close()


async def _within(timeout_s: float, work: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout(timeout_s):
            return await work
    except TimeoutError as error:
        raise RemoteError(Code.UNREACHABLE, f"no answer within {timeout_s:g} s") from error
