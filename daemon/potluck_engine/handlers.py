"""The stateless calls, and the table of everything an engine answers.

Decodes, checks who asks for what, hands over to the call thread, encodes. Failures are RemoteErrors, which the host
sends; anything else is a fault of ours, which the host answers as INTERNAL and logs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from potluck import wire
from potluck.p2p.network import Host, Stream
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import BackwardRequest, Caller, ForwardRequest, ServerInfo, TensorReply
from potluck_engine.compute.call_scheduler import Pieces, Priority
from potluck_engine.in_thread import in_thread_if_large
from potluck_engine.inference import InferenceHandler
from potluck_engine.quotes import quote
from potluck_engine.span_state import SpanState

_NOBODY = Caller()
_MAX_STREAM_CALLS = 16  # forward and backward streams at a time: each may hold one whole message
_MAX_CHECKS = 4  # pings for others at a time
_CHECK_TIMEOUT_S = 5.0  # what stock servers allow


@dataclass(slots=True)
class Handlers:
    """All calls of one engine."""

    state: SpanState
    host: Host
    version: str
    _stream_calls: int = field(default=0, init=False)
    _checks: int = field(default=0, init=False)

    async def register(self) -> None:
        """Make the host answer; from now on calls may come."""
        host, frame = self.host, self.state.wire_limits.max_frame_bytes
        await host.serve_unary(wire.INFO, self.info)
        await host.serve_unary(wire.FORWARD, self.forward)
        await host.serve_unary(wire.BACKWARD, self.backward)
        await host.serve_unary(wire.PUSH, self.push)
        await host.serve_unary(wire.CHECK, self.check_reachability)
        await host.serve_unary(wire.QUOTE, self.quote)
        await host.serve_unary(wire.SETTLE, self.settle)
        await host.serve_stream(wire.FORWARD_STREAM, self.forward_stream, max_frame_bytes=frame)
        await host.serve_stream(wire.BACKWARD_STREAM, self.backward_stream, max_frame_bytes=frame)
        await host.serve_stream(wire.INFERENCE, self.inference, max_frame_bytes=frame)

    async def info(self, body: bytes, _: PeerId) -> bytes:
        """Open to everybody: it says nothing that the directory does not."""
        state = self.state
        uid = wire.decode_info_request(body)
        if uid:
            state.admission.check_served(*wire.parse_uids(uid, num_blocks=state.wire_limits.num_blocks))
        info = ServerInfo(
            version=self.version,
            dht_client_mode=False,
            cache_tokens_available=state.free_tokens * len(state.blocks.span),
            hidden_size=state.blocks.hidden_size,
            dtype=str(state.blocks.dtype).removeprefix("torch."),
            max_batch_tokens=state.limits.max_batch_tokens,
            max_length=state.limits.max_length,
        )
        return wire.encode_info(info, with_schema=bool(uid))

    async def forward(self, body: bytes, peer: PeerId) -> bytes:
        limits = self.state.wire_limits
        request = await in_thread_if_large(len(body), lambda: wire.decode_forward(body, limits=limits))
        return await self._answer_unary(request, peer)

    async def backward(self, body: bytes, peer: PeerId) -> bytes:
        limits = self.state.wire_limits
        request = await in_thread_if_large(len(body), lambda: wire.decode_backward(body, limits=limits))
        return await self._answer_unary(request, peer)

    async def forward_stream(self, stream: Stream, peer: PeerId) -> None:
        await self._answer_stream(stream, peer, wire.forward_joiner(self.state.wire_limits))

    async def backward_stream(self, stream: Stream, peer: PeerId) -> None:
        await self._answer_stream(stream, peer, wire.backward_joiner(self.state.wire_limits))

    async def inference(self, stream: Stream, peer: PeerId) -> None:
        await InferenceHandler(self.state)(stream, peer)

    async def push(self, body: bytes, peer: PeerId) -> bytes:
        """A step from the server before; what does not fit is ignored, because the client sends its own copy."""
        limits = self.state.wire_limits
        request = await in_thread_if_large(len(body), lambda: wire.decode_push(body, limits=limits))
        self.state.admission.check_member(request.pusher or _NOBODY, peer)
        session = self.state.sessions.find(request.session_id or "")
        if session is not None and request.step_id is not None:
            session.push(replace(request, pushed=True))
        return wire.EMPTY_REPLY

    async def quote(self, body: bytes, peer: PeerId) -> bytes:
        request = wire.decode_quote_request(body, limits=self.state.wire_limits)
        return wire.encode_quote(quote(self.state, request, peer))

    async def settle(self, body: bytes, peer: PeerId) -> bytes:
        """The last receipt of a session or of some calls, which no later one can carry."""
        return await self.state.tabs.settle(peer, body)

    async def check_reachability(self, body: bytes, _: PeerId) -> bytes:
        """Return whether a peer answers this node.

        Stock servers dial with a fresh process, this one pings over whatever connection there is. So a yes means that
        the peer is alive and that some path leads from here to it, not that its address is open to everybody.
        """
        peer = wire.decode_check_request(body)
        if peer == self.host.peer_id:
            return wire.encode_check_reply(True)
        if self._checks >= _MAX_CHECKS:
            raise RemoteError(Code.BUSY, "too many checks", retry_after_s=_CHECK_TIMEOUT_S)
        self._checks += 1
        try:
            await self.host.ping(peer, timeout_s=_CHECK_TIMEOUT_S)
        except RemoteError:
            return wire.encode_check_reply(False)
        finally:
            self._checks -= 1
        return wire.encode_check_reply(True)

    async def _answer_unary(self, request: ForwardRequest | BackwardRequest, peer: PeerId) -> bytes:
        reply_bytes = request.hidden.numel() * self.state.blocks.dtype.itemsize
        if reply_bytes > 2 * wire.MAX_UNARY_BYTES:  # even as float16 it would not fit: refuse before computing
            raise RemoteError(Code.TOO_LONG, "the answer does not fit a unary message; use the stream call")
        reply = await self._compute(request, peer)
        encode = _encoder(reply, request)
        return await in_thread_if_large(reply_bytes, encode)

    async def _answer_stream(
        self, stream: Stream, peer: PeerId, joiner: wire.PartJoiner[ForwardRequest] | wire.PartJoiner[BackwardRequest]
    ) -> None:
        if self._stream_calls >= _MAX_STREAM_CALLS:
            raise RemoteError(Code.BUSY, f"{_MAX_STREAM_CALLS} streams are open", retry_after_s=1.0)
        self._stream_calls += 1
        limits = self.state.limits
        try:
            async with asyncio.timeout(limits.request_timeout_s):
                is_first = True
                while (part := await stream.receive()) is not None:
                    joiner.add(part)
                    if is_first:  # before a stranger makes us keep the rest
                        claim = joiner.claim(num_blocks=self.state.wire_limits.num_blocks)
                        self.state.admission.check(*claim, peer)
                        is_first = False
            request: ForwardRequest | BackwardRequest = await asyncio.to_thread(joiner.finish)
            reply = await self._compute(request, peer)
            for pieces in wire.split_tensor_reply(reply, compression=request.output_compression):
                async with asyncio.timeout(limits.send_timeout_s):
                    await stream.send(*pieces)
        except TimeoutError:
            raise RemoteError(Code.BAD_REQUEST, "the stream stood still for too long") from None
        finally:
            self._stream_calls -= 1

    async def _compute(self, request: ForwardRequest | BackwardRequest, peer: PeerId) -> TensorReply:
        state = self.state
        adapter = state.admission.check(request.prefix, request.span, request.caller, peer)
        batch, tokens = request.hidden.shape[:2]
        if tokens == 0:
            raise RemoteError(Code.BAD_REQUEST, "hidden states of no tokens")
        tab = state.tabs.tab_of_calls(peer, request.span, request.caller)
        priority, pieces = self._work_of(request, adapter)
        with state.sessions.calling(request.span):
            computed = await state.calls.run(
                priority, pieces, client=peer, tokens=batch * tokens, timeout_s=state.limits.request_timeout_s
            )
        timing = replace(computed.timing, cache_tokens_left=state.free_tokens)
        state.tabs.note(tab, batch * tokens, is_backward=priority is Priority.BACKWARD)
        timing = state.tabs.say(tab, timing, is_named=tab.seq > 0)  # once it signs: answers of calls may be lost
        return TensorReply(computed.value, timing)

    def _work_of(self, request: ForwardRequest | BackwardRequest, adapter: str | None) -> tuple[Priority, Pieces]:
        blocks, span, hidden, prompts = self.state.call_blocks, request.span, request.hidden, request.prompts
        if isinstance(request, ForwardRequest):
            return Priority.FORWARD, lambda: blocks.adapted(adapter, blocks.forward(span, hidden, prompts))
        grad = request.grad
        return Priority.BACKWARD, lambda: blocks.adapted(adapter, blocks.backward(span, hidden, grad, prompts))


def _encoder(reply: TensorReply, request: ForwardRequest | BackwardRequest) -> Callable[[], bytes]:
    return lambda: wire.encode_tensor_reply(reply, compression=request.output_compression)
