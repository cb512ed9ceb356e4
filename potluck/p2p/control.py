"""p2pd's control protocol: unary calls over one lasting connection, streams over one connection each.

hivemind has a client for it, which holds calls for ever when p2pd dies, may stop reading after a cancelled call and
leaks an entry a cancelled request; this one answers every call, bounds every wait and parses whole messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from hivemind.proto import p2pd_pb2 as pb
from hivemind.utils.multiaddr import Multiaddr

from potluck.errors import NetworkError
from potluck.membership.budgets import Budgets, Lease, Refused
from potluck.membership.gate import PRESENT, Gate, OpenGate
from potluck.membership.identity import base58_decode, base58_encode
from potluck.membership.presentation import MAX_PRESENTATION_BYTES
from potluck.p2p.addresses import encoded
from potluck.p2p.connections import Connections
from potluck.p2p.frames import FrameStream
from potluck.p2p.network import Refusal, StreamHandler, UnaryHandler
from potluck.p2p.origins import Origins
from potluck.p2p.pacing import Pacer
from potluck.p2p.peeking import PEEK_BYTES, peek_request
from potluck.p2p.rules import MAX_UNARY_BODY_BYTES
from potluck.p2p.varint import decode_varint, encode_varint
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.sentences import sentence
from potluck.tasks import cancel_and_wait
from potluck.wire.refusals import decode_refusal, encode_refusal

log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_REFUSED = 64  # streams at a time that are told why they end; further ones end without a word
_WHOLE_BYTES = 2 * MAX_PRESENTATION_BYTES  # a message above it is not kept before it is known who calls
_MAX_UNACCEPTED = 4096  # streams that wait while the loop is busy; p2pd resets those that find no room (default: 100)
_CALL_ID_BYTES = 16
_RETRY_S = 1.0  # for callers beyond their budget
_UNKNOWN_PROTOCOL = "protocols not supported"  # p2pd's words
_NOT_DIALLED = ("failed to dial", "failed to find any peer", "routing: not found")  # likewise
_PRESENT_S = 2.0  # for a stranger to present itself
_LAST_WORDS_S = 1.0  # for an error frame to reach a caller that does not hang up


class P2pdClient:
    """A node's connection to its p2pd. Create, `await start()`, finally `await close()`.

    All bytes of calls and streams pass `uploads` or `downloads`; `gate` says who may call, and `budgets` how much.
    `find` connects to a peer that p2pd knows no way to, or raises RemoteError UNREACHABLE.
    """

    def __init__(
        self,
        control_path: Path,
        listen_path: Path,
        uploads: Pacer | None = None,
        downloads: Pacer | None = None,
        budgets: Budgets | None = None,
        gate: Gate | None = None,
    ) -> None:
        self._gate = gate or OpenGate()
        self._uploads, self._downloads = uploads or Pacer(), downloads or Pacer()
        self._budgets = budgets or Budgets()
        self._connections = Connections()
        self.find: Callable[[PeerId], Awaitable[None]] = _find_nobody
        self._control_path = str(control_path)
        self._listen_path = str(listen_path)
        self._unary: UnaryConnection | None = None
        self._listener: asyncio.AbstractServer | None = None
        self._stream_handlers: dict[str, tuple[StreamHandler, int, Refusal]] = {}
        self._refusing = 0
        self._open: dict[PeerId, set[FrameStream]] = {}  # both ways
        self._tasks: set[asyncio.Task[None]] = set()
        self._gone: set[PeerId] = set()  # as of the last look

    async def start(self, *, timeout_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._origins = origins = Origins(partial(self.list_peers, timeout_s=_PRESENT_S))
        async with asyncio.timeout(timeout_s):
            self._listener = await loop.create_unix_server(self._accept, self._listen_path, backlog=_MAX_UNACCEPTED)
            _, connection = await loop.create_unix_connection(
                lambda: UnaryConnection(self._uploads, self._budgets, self._connections, self._gate, origins),
                self._control_path,
            )
            await loop.create_unix_connection(lambda: self._connections, self._control_path)
            connection.upgrade()
            await connection.ready
        self._unary = connection

    async def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        if self._unary is not None:
            self._unary.close()
        self._connections.stop()
        await cancel_and_wait(*self._tasks, *(self._unary.tasks if self._unary else ()))

    async def request(self, message: pb.Request, *, timeout_s: float) -> pb.Response:
        """Ask p2pd itself one question. Raises NetworkError with its refusal, or if it does not answer."""
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        stream = await self._connect(message, lambda _, body: answered.set_result(body), answered, timeout_s)
        await stream.close()
        return _checked(answered.result())

    async def identify(self, *, timeout_s: float) -> tuple[PeerId, tuple[str, ...]]:
        """This node's id and the addresses that it tells others."""
        response = await self.request(pb.Request(type=pb.Request.IDENTIFY), timeout_s=timeout_s)
        peer_id = _peer_id(response.identify.id)
        return peer_id, tuple(f"{Multiaddr(raw)}/p2p/{peer_id}" for raw in response.identify.addrs)

    async def connect(self, peer: PeerId, addrs: Iterable[str] = (), *, timeout_s: float) -> None:
        """Dial a peer, at `addrs` (without /p2p/) or wherever the network knows it. Raises NetworkError."""
        connect = pb.ConnectRequest(
            peer=base58_decode(peer),
            addrs=[encoded(addr) for addr in addrs],
            timeout=_whole_seconds(timeout_s),
        )
        await self.request(pb.Request(type=pb.Request.CONNECT, connect=connect), timeout_s=timeout_s)

    async def listens_at(self, peer: PeerId, *, timeout_s: float) -> list[str]:
        """Return where a peer listens, as p2pd's own DHT knows it. Raises NetworkError, also without that DHT."""
        find = pb.DHTRequest(type=pb.DHTRequest.FIND_PEER, peer=_raw_peer(peer), timeout=_whole_seconds(timeout_s))
        response = await self.request(pb.Request(type=pb.Request.DHT, dht=find), timeout_s=timeout_s)
        return [str(Multiaddr(raw)) for raw in response.dht.peer.addrs]

    def keep_connected(self, peer: PeerId) -> None:
        """Close connections to other peers first when there are too many."""
        self._connections.keep(_raw_peer(peer))

    def disconnect(self, peer: PeerId) -> None:
        """Close all connections to a peer in a moment."""
        self._connections.close(_raw_peer(peer))

    async def list_peers(self, *, timeout_s: float) -> dict[PeerId, tuple[str, ...]]:
        """Return the connected peers with the far ends of their connections. Raises NetworkError."""
        response = await self.request(pb.Request(type=pb.Request.LIST_PEERS), timeout_s=timeout_s)
        found: dict[PeerId, tuple[str, ...]] = {}
        for info in response.peers:
            peer = _peer_id(info.id)
            found[peer] = (*found.get(peer, ()), *(str(Multiaddr(raw)) for raw in info.addrs))
        return found

    async def origin_of(self, peer: PeerId) -> str:
        """Return the address that a connected peer comes from, see `Origins.of`."""
        return await self._origins.of(peer)

    async def call(self, peer: PeerId, protocol: str, body: bytes, *, timeout_s: float) -> bytes:
        """Call a peer, after this node has presented itself. Raises RemoteError: the peer's own, or UNREACHABLE."""
        async with within(timeout_s):
            await self._present(peer, protocol)
            try:
                return await self._dialled(peer, lambda: self.call_directly(peer, protocol, body, timeout_s=timeout_s))
            except RemoteError as error:
                if error.code is not Code.NOT_A_MEMBER or not self._gate.is_presented(peer, protocol):
                    raise
            self._gate.forget(peer)  # it started anew, and does not know us
            await self._present(peer, protocol)
            return await self.call_directly(peer, protocol, body, timeout_s=timeout_s)

    async def call_directly(self, peer: PeerId, protocol: str, body: bytes, *, timeout_s: float) -> bytes:
        """Call a peer that may not know this node. Raises RemoteError: the peer's own, or UNREACHABLE."""
        if self._unary is None:
            raise RemoteError(Code.UNREACHABLE, "the node is not started")
        return await self._unary.call(_raw_peer(peer), protocol, body, timeout_s)

    async def _present(self, peer: PeerId, protocol: str) -> None:
        if not self._gate.is_presented(peer, protocol):
            await self._dialled(peer, lambda: self._gate.present(peer))

    async def _dialled(self, peer: PeerId, attempt: Callable[[], Awaitable[T]]) -> T:
        """Make an attempt, and once more if p2pd knew no way to the peer and `find` has one."""
        try:
            return await attempt()
        except RemoteError as error:
            if error.code is not Code.UNREACHABLE or not any(words in error.message for words in _NOT_DIALLED):
                raise
        await self.find(peer)
        return await attempt()

    async def add_unary_handler(
        self, protocol: str, handler: UnaryHandler, *, timeout_s: float, refuse: Refusal = encode_refusal
    ) -> None:
        assert self._unary is not None
        await self._unary.add_handler(protocol, handler, refuse, timeout_s)

    async def open_stream(self, peer: PeerId, protocol: str, *, timeout_s: float, max_frame_bytes: int) -> FrameStream:
        """Open a stream, after this node has presented itself.

        Raises RemoteError: UNREACHABLE, NOT_SERVED if the peer does not know the protocol, or NOT_A_MEMBER.
        """
        async with within(timeout_s):
            await self._present(peer, protocol)
            return await self._dialled(peer, lambda: self._open_stream(peer, protocol, timeout_s, max_frame_bytes))

    async def _open_stream(self, peer: PeerId, protocol: str, timeout_s: float, max_frame_bytes: int) -> FrameStream:
        opening = pb.StreamOpenRequest(peer=_raw_peer(peer), proto=[protocol], timeout=_whole_seconds(timeout_s))
        message = pb.Request(type=pb.Request.STREAM_OPEN, streamOpen=opening)
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def on_prologue(stream: FrameStream, body: bytes) -> None:
            stream.max_frame_bytes = max_frame_bytes
            stream.may_hear_words = isinstance(self._gate, OpenGate)
            if not answered.done():
                answered.set_result(body)

        try:
            stream = await self._connect(message, on_prologue, answered, timeout_s)
            try:
                _checked(answered.result())
            except NetworkError:
                await stream.close()
                raise
        except NetworkError as error:
            raise _failure(f"no stream to the peer: {error.message}") from error
        stream.on_stranger = lambda: self._gate.forget(peer)
        self._keep(stream, peer)
        return stream

    def cut_off(self, peers: Iterable[PeerId]) -> None:
        """End all streams from and to these peers."""
        for peer in peers:
            for stream in tuple(self._open.get(peer, ())):
                stream.abort()

    def cut_off_gone(self, connected: Collection[PeerId]) -> None:
        """End the streams of peers that were not connected twice in a row.

        p2pd does not notice that a caller is gone while it waits for this side to read what the caller sent.
        """
        gone = self._open.keys() - set(connected)
        self.cut_off(gone & self._gone)
        self._gone = gone

    def _keep(self, stream: FrameStream, peer: PeerId) -> None:
        self._open.setdefault(peer, set()).add(stream)
        stream.lost.add_done_callback(lambda _: self._drop(stream, peer))

    def _drop(self, stream: FrameStream, peer: PeerId) -> None:
        self._open[peer].discard(stream)
        if not self._open[peer]:
            del self._open[peer]

    async def add_stream_handler(
        self, protocol: str, handler: StreamHandler, *, max_frame_bytes: int, refuse: Refusal, timeout_s: float
    ) -> None:
        self._stream_handlers[protocol] = (handler, max_frame_bytes, refuse)
        addr = Multiaddr(f"/unix{self._listen_path}").to_bytes()
        message = pb.Request(
            type=pb.Request.STREAM_HANDLER,
            streamHandler=pb.StreamHandlerRequest(addr=addr, proto=[protocol], balanced=False),
        )
        await self.request(message, timeout_s=timeout_s)

    async def _connect(
        self,
        message: pb.Request,
        on_prologue: Callable[[FrameStream, bytes], None],
        answered: asyncio.Future[bytes],
        timeout_s: float,
    ) -> FrameStream:
        """Send `message` on a connection of its own and wait until its answer is there."""
        stream = FrameStream(on_prologue, self._uploads, self._downloads, is_caller=True)
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.get_running_loop().create_unix_connection(lambda: stream, self._control_path)
                stream.write_raw(_delimited(message.SerializeToString()))
                either: tuple[asyncio.Future[Any], ...] = (answered, stream.lost)
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError as error:
            await stream.close()
            raise NetworkError(sentence("no answer within {number} s", number=f"{timeout_s:g}")) from error
        except OSError as error:
            raise NetworkError(sentence("the peer-to-peer process is gone")) from error
        except asyncio.CancelledError:
            await stream.close()
            raise
        if not answered.done():
            raise NetworkError(sentence("the peer-to-peer process closed the connection"))
        return stream

    def _accept(self) -> FrameStream:
        return FrameStream(self._on_stream, self._uploads, self._downloads, is_caller=False)

    def _on_stream(self, stream: FrameStream, prologue: bytes) -> None:
        info = pb.StreamInfo.FromString(prologue)
        caller = _peer_id(info.peer)
        lease = self._budgets.open_stream(caller, _now())
        if lease is Refused.THROW_OUT:
            self._connections.throw_out(info.peer)
        if isinstance(lease, Lease):
            unknown = (_refuse_unknown, 0, encode_refusal)
            handler, stream.max_frame_bytes, refuse = self._stream_handlers.get(info.proto, unknown)
            if not self._gate.may_call(caller, info.proto):
                handler = _refuse_stranger
            self._keep(stream, caller)
            stream.hold = partial(self._budgets.hold, lease)
            task = self._run(self._serve(stream, caller, handler, refuse))
            stream.on_abort = task.cancel
            task.add_done_callback(lambda _: stream.lost.add_done_callback(lambda _: self._budgets.end(lease)))
        elif lease is Refused.FOR_NOW and self._refusing < MAX_REFUSED:
            self._run(self._say_why(stream, encode_refusal(_beyond_budget())))
        else:
            stream.close_now()

    def _run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _serve(self, stream: FrameStream, caller: PeerId, handler: StreamHandler, refuse: Refusal) -> None:
        """Run a handler to its end and tell the caller how it ended, if it ended badly."""
        refusal = None
        try:
            await handler(stream, caller)
        except RemoteError as error:
            refusal = error
        except Exception as error:
            _log_failure(self._budgets, caller, "a stream", error)
            refusal = _internal()
        finally:
            if refusal is None:
                await stream.close()
        if refusal is not None:
            await self._say_why(stream, refuse(refusal))

    async def _say_why(self, stream: FrameStream, refusal: bytes) -> None:
        """Send an error frame, let the caller hang up first, and close the stream.

        p2pd resets a stream that this side closes while the caller's may still send, and a reset overtakes what was
        sent.
        """
        self._refusing += 1
        try:
            with contextlib.suppress(RemoteError):
                await stream.send_error(refusal)
                await asyncio.wait({stream.lost}, timeout=_LAST_WORDS_S)
        finally:
            self._refusing -= 1
            await stream.close()


