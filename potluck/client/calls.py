"""Makes a client's calls: typed requests and replies above, bytes and streams below.

Also tells slow servers from frozen ones: while an answer is late, the client pings the server. An engine answers pings
even while it computes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from potluck.client.config import ClientConfig
from potluck.client.receipts import Unsigned
from potluck.foreign import ForeignPeers, SessionCoding
from potluck.p2p.network import Host, Stream
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller, ForwardRequest, StepReply, StepRequest, TensorReply
from potluck.protocol.records import ServerRecord
from potluck.tasks import BackgroundTasks
from potluck.wire import protocols, sessions
from potluck.wire.calls import CallRequest, ReplyJoiner, encode_call
from potluck.wire.questions import decode_countersigned, encode_receipt

T = TypeVar("T")

_OWN_CODING: SessionCoding = sessions

_MAX_FRAME_BYTES = 512 << 20
"""Bounds the memory that an answer can take; its shape is checked before it is decoded."""


class Calls:
    """Calls servers over `host`; `caller_for` returns what a server is told about this client."""

    def __init__(
        self,
        host: Host,
        config: ClientConfig,
        caller_for: Callable[[ServerRecord, Span], Caller],
        foreign: ForeignPeers | None = None,
    ) -> None:
        self.caller_for = caller_for
        self._foreign = foreign
        self.signer = Unsigned()  # of receipts
        self._host = host
        self._config = config
        self._closing = BackgroundTasks()

    async def open_steps(self, record: ServerRecord) -> StepStream:
        """Open a stream for one session. Raises RemoteError UNREACHABLE."""
        foreign, protocol, coding = self._foreign, protocols.SESSION, _OWN_CODING
        if foreign is not None and not record.is_ours:
            protocol, coding = foreign.session_protocol, foreign.session_coding
        stream = await self._open(record.peer_id, protocol)
        return StepStream(self, record.peer_id, stream, coding)

    async def compute(self, record: ServerRecord, request: CallRequest) -> TensorReply:
        """Run a stateless call at a server. Raises RemoteError."""
        peer = record.peer_id
        if self._foreign is not None and not record.is_ours:
            timeout_s = self._config.request_timeout_s
            return await self.patiently(peer, self._foreign.call(self._host, peer, request, timeout_s=timeout_s))
        protocol = protocols.FORWARD if isinstance(request, ForwardRequest) else protocols.BACKWARD
        stream = await self._open(peer, protocol)
        try:
            return await self.patiently(peer, _exchange(stream, request))
        finally:
            self.close_soon(stream)

    async def settle(self, peer: PeerId, receipt: bytes) -> bytes:
        """Send a receipt by itself and return it countersigned. Raises RemoteError."""
        body = await self._host.call(peer, protocols.SETTLE, encode_receipt(receipt), timeout_s=_SETTLE_TIMEOUT_S)
        return decode_countersigned(body)

    @property
    def silence_before_ping_s(self) -> float:
        return self._config.silence_before_ping_s

    async def patiently(self, peer: PeerId, answer: Awaitable[T], *, is_late: bool = False) -> T:
        """Wait for an answer of `peer` while it answers pings, at most `request_timeout_s`.

        Args:
            is_late: the caller has waited already, so ping at once.

        Raises:
            RemoteError: UNREACHABLE if the peer is silent, or what `answer` raises.
        """
        task = asyncio.ensure_future(answer)
        try:
            async with asyncio.timeout(self._config.request_timeout_s):
                await self._watch(peer, task, 0.0 if is_late else self._config.silence_before_ping_s)
            return task.result()
        except TimeoutError:
            seconds = f"{self._config.request_timeout_s:g}"
            raise RemoteError(Code.UNREACHABLE, f"the server did not answer within {seconds} s") from None
        finally:
            task.cancel()

    def close_soon(self, stream: Stream) -> None:
        """Close a stream in the background."""
        self._closing.start(stream.close())

    async def _watch(self, peer: PeerId, task: asyncio.Future[T], silence_s: float) -> None:
        failed_pings = 0
        while not task.done():
            await asyncio.wait({task}, timeout=silence_s)
            if task.done():
                return
            ping = asyncio.ensure_future(self._host.ping(peer, timeout_s=self._config.ping_timeout_s))
            both: list[asyncio.Future[Any]] = [task, ping]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                ping.add_done_callback(_take_note)
                ping.cancel()
                return
            if ping.exception() is None:
                failed_pings, silence_s = 0, self._config.silence_before_ping_s
                continue
            failed_pings, silence_s = failed_pings + 1, 0.0
            if failed_pings >= self._config.failed_pings_to_give_up:
                raise RemoteError(Code.UNREACHABLE, "the server neither answers nor reacts to pings")

    async def _open(self, peer: PeerId, protocol: str) -> Stream:
        return await self._host.open_stream(
            peer, protocol, timeout_s=self._config.connect_timeout_s, max_frame_bytes=_MAX_FRAME_BYTES
        )


async def _exchange(stream: Stream, request: CallRequest) -> TensorReply:
    for frame in encode_call(request):
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

    async def exchange(self, request: StepRequest) -> StepReply | None:
        """Send a step and wait for its answer; None if the server ended the stream instead.

        Raises:
            RemoteError: the server refused, broke the protocol, or is gone. The stream is of no use afterwards.
        """
        assert request.hidden is not None
        pieces = self._coding.encode_step(request)
        sending = self._stream.send(*pieces)
        try:
            if sum(map(len, pieces)) <= _SMALL_BYTES:
                await sending
            else:  # a frozen server does not read either
                await self._calls.patiently(self._peer, sending)
        except RemoteError as error:
            raise await self._last_word() or error from None
        try:
            body = await self._stream.receive(timeout_s=self._calls.silence_before_ping_s)
        except TimeoutError:
            body = await self._calls.patiently(self._peer, self._stream.receive(), is_late=True)
        if body is None:
            return None
        return self._coding.decode_step_reply(body, like=tuple(request.hidden.shape))

    async def _last_word(self) -> RemoteError | None:
        """Return the error that the server sent before it closed the stream between two steps, if any."""
        try:
            await self._stream.receive(timeout_s=_LAST_WORD_S)
        except RemoteError as said:
            return said if said.code is not Code.UNREACHABLE else None
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


_SETTLE_TIMEOUT_S = 5.0  # nobody should wait long for a goodbye
_SMALL_BYTES = 64 << 10  # goes into the buffers of the connection, whether or not the server reads
_LAST_WORD_S = 0.1  # a message that was sent has arrived already
_CLOSING_S = 2.0  # for the server's side of a goodbye


def _take_note(task: asyncio.Future[float]) -> None:
    if not task.cancelled():
        task.exception()
