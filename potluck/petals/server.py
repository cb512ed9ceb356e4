"""Petals' calls, answered by an engine of ours.

Petals' clients check the schemas in the answer to rpc_info before their first call. ReachabilityProtocol.rpc_check asks
"can you reach this peer?" with the DHT's ping messages: the request names a peer by its raw id, PingRequest {2 peer {1
node_id}}; the answer is PingResponse {5 available}.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from potluck.errors import NetworkError
from potluck.membership.identity import base58_encode
from potluck.p2p.network import Host, Stream, StreamHandler, UnaryHandler
from potluck.petals import names, sessions
from potluck.petals.calls import (
    MAX_UNARY_BYTES,
    PartsOfCall,
    decode_request,
    read_call,
    read_target,
    reply_envelope,
    split,
    whole,
)
from potluck.petals.envelopes import (
    BYTES,
    MAX_CHAIN_BYTES,
    bytes_field,
    read_fields,
    read_text_message,
    varint_field,
    write_bytes_message,
)
from potluck.petals.metadata import pack, tensor_descriptor
from potluck.petals.names import read_uids
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller, ServerInfo, TensorReply
from potluck.protocol.values import Buffer
from potluck.wire.calls import CallCoding, CallRequest
from potluck.wire.errors import WireError, refusing
from potluck.wire.message import Limits
from potluck.wire.sessions import SessionCoding

T = TypeVar("T")

_NOMINAL_SHAPE: Final = (None, 1, 2048)
"""What Petals' servers put before hidden_size; nobody reads it."""


class EngineCalls(Protocol):
    """The calls that the adapter makes to the engine that it serves. All but `limits` may raise RemoteError."""

    @property
    def limits(self) -> Limits: ...

    @property
    def span(self) -> Span: ...

    def describe(self) -> ServerInfo: ...

    def check_served(self, prefix: str, span: Span) -> None: ...

    async def compute(self, request: CallRequest, peer: PeerId) -> TensorReply: ...

    async def answer_call(self, stream: Stream, peer: PeerId, coding: CallCoding) -> None: ...

    async def serve_session(self, stream: Stream, peer: PeerId, coding: SessionCoding) -> None: ...

    async def in_thread_if_large(self, num_bytes: int, code: Callable[[], T]) -> T: ...


@refusing(Code.BAD_REQUEST)
def decode_info_request(body: Buffer, *, num_blocks: int) -> tuple[str, Span] | None:
    """Return prefix and span of the blocks that the request names, or None. Raises RemoteError BAD_REQUEST."""
    uid = read_text_message(body, max_bytes=MAX_CHAIN_BYTES)
    return read_uids(uid, num_blocks=num_blocks) if uid else None


def encode_info(info: ServerInfo, *, num_blocks: int, with_schema: bool) -> bytes:
    """Return the answer to rpc_info.

    Args:
        num_blocks: that the server serves.
        with_schema: whether the request named a block.
    """
    answer: dict[str, object] = {
        "version": info.version,
        "dht_client_mode": False,
        "cache_tokens_available": info.free_tokens * num_blocks,
    }
    if with_schema:
        dtype = f"torch.{info.dtype}"
        hidden = tensor_descriptor((*_NOMINAL_SHAPE, info.hidden_size), dtype)
        prompts, hypo_ids = tensor_descriptor((None,), dtype), tensor_descriptor((None,), "torch.int64")
        answer |= {
            "forward_schema": ((hidden,), {}),
            "outputs_schema": (hidden,),
            "keyword_names": (),
            "inference_schema": ((hidden, prompts, hypo_ids), {}),
        }
    return write_bytes_message(pack(answer))


_MAX_ID_BYTES: Final = 64


@refusing(Code.BAD_REQUEST)
def decode_check_request(body: Buffer) -> PeerId:
    """Return the peer to be checked; raises RemoteError BAD_REQUEST."""
    for number, kind, start, end in read_fields(body, 0, len(body)):
        if number == 2 and kind == BYTES:
            for inner, inner_kind, a, b in read_fields(body, start, end):
                if inner == 1 and inner_kind == BYTES and 0 < b - a <= _MAX_ID_BYTES:
                    return PeerId(base58_encode(bytes(body[a:b])))
    raise WireError("a check without a peer id")


def encode_check_reply(is_reachable: bool) -> bytes:
    return varint_field(5, int(is_reachable))


_MAX_CHECKS = 4  # checks for others at the same time; each is a process for a moment
_CHECK_TIMEOUT_S = 5.0  # what Petals' servers allow
_DTYPE_BYTES = {"float32": 4}  # others have two