class UnaryConnection(asyncio.Protocol):
    """The lasting connection over which unary calls of both directions run."""

    def __init__(
        self, uploads: Pacer, budgets: Budgets, connections: Connections, gate: Gate, origins: Origins
    ) -> None:
        self._uploads = uploads
        self._origins = origins
        self._budgets = budgets
        self._connections = connections
        self._gate = gate
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = loop.create_future()
        self.tasks: set[asyncio.Task[None]] = set()
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._skipped_bytes = 0  # still to come of a message that nobody reads
        self._calls: dict[bytes, asyncio.Future[bytes]] = {}
        self._handlers: dict[str, tuple[UnaryHandler, Refusal]] = {}
        self._handling: dict[bytes, asyncio.Task[None]] = {}

    def upgrade(self) -> None:
        """Turn a fresh control connection into the lasting one; `ready` tells when p2pd agreed."""
        assert self._transport is not None
        self._transport.write(_delimited(pb.Request(type=pb.Request.PERSISTENT_CONN_UPGRADE).SerializeToString()))

    async def call(self, peer: bytes, protocol: str, body: bytes, timeout_s: float) -> bytes:
        if len(body) > MAX_UNARY_BODY_BYTES:
            raise RemoteError(Code.TOO_LONG, f"a call of {len(body)} bytes is above the limit of 4 MiB")
        request = pb.PersistentConnectionRequest(callUnary=pb.CallUnaryRequest(peer=peer, proto=protocol, data=body))
        await self._uploads.wait(len(body))
        return await self._ask(request, timeout_s)

    async def add_handler(self, protocol: str, handler: UnaryHandler, refuse: Refusal, timeout_s: float) -> None:
        if protocol in self._handlers:
            raise ValueError(f"{protocol} already has a handler")
        self._handlers[protocol] = (handler, refuse)
        add = pb.AddUnaryHandlerRequest(proto=protocol, balanced=False)
        await self._ask(pb.PersistentConnectionRequest(addUnaryHandler=add), timeout_s)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance

    def connection_lost(self, error: Exception | None) -> None:
        gone = RemoteError(Code.UNREACHABLE, "the peer-to-peer process is gone")
        waiting: list[asyncio.Future[Any]] = [*self._calls.values(), self.ready]
        for future in waiting:
            if not future.done():
                future.set_exception(gone)
                future.exception()  # nobody may be waiting for it any more
        self._calls.clear()
        for task in self._handling.values():
            task.cancel()

    def data_received(self, data: bytes) -> None:
        if self._skipped_bytes:
            skipped = min(self._skipped_bytes, len(data))
            self._skipped_bytes -= skipped
            data = data[skipped:]
        self._buffer += data
        start = 0
        while True:
            size, offset = decode_varint(self._buffer, start)
            if offset == 0:
                break
            if len(self._buffer) - offset < size:
                if size > _WHOLE_BYTES and self._is_not_worth_reading(size, offset):
                    self._skipped_bytes = size - (len(self._buffer) - offset)
                    start = len(self._buffer)
                break
            self._on_message(bytes(memoryview(self._buffer)[offset : offset + size]))
            start = offset + size
        del self._buffer[:start]

    def _is_not_worth_reading(self, size: int, start: int) -> bool:
        """Refuse a large message at its beginning if its sender may not send so much."""
        request = peek_request(memoryview(self._buffer)[start : start + PEEK_BYTES])
        if request is None or size <= self._budgets.max_request_bytes(_peer_id(request.peer)):
            return False
        self._lease(request.call_id, request.peer, size)
        return True

    def _on_message(self, body: bytes) -> None:
        if not self.ready.done():
            try:
                _checked(body)
                self.ready.set_result(None)
            except NetworkError as error:
                self.ready.set_exception(error)
            return
        message = pb.PersistentConnectionResponse.FromString(body)
        kind = message.WhichOneof("message")
        if kind == "requestHandling":
            self._handle(message.callId, message.requestHandling)
        elif kind == "cancel":
            if message.callId in self._handling:
                self._handling[message.callId].cancel()
        else:
            self._answer(message, kind)

    def _answer(self, message: pb.PersistentConnectionResponse, kind: str | None) -> None:
        future = self._calls.get(message.callId)
        if future is None or future.done():
            return
        if kind == "daemonError":
            future.set_exception(_failure(message.daemonError.message[:300]))
        elif kind == "callUnaryResponse" and message.callUnaryResponse.WhichOneof("result") == "error":
            refusal, is_open = message.callUnaryResponse.error, isinstance(self._gate, OpenGate)
            future.set_exception(decode_refusal(refusal, may_be_words=is_open))
        else:
            future.set_result(message.callUnaryResponse.response)

    async def _ask(self, request: pb.PersistentConnectionRequest, timeout_s: float) -> bytes:
        if self._transport is None or self._transport.is_closing():
            raise RemoteError(Code.UNREACHABLE, "the peer-to-peer process is gone")
        request.callId = os.urandom(_CALL_ID_BYTES)
        future = self._calls[request.callId] = asyncio.get_running_loop().create_future()
        self._send(request)
        async with within(timeout_s):
            try:
                return cast(bytes, await future)
            except asyncio.CancelledError:
                self._send(pb.PersistentConnectionRequest(callId=request.callId, cancel=pb.Cancel()))
                raise
            finally:
                self._calls.pop(request.callId, None)

    def _handle(self, call_id: bytes, request: pb.CallUnaryRequest) -> None:
        lease = self._lease(call_id, request.peer, len(request.data))
        if lease is None:
            return
        if not self._gate.may_call(_peer_id(request.peer), request.proto):
            self._budgets.end(lease)
            self._refuse(call_id, stranger())
            return
        task = asyncio.create_task(self._run_handler(call_id, request))
        self.tasks.add(task)
        self._handling[call_id] = task
        task.add_done_callback(self.tasks.discard)
        task.add_done_callback(lambda _: self._done(call_id, lease))

    def _lease(self, call_id: bytes, peer: bytes, num_bytes: int) -> Lease | None:
        """Take a call of so many bytes from its sender's budget; if that is spent, refuse it and return None."""
        lease = self._budgets.request(_peer_id(peer), num_bytes, _now())
        if isinstance(lease, Lease):
            return lease
        if lease is Refused.THROW_OUT:
            self._connections.throw_out(peer)
        else:
            self._refuse(call_id, _beyond_budget())
        return None

    def _refuse(self, call_id: bytes, error: RemoteError) -> None:
        response = pb.CallUnaryResponse(error=encode_refusal(error))
        self._send(pb.PersistentConnectionRequest(callId=call_id, unaryResponse=response))

    def _done(self, call_id: bytes, lease: Lease) -> None:
        self._handling.pop(call_id, None)
        self._budgets.end(lease)

    async def _run_handler(self, call_id: bytes, request: pb.CallUnaryRequest) -> None:
        handler, refuse = self._handlers.get(request.proto, (_unknown_call, encode_refusal))
        caller = _peer_id(request.peer)
        try:
            if request.proto == PRESENT and self._budgets.is_stranger(caller):
                body = await self._hear_stranger(request.data, caller, handler)
            else:
                body = await handler(request.data, caller)
            if len(body) > MAX_UNARY_BODY_BYTES:
                raise RemoteError(Code.TOO_LONG, "the answer is above the limit of 4 MiB; use the stream call")
            await self._uploads.wait(len(body))
            response = pb.CallUnaryResponse(response=body)
        except RemoteError as error:
            response = pb.CallUnaryResponse(error=refuse(error))
        except Exception as error:
            _log_failure(self._budgets, caller, request.proto, error)
            response = pb.CallUnaryResponse(error=refuse(_internal()))
        self._send(pb.PersistentConnectionRequest(callId=call_id, unaryResponse=response))

    async def _hear_stranger(self, body: bytes, caller: PeerId, handler: UnaryHandler) -> bytes:
        """Hear a presentation: a few at a time from one address, and each for a moment only. Raises RemoteError."""
        try:
            async with asyncio.timeout(_PRESENT_S):
                lease = self._budgets.present(await self._origins.of(caller), len(body), _now())
                if not isinstance(lease, Lease):
                    raise _beyond_budget()
                try:
                    return await handler(body, caller)
                finally:
                    self._budgets.end(lease)
        except TimeoutError:
            raise RemoteError(Code.BUSY, "this took too long; try again", retry_after_s=_RETRY_S) from None

    def _send(self, message: pb.PersistentConnectionRequest) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(_delimited(message.SerializeToString()))


