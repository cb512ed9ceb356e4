"""Makes a client's calls: typed requests and replies above, bytes and streams below.

While an answer is late, the client pings the server, because an engine answers pings even while it computes. So slow
servers are told from frozen ones.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from msgspec.structs import replace

from potluck.client.config import ClientConfig
from potluck.client.receipts import Signer, Tab
from potluck.client.tuning.own_adapters import AdapterPart
from potluck.foreign import adapter_for
from potluck.p2p.network import Host, Stream
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import (
    AdapterUpload,
    BackwardRequest,
    Caller,
    ForwardRequest,
    Quote,
    QuoteRequest,
    SessionOpening,
    StepReply,
    StepRequest,
    TensorReply,
)
from potluck.protocol.records import LiveServer, ServerRecord
from potluck.protocol.swarm import Swarm
from potluck.routing.experience import Patience
from potluck.routing.route import RouteHop
from potluck.tasks import BackgroundTasks, cancel_and_wait
from potluck.wire import protocols, sessions
from potluck.wire.calls import CallRequest, ReplyJoiner
from potluck.wire.message import decode_reply, encode
from potluck.wire.sessions import SessionCoding
from potluck.wire.tensors import encode_parts

T = TypeVar("T")

_OWN_CODING: SessionCoding = sessions

MAX_FRAME_BYTES = 512 << 20
"""Bounds the memory that an answer can take; its shape is checked before it is decoded."""

_KEPT_UPLOADS = 256  # uploads that the client remembers to have made
_SMALL_BYTES = 64 << 10  # fits into the buffers of the connection, whether or not the server reads
_LAST_WORD_S = 0.1  # wait for a refusal that was sent before the stream ended; it has arrived already
_CLOSING_S = 2.0  # wait for the server's side of a goodbye
_LAST_LOOK_S = 0.05  # time to read answers that arrived while this process was suspended
_QUOTE_TIMEOUT_S = 1.0  # a server that takes longer is not a good choice


class Calls:
    """Calls servers over `host`.

    Args:
        introduce: returns what a server learns about this client.
        parameters: number of parameters of each block, for receipts.
    """

    def __init__(
        self,
        host: Host,
        swarm: Swarm,
        config: ClientConfig,
        introduce: Callable[[ServerRecord, Span], Caller],
        parameters: tuple[int, ...],
    ) -> None:
        self.signer = Signer(host, swarm, parameters, config.record)
        self._introduce = introduce
        self._foreign = adapter_for(swarm)  # speaks to servers of another implementation
        self._host = host
        self._config = config
        self._closing = BackgroundTasks()
        self._uploads: OrderedDict[tuple[PeerId, bytes], None] = OrderedDict()  # adapters at servers
        self._uploading: WeakValueDictionary[tuple[PeerId, bytes], asyncio.Lock] = WeakValueDictionary()

    async def close(self) -> None:
        """Settle all tabs, and wait until the streams are closed. Never raises for what others do."""
        await self.signer.close()
        await self._closing.wait(_CLOSING_S)

    def caller_for(self, record: ServerRecord, span: Span, own: AdapterPart | None = None) -> Caller:
        """Return what a server learns about this client and the adapter that was uploaded to it."""
        return replace(self._introduce(record, span), private=None if own is None else own.id)

    def open_tab(self, part: RouteHop) -> Tab:
        """Return a new tab for one stream to a server."""
        return self.signer.open_tab(part.peer_id, part.span)

    async def open_steps(self, record: ServerRecord) -> StepStream:
        """Open a stream for one session. Raises RemoteError UNREACHABLE."""
        foreign, protocol, coding = self._foreign, protocols.SESSION, _OWN_CODING
        if foreign is not None and not record.is_ours:
            protocol, coding = foreign.session_protocol, foreign.session_coding
        stream = await self._open(record.peer_id, protocol)
        return StepStream(self, record.peer_id, stream, coding)

    async def compute(self, part: RouteHop, request: CallRequest, own: AdapterPart | None = None) -> TensorReply:
        """Run a stateless call through one server's part of a route, and count its work. Raises RemoteError.

        Args:
            request: gets its `caller` here.
            own: an adapter that is uploaded first, unless the server has it.
        """
        record, tab = part.server.record, self.signer.tab_of_calls(part.peer_id, part.span)
        caller = replace(self.caller_for(record, request.span, own), receipt=tab.due())
        reply = await self._compute(record, replace(request, caller=caller), own)
        tokens = request.hidden.shape[0] * request.hidden.shape[1]
        tab.add(tokens, reply.timing, is_backward=isinstance(request, BackwardRequest))
        return reply

    async def _compute(self, record: ServerRecord, request: CallRequest, own: AdapterPart | None) -> TensorReply:
        if self._foreign is not None and not record.is_ours:
            timeout_s = self._config.request_timeout_s
            call = self._foreign.call(self._host, record.peer_id, request, timeout_s=timeout_s)
            return await self.wait_for(record.peer_id, call)
        protocol = protocols.FORWARD if isinstance(request, ForwardRequest) else protocols.BACKWARD
        try:
            if own is not None:
                await self.upload_adapter(record, request, own)
            return await self._exchange(record.peer_id, protocol, lambda stream: exchange(stream, request))
        except RemoteError as error:
            if own is not None and error.code is Code.NO_ADAPTER:
                self.forget_upload(record, own.id.digest)
            raise

    async def _exchange(self, peer: PeerId, protocol: str, talk: Callable[[Stream], Coroutine[Any, Any, T]]) -> T:
        """Open a stream to a server for `talk` alone, and return what that returns."""
        stream = await self._open(peer, protocol)
        try:
            return await self.wait_for(peer, talk(stream))
        finally:
            self.close_soon(stream)

    async def upload_adapter(
        self, record: ServerRecord, request: CallRequest | SessionOpening, part: AdapterPart
    ) -> None:
        """Upload the adapter that a request needs, unless the server has it. Raises RemoteError."""
        key = record.peer_id, part.id.digest
        async with self._uploading.setdefault(
            key, asyncio.Lock()
        ):  # the next one uploads if the first one is cancelled
            if key in self._uploads:
                return
            caller = self.caller_for(record, request.span, part)
            upload = AdapterUpload(request.prefix, request.span, part.layout, part.values, caller)
            await self._exchange(record.peer_id, protocols.ADAPTER, lambda stream: _send_upload(stream, upload))
            self._uploads[key] = None
            while len(self._uploads) > _KEPT_UPLOADS:
                self._uploads.popitem(last=False)

    def forget_upload(self, record: ServerRecord, digest: bytes) -> None:
        """Upload an adapter again before the next call, because the server has forgotten it."""
        self._uploads.pop((record.peer_id, digest), None)

    @property
    def patience(self) -> Patience:
        """Return the longest silence of a server."""
        return self._config.patience

    async def wait_for(
        self, peer: PeerId, answer: Awaitable[T], patience: Patience | None = None, *, is_late: bool = False
    ) -> T:
        """Wait for an answer of `peer` while it answers pings, at most `request_timeout_s`.

        Args:
            patience: None takes the configuration's.
            is_late: the caller has waited already, so ping at once.

        Raises:
            RemoteError: UNREACHABLE if the peer is silent, or what `answer` raises.
        """
        patience = patience or self._config.patience
        task = asyncio.ensure_future(answer)
        try:
            async with asyncio.timeout(self._config.request_timeout_s):
                await asyncio.wait({task}, timeout=0.0 if is_late else patience.silence_s)
                while not task.done():
                    if not await self._answers_pings(peer, task, patience):
                        raise RemoteError(Code.UNREACHABLE, "the server neither answers nor reacts to pings")
                    await asyncio.wait({task}, timeout=patience.silence_s)
            return task.result()
        except TimeoutError:
            seconds = f"{self._config.request_timeout_s:g}"
            raise RemoteError(Code.UNREACHABLE, f"the server did not answer within {seconds} s") from None
        finally:
            await cancel_and_wait(task)

    def close_soon(self, stream: Stream) -> None:
        """Close a stream in the background."""
        self._closing.start(stream.close())

    async def _answers_pings(self, peer: PeerId, task: asyncio.Future[T], patience: Patience) -> bool:
        """Ping a few times; return whether the call is done or any ping was answered."""
        pings: list[asyncio.Future[float]] = []
        try:
            for is_last in (*[False] * patience.probes, True):
                if not is_last:
                    ping = self._host.ping(peer, timeout_s=patience.probe_s * (patience.probes + 1))
                    pings.append(asyncio.ensure_future(ping))
                waiting: list[asyncio.Future[Any]] = [task, *(ping for ping in pings if not ping.done())]
                pause_s = _LAST_LOOK_S if is_last else patience.probe_s
                await asyncio.wait(waiting, timeout=pause_s, return_when=asyncio.FIRST_COMPLETED)
                if task.done() or any(ping.done() and ping.exception() is None for ping in pings):
                    return True
            return False
        finally:
            await cancel_and_wait(*pings)

    async def _open(self, peer: PeerId, protocol: str) -> Stream:
        return await self._host.open_stream(
            peer, protocol, timeout_s=self._config.connect_timeout_s, max_frame_bytes=MAX_FRAME_BYTES
        )


async def fetch_quote(host: Host, server: LiveServer, request: QuoteRequest) -> LiveServer:
    """Return a server with its present load. Raises RemoteError: UNREACHABLE, or why it refuses such a session."""
    quote = decode_reply(
        await host.call(server.peer_id, protocols.QUOTE, encode(request), timeout_s=_QUOTE_TIMEOUT_S), Quote
    )
    heartbeat = replace(
        server.heartbeat,
        batch=quote.batch,
        step_ms=quote.step_ms,
        queue_ms=quote.queue_ms,
        cache_tokens_left=quote.free_tokens,
        queued_tokens=0,
    )
    return LiveServer(server.record, heartbeat)


async def _send_upload(stream: Stream, upload: AdapterUpload) -> None:
    for frame in encode_parts(upload):
        await stream.send(*frame)
    if await stream.receive() is None:
        raise RemoteError(Code.UNREACHABLE, "the server closed the stream before it had the adapter")


async def exchange(stream: Stream, request: CallRequest) -> TensorReply:
    """Send a stateless call over a new stream and return the answer. Raises RemoteError."""
    for frame in encode_parts(request):
        await stream.send(*frame)
    joiner = ReplyJoiner(request)
    while (body := await stream.receive()) is not None:
        if joiner.add(body):
            return joiner.reply()
    raise RemoteError(Code.UNREACHABLE, "the server closed the stream before its answer was whole")


class StepStream:
    """The stream of one session at one server."""

    def __init__(self, calls: Calls, peer: PeerId, stream: Stream, coding: SessionCoding) -> None:
        self._calls = calls
        self._peer = peer
        self._stream = stream
        self._coding = coding

    async def send(self, request: StepRequest, *, has_reader: bool = False) -> None:
        """Send a step. Raises RemoteError: the server refused or is gone, and the stream is of no use afterwards.

        Args:
            has_reader: another task reads the answers, and so why the server refused.
        """
        pieces = self._coding.encode_step(request)
        try:
            if sum(map(len, pieces)) > _SMALL_BYTES:  # a frozen server does not read either
                await self._calls.wait_for(self._peer, self._stream.send(*pieces))
            elif not self._stream.send_now(*pieces):
                await self._stream.send(*pieces)
        except RemoteError as error:
            refusal = None if has_reader else await self._refusal()
            raise refusal or error from None

    async def answer(
        self,
        like: tuple[int, ...],
        patience: Patience,
        is_replaceable: Callable[[], bool],
        on_late: Callable[[], Awaitable[None]] | None = None,
        *,
        answer_tokens: int | None = None,
    ) -> StepReply | None:
        """Wait for the answer of a step; None if the server ended the stream instead.

        Args:
            like: shape of the hidden states.
            patience: how long this server may be silent before the client pings it.
            is_replaceable: tells, when the answer is late, whether another server could take over. If none can, the
                configuration's patience holds.
            on_late: called once when the answer is late. May raise RemoteError.
            answer_tokens: as in the request.

        Raises:
            RemoteError: the server refused, broke the protocol, or is gone. The stream is of no use afterwards.
        """
        try:
            body = await self._stream.receive(timeout_s=patience.silence_s)
        except TimeoutError:
            if on_late is not None:
                await on_late()
            probing = patience if is_replaceable() else None
            body = await self._calls.wait_for(self._peer, self._stream.receive(), probing, is_late=True)
        if body is None:
            return None
        return self._coding.decode_step_reply(body, like=like, answer_tokens=answer_tokens)

    async def _refusal(self) -> RemoteError | None:
        """Return the error that the server sent before it closed the stream between two steps, if it did."""
        try:
            await self._stream.receive(timeout_s=_LAST_WORD_S)
        except RemoteError as error:
            return error if error.code is not Code.UNREACHABLE else None
        except TimeoutError:
            pass
        return None

    async def finish(self) -> None:
        """End the session with a message that frees the server's cache at once. Never raises."""
        try:
            async with asyncio.timeout(_CLOSING_S):
                await self._stream.send(*self._coding.encode_step(StepRequest(hidden=None)))
                await self._stream.end()
                while await self._stream.receive() is not None:
                    pass
        except (RemoteError, TimeoutError):
            pass
        await self._stream.close()

    def drop(self) -> None:
        """Close the stream without a message and without waiting."""
        self._calls.close_soon(self._stream)