@dataclass(slots=True)
class PetalsHandlers:
    """The handlers of the calls of stock clients and servers."""

    host: Host
    engine: EngineCalls
    _checks: int = field(default=0, init=False)

    async def register(self) -> None:
        """Make the host answer."""
        calls = {
            names.INFO: self.info,
            names.PUSH: self.push,
            names.CHECK: self.check_reachability,
            names.FORWARD: self._unary(is_backward=False),
            names.BACKWARD: self._unary(is_backward=True),
        }
        for protocol, call in calls.items():
            await self.host.serve_unary(protocol, call, refuse=_refusal_of_call)
        streams = {
            names.INFERENCE: self.inference,
            names.FORWARD_STREAM: self._streamed(is_backward=False),
            names.BACKWARD_STREAM: self._streamed(is_backward=True),
        }
        frame = self.engine.limits.max_frame_bytes
        for protocol, handler in streams.items():
            await self.host.serve_stream(protocol, handler, max_frame_bytes=frame, refuse=_refusal_on_stream)

    async def info(self, body: bytes, _: PeerId) -> bytes:
        engine = self.engine
        blocks = decode_info_request(body, num_blocks=engine.limits.num_blocks)
        if blocks is not None:
            engine.check_served(*blocks)
        return encode_info(engine.describe(), num_blocks=len(engine.span), with_schema=blocks is not None)

    async def inference(self, stream: Stream, peer: PeerId) -> None:
        await self.engine.serve_session(stream, peer, sessions)

    async def push(self, body: bytes, peer: PeerId) -> bytes:
        """Ignore what another server pushes: the client sends its own copy."""
        return b""

    async def check_reachability(self, body: bytes, caller: PeerId) -> bytes:
        """Return whether a peer answers the same question about itself, and whether strangers can dial it.

        A server that starts serves nothing else yet. It is connected to us, which says nothing about others.
        """
        peer, now = decode_check_request(body), asyncio.get_running_loop().time()
        if peer == self.host.peer_id:
            return encode_check_reply(True)
        if self._checks >= _MAX_CHECKS or not self.host.budgets.may_dial(caller, now):
            raise RemoteError(Code.BUSY, "too many checks", retry_after_s=_CHECK_TIMEOUT_S)
        self._checks += 1
        try:
            answer = await self.host.call(peer, names.CHECK, body, timeout_s=_CHECK_TIMEOUT_S)
            return encode_check_reply(answer == encode_check_reply(True) and await self.host.dial_anew(peer))
        except RemoteError:
            return encode_check_reply(False)
        except NetworkError as error:
            raise RemoteError(Code.BUSY, "no dial can be made now") from error
        finally:
            self._checks -= 1

    def _unary(self, *, is_backward: bool) -> UnaryHandler:
        engine = self.engine

        async def handle(body: bytes, peer: PeerId) -> bytes:
            request = await engine.in_thread_if_large(
                len(body), lambda: decode_request(body, is_backward=is_backward, limits=engine.limits)
            )
            reply_bytes = request.hidden.numel() * _DTYPE_BYTES.get(engine.describe().dtype, 2)
            if reply_bytes > MAX_UNARY_BYTES:  # refuse before computing
                raise RemoteError(Code.TOO_LONG, "the answer does not fit a unary message; use the stream call")
            reply = await engine.compute(request, peer)
            return await engine.in_thread_if_large(reply_bytes, lambda: whole(reply_envelope(reply)))

        return handle

    def _streamed(self, *, is_backward: bool) -> StreamHandler:
        async def handle(stream: Stream, peer: PeerId) -> None:
            await self.engine.answer_call(stream, peer, StreamedCall(self.engine.limits, is_backward=is_backward))

        return handle


class StreamedCall:
    """A call in the parts of Petals' streams; implements `potluck.wire.calls.CallCoding`."""

    def __init__(self, limits: Limits, *, is_backward: bool) -> None:
        self._limits = limits
        self._is_backward = is_backward
        self._parts = PartsOfCall(limits.max_frame_bytes, Code.BAD_REQUEST)

    @property
    def num_bytes(self) -> int:
        return self._parts.num_bytes

    def add(self, frame: Buffer) -> bool:
        """Add the next part; only the end of the caller's side says that it was the last one."""
        self._parts.add(frame)
        return False

    def target(self) -> tuple[str, Span, Caller]:
        return read_target(self._parts.joined, self._limits)

    def request(self) -> CallRequest:
        return read_call(self._parts.joined, is_backward=self._is_backward, limits=self._limits)

    def encode_reply(self, reply: TensorReply) -> Iterator[tuple[Buffer, ...]]:
        return split(reply_envelope(reply))


def _refusal_of_call(error: RemoteError) -> bytes:
    return _text_of(error).encode()


def _refusal_on_stream(error: RemoteError) -> bytes:
    """Return a protobuf `RPCError {optional string message = 1}`."""
    return bytes_field(1, _text_of(error).encode())


def _text_of(error: RemoteError) -> str:
    return f"{error.code}: {error.message}"[:4000]