async def _find_nobody(peer: PeerId) -> NoReturn:
    raise RemoteError(Code.UNREACHABLE, "nobody knows where the peer is")


async def _refuse_unknown(stream: object, caller: PeerId) -> NoReturn:
    raise RemoteError(Code.NOT_SERVED, "unknown protocol")


async def _unknown_call(body: bytes, caller: PeerId) -> NoReturn:
    raise RemoteError(Code.NOT_SERVED, "unknown protocol")


def _beyond_budget() -> RemoteError:
    return RemoteError(Code.BUSY, "too many requests or streams at a time", retry_after_s=_RETRY_S)


def _log_failure(budgets: Budgets, caller: PeerId, name: str, error: Exception) -> None:
    """Log one line, as often as the caller's budget allows; the traceback is for those who debug."""
    if budgets.may_log(caller, _now()):
        log.warning(
            "a handler of %s failed: %r", name, error, exc_info=error if log.isEnabledFor(logging.DEBUG) else None
        )


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _refuse_stranger(stream: object, caller: PeerId) -> NoReturn:
    raise stranger()


def stranger() -> RemoteError:
    """Return the refusal for whoever has not presented itself."""
    return RemoteError(Code.NOT_A_MEMBER, "this node does not know you; present yourself first")


@contextlib.asynccontextmanager
async def within(timeout_s: float) -> AsyncIterator[None]:
    """Raise RemoteError UNREACHABLE when the time is over."""
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as error:
        raise RemoteError(Code.UNREACHABLE, f"no answer within {timeout_s:g} s") from error


def _failure(text: str) -> RemoteError:
    """Return p2pd's reason for a call or stream that did not begin; a peer without that protocol has answered."""
    return RemoteError(Code.NOT_SERVED if _UNKNOWN_PROTOCOL in text else Code.UNREACHABLE, text)


def _internal() -> RemoteError:
    return RemoteError(Code.INTERNAL, "the peer failed; its log has the reason")


def _checked(body: bytes) -> pb.Response:
    response = pb.Response.FromString(body)
    if response.type == pb.Response.ERROR:
        raise NetworkError(response.error.msg[:300])
    return response


def _delimited(body: bytes) -> bytes:
    return encode_varint(len(body)) + body


@lru_cache(maxsize=4096)
def _peer_id(raw: bytes) -> PeerId:
    return PeerId(base58_encode(raw))


def _raw_peer(peer: PeerId) -> bytes:
    try:
        return base58_decode(peer)
    except ValueError as error:
        raise RemoteError(Code.UNREACHABLE, str(error)) from error


def _whole_seconds(timeout_s: float) -> int:
    return max(1, int(timeout_s))
