"""The lasting connection to p2pd over which unary calls of both directions run.

hivemind has a client for it, which holds calls for ever when p2pd dies, may stop reading after a cancelled call and
leaks an entry a cancelled request; this one answers every call, bounds every wait and parses whole messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from typing import Any, cast

from hivemind.proto import p2pd_pb2 as pb

from potluck.errors import NetworkError
from potluck.membership.budgets import Lease
from potluck.membership.gate import OpenGate
from potluck.membership.presentation import MAX_PRESENTATION_BYTES
from potluck.p2p.encoding import PEEK_BYTES, decode_varint, delimited, peek_request, peer_id
from potluck.p2p.network import MAX_UNARY_BODY_BYTES
from potluck.p2p.reception import Handler, Reception, Terms
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.tasks import start_task
from potluck.wire.errors import decode_refusal, encode_refusal

_WHOLE_BYTES = 2 * MAX_PRESENTATION_BYTES  # a message above it is not kept before it is known who calls
_CALL_ID_BYTES = 16
_UNKNOWN_PROTOCOL = "protocols not supported"  # p2pd's words


class UnaryConnection(asyncio.Protocol):
    """The connection for calls to peers and from them. `ready` is done when p2pd agreed."""

    def __init__(self, terms: Terms, reception: Reception) -> None:
        self._uploads, self._budgets = terms.uploads, terms.budgets
        self._accepts_plain_text = isinstance(terms.gate, OpenGate)
        self._reception = reception
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.handling: dict[bytes, asyncio.Task[None]] = {}
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._skipped_bytes = 0  # still to come of a message that nobody reads
        self._calls: dict[bytes, asyncio.Future[bytes]] = {}

    async def call(self, peer: bytes, protocol: str, body: bytes, timeout_s: float) -> bytes:
        if len(body) > MAX_UNARY_BODY_BYTES:
            raise RemoteError(Code.TOO_LONG, f"a call of {len(body)} bytes is above the limit of 4 MiB")
        request = pb.PersistentConnectionRequest(callUnary=pb.CallUnaryRequest(peer=peer, proto=protocol, data=body))
        await self._uploads.wait(len(body))
        return await self._request(request, timeout_s)

    async def offer(self, protocol: str, timeout_s: float) -> None:
        """Register a protocol, so that peers can call it. Raises RemoteError."""
        add = pb.AddUnaryHandlerRequest(proto=protocol, balanced=False)
        await self._request(pb.PersistentConnectionRequest(addUnaryHandler=add), timeout_s)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance
        self._transport.write(delimited(pb.Request(type=pb.Request.PERSISTENT_CONN_UPGRADE).SerializeToString()))

    def connection_lost(self, error: Exception | None) -> None:
        gone = RemoteError(Code.UNREACHABLE, "the peer-to-peer process is gone")
        waiting: list[asyncio.Future[Any]] = [*self._calls.values(), self.ready]
        for future in waiting:
            if not future.done():
                future.set_exception(gone)
                future.exception()  # nobody may be waiting for it any more
        self._calls.clear()
        for task in self.handling.values():
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
        if request is None or size <= self._budgets.max_request_bytes(peer_id(request.peer)):
            return False
        self._admit(request.call_id, request.peer, size)
        return True

    def _on_message(self, body: bytes) -> None:
        if not self.ready.done():
            try:
                checked_response(body)
                self.ready.set_result(None)
            except NetworkError as error:
                self.ready.set_exception(error)
            return
        message = pb.PersistentConnectionResponse.FromString(body)
        kind = message.WhichOneof("message")
        if kind == "requestHandling":
            self._handle(message.callId, message.requestHandling)
        elif kind == "cancel":
            if message.callId in self.handling:
                self.handling[message.callId].cancel()
        else:
            self._on_answer(message, kind)

    def _on_answer(self, message: pb.PersistentConnectionResponse, kind: str | None) -> None:
        future = self._calls.get(message.callId)
        if future is None or future.done():
            return
        if kind == "daemonError":
            future.set_exception(call_failure(message.daemonError.message[:300]))
        elif kind == "callUnaryResponse" and message.callUnaryResponse.WhichOneof("result") == "error":
            refusal = message.callUnaryResponse.error
            future.set_exception(decode_refusal(refusal, may_be_plain_text=self._accepts_plain_text))
        else:
            future.set_result(message.callUnaryResponse.response)

    async def _request(self, request: pb.PersistentConnectionRequest, timeout_s: float) -> bytes:
        if self._transport is None or self._transport.is_closing():
            raise RemoteError(Code.UNREACHABLE, "the peer-to-peer process is gone")
        request.callId = os.urandom(_CALL_ID_BYTES)
        future = self._calls[request.callId] = asyncio.get_running_loop().create_future()
        self._send(request)
        async with in_time(timeout_s):
            try:
                return cast(bytes, await future)
            except asyncio.CancelledError:
                self._send(pb.PersistentConnectionRequest(callId=request.callId, cancel=pb.Cancel()))
                raise
            finally:
                self._calls.pop(request.callId, None)

    def _handle(self, call_id: bytes, request: pb.CallUnaryRequest) -> None:
        lease = self._admit(call_id, request.peer, len(request.data))
        if lease is not None:
            task = self.handling[call_id] = start_task(self._answer(call_id, request))
            task.add_done_callback(lambda _: self._done(call_id, lease))

    def _admit(self, call_id: bytes, peer: bytes, num_bytes: int) -> Lease | None:
        """Charge a call of so many bytes to its sender's budget; if that is spent, refuse it and return None."""
        lease = self._reception.admit(peer, num_bytes)
        if isinstance(lease, RemoteError):
            self._respond(call_id, error=encode_refusal(lease))
        return lease if isinstance(lease, Lease) else None

    def _done(self, call_id: bytes, lease: Lease) -> None:
        self.handling.pop(call_id, None)
        self._budgets.end(lease)

    async def _answer(self, call_id: bytes, request: pb.CallUnaryRequest) -> None:
        caller = peer_id(request.peer)
        handler = self._reception.handler(caller, request.proto)
        answer = await self._reception.outcome(self._run(handler, request.data, caller), caller, request.proto)
        if isinstance(answer, RemoteError):
            self._respond(call_id, error=handler.refuse(answer))
        else:
            self._respond(call_id, response=answer)

    async def _run(self, handler: Handler, body: bytes, caller: PeerId) -> bytes:
        answer: bytes = await handler.run(body, caller)
        if len(answer) > MAX_UNARY_BODY_BYTES:
            raise RemoteError(Code.TOO_LONG, "the answer is above the limit of 4 MiB; use the stream call")
        await self._uploads.wait(len(answer))
        return answer

    def _respond(self, call_id: bytes, **result: bytes) -> None:
        response = pb.CallUnaryResponse(**result)
        self._send(pb.PersistentConnectionRequest(callId=call_id, unaryResponse=response))

    def _send(self, message: pb.PersistentConnectionRequest) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(delimited(message.SerializeToString()))


def checked_response(body: bytes) -> pb.Response:
    """Return p2pd's answer. Raises NetworkError if it refuses."""
    response = pb.Response.FromString(body)
    if response.type == pb.Response.ERROR:
        raise NetworkError(response.error.msg[:300])
    return response


def call_failure(text: str) -> RemoteError:
    """Return p2pd's reason for a call or stream that did not begin; a peer without that protocol has answered."""
    return RemoteError(Code.NOT_SERVED if _UNKNOWN_PROTOCOL in text else Code.UNREACHABLE, text)


@contextlib.asynccontextmanager
async def in_time(timeout_s: float) -> AsyncIterator[None]:
    """Raise RemoteError UNREACHABLE when the time is over."""
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as error:
        raise RemoteError(Code.UNREACHABLE, f"no answer within {timeout_s:g} s") from error
