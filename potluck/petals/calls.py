"""Petals' forward and backward calls and their answers: whole in one unary message, or cut into parts on a stream."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from torch import Tensor

from potluck.p2p.network import Host
from potluck.petals import names
from potluck.petals.envelopes import Envelope, RawTensor, read_envelope, write_envelope
from potluck.petals.metadata import THREE_TENSORS, TWO_TENSORS, arguments, pack, read_metadata
from potluck.petals.names import block_uids, read_uids
from potluck.petals.tensors import EMPTY_FLOATS, float_tensor, is_empty, to_raw
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import BackwardRequest, Caller, ForwardRequest, TensorReply
from potluck.protocol.values import Buffer
from potluck.wire.calls import CallRequest, reply_shapes
from potluck.wire.errors import WireError, refusing
from potluck.wire.message import MAX_FIELD_BYTES, Limits
from potluck.wire.tensors import hidden_shape, prompts_shape

STREAM_ABOVE_BYTES: Final = 1 << 20
"""Raw bytes of all tensors of a request above which Petals' clients take the stream variant."""
PART_BYTES: Final = 4 << 20
"""Most bytes of a tensor in one part."""
MAX_UNARY_BYTES: Final = (4 << 20) - 1024
"""A unary envelope holds 4 MiB; a larger answer is never sent and the caller waits in vain. The rest is for the
envelope's own fields."""
_MAX_SPLIT_TENSORS: Final = 4


def fits_unary(request: CallRequest) -> bool:
    """Return whether the request goes in one unary call; otherwise take the stream variant and `split`."""
    tensors = (request.hidden, request.prompts, getattr(request, "grad", None))
    return sum(tensor.nbytes for tensor in tensors if tensor is not None) <= STREAM_ABOVE_BYTES


def request_envelope(request: CallRequest) -> Envelope:
    prompts = EMPTY_FLOATS if request.prompts is None else to_raw(request.prompts)
    if isinstance(request, BackwardRequest):
        tensors, structure = [to_raw(request.hidden), to_raw(request.grad), prompts], THREE_TENSORS
    else:
        tensors, structure = [to_raw(request.hidden), prompts], TWO_TENSORS
    metadata = {"points": 0.0, "active_adapter": request.caller.adapter, "args_structure": structure}
    return Envelope(block_uids(request.prefix, request.span), tensors, pack(metadata))


def reply_envelope(reply: TensorReply) -> Envelope:
    return Envelope("", [to_raw(tensor) for tensor in reply.tensors])


def whole(envelope: Envelope) -> bytes:
    """Return one unary message; raises RemoteError TOO_LONG if it does not fit."""
    pieces = write_envelope(envelope)
    total = sum(map(len, pieces))
    if total > MAX_UNARY_BYTES:
        text = f"{total} bytes in a unary message, at most {MAX_UNARY_BYTES}; use the stream call"
        raise RemoteError(Code.TOO_LONG, text)
    return b"".join(pieces)


def split(envelope: Envelope) -> Iterator[tuple[Buffer, ...]]:
    """Yield the messages of a stream variant, each in pieces."""
    for raw in envelope.tensors:
        chunks = -(-len(raw.buffer) // PART_BYTES)
        buffer = memoryview(raw.buffer)
        part = RawTensor(raw.size, raw.dtype, raw.compression, chunks, buffer[:PART_BYTES])
        yield write_envelope(Envelope(envelope.uid, [part], envelope.metadata))
        for start in range(PART_BYTES, len(buffer), PART_BYTES):
            part = RawTensor(buffer=buffer[start : start + PART_BYTES])
            yield write_envelope(Envelope(envelope.uid, [part], envelope.metadata))


@refusing(Code.BAD_REQUEST)
def read_target(envelope: Envelope, limits: Limits) -> tuple[str, Span, Caller]:
    """Return prefix, blocks and caller, known from the first part on. Raises RemoteError."""
    prefix, span = read_uids(envelope.uid, num_blocks=limits.num_blocks)
    return prefix, span, read_metadata(envelope).caller


@refusing(Code.BAD_REQUEST)
def decode_request(body: Buffer, *, is_backward: bool, limits: Limits) -> CallRequest:
    """Read a unary request. Raises RemoteError BAD_REQUEST or TOO_LONG."""
    return read_call(read_request(body, limits), is_backward=is_backward, limits=limits)


@refusing(Code.BAD_REQUEST)
def read_call(envelope: Envelope, *, is_backward: bool, limits: Limits) -> CallRequest:
    """Read a joined request. Raises RemoteError BAD_REQUEST or TOO_LONG."""
    prefix, span = read_uids(envelope.uid, num_blocks=limits.num_blocks)
    metadata = read_metadata(envelope)
    raw_hidden, *raw_grad, raw_prompts = arguments(envelope, metadata, 3 if is_backward else 2)
    hidden = read_hidden(raw_hidden, limits)
    prompts = read_prompts(raw_prompts, hidden, num_blocks=len(span), limits=limits)
    if not raw_grad:
        return ForwardRequest(prefix, span, hidden, prompts, metadata.caller)
    grad = float_tensor(raw_grad[0], tuple(hidden.shape))
    return BackwardRequest(prefix, span, hidden, grad, prompts, metadata.caller)


@refusing(Code.BAD_REPLY)
def decode_reply(body: Buffer, request: CallRequest) -> TensorReply:
    """Read a unary answer to `request`. Raises RemoteError BAD_REPLY."""
    return read_reply(read_envelope(body), request)


@refusing(Code.BAD_REPLY)
def read_reply(envelope: Envelope, request: CallRequest) -> TensorReply:
    """Read a joined answer to `request`. Raises RemoteError BAD_REPLY."""
    shapes = reply_shapes(request)
    if len(envelope.tensors) != len(shapes):
        raise WireError(f"an answer of {len(envelope.tensors)} tensors, expected {len(shapes)}")
    rows = request.hidden.shape[0]
    return TensorReply(tuple(map(_read_like, envelope.tensors, shapes, [rows] * len(shapes))))


def most_reply_bytes(request: CallRequest) -> int:
    """Return what the answer has at most: float64, and the gradient of broadcast prompts once a row."""
    rows = request.hidden.shape[0]
    return sum(8 * math.prod(shape) * (rows if len(shape) == 4 else 1) for shape in reply_shapes(request))


@dataclass(slots=True)
class PartsOfCall:
    """The parts of a split message, put together within a limit of bytes. `code` is that of its refusals."""

    max_bytes: int
    code: Code
    joined: Envelope = field(default_factory=Envelope)
    num_bytes: int = 0  # bytes that have come

    def add(self, body: Buffer) -> None:
        """Add the next part. Raises RemoteError (the joiner is of no use afterwards)."""
        try:
            self._add(read_envelope(body))
        except WireError as error:
            raise RemoteError(error.code or self.code, str(error)) from None

    def _add(self, part: Envelope) -> None:
        if not self.joined.tensors:
            self.joined = Envelope(part.uid, [], bytes(part.metadata))
        elif part.uid != self.joined.uid:
            raise WireError("the parts of a stream name different blocks")
        if not part.tensors:
            raise WireError("a part without a tensor")
        for raw in part.tensors:
            self.num_bytes += len(raw.buffer)
            if self.num_bytes > self.max_bytes:
                raise WireError(f"more than {self.max_bytes} bytes in all parts together", Code.TOO_LONG)
            _append(raw, self.joined.tensors)


def _append(raw: RawTensor, tensors: list[RawTensor]) -> None:
    if raw.dtype:
        if len(tensors) == _MAX_SPLIT_TENSORS:
            raise WireError("too many tensors")
        tensors.append(RawTensor(raw.size, raw.dtype, raw.compression, 0, bytearray(raw.buffer)))
        return
    if not tensors or not len(raw.buffer):
        raise WireError("a part that continues nothing")
    growing = tensors[-1].buffer
    assert isinstance(growing, bytearray)
    growing += raw.buffer


def read_request(body: Buffer, limits: Limits) -> Envelope:
    """Parse a request that came in one message; raises WireError."""
    if len(body) > limits.max_frame_bytes:
        raise WireError(f"a message of {len(body)} bytes, at most {limits.max_frame_bytes} allowed", Code.TOO_LONG)
    return read_envelope(body)


def read_hidden(raw: RawTensor, limits: Limits) -> Tensor:
    """Decode hidden states within the limits; raises WireError."""
    return float_tensor(raw, hidden_shape(raw.size, limits))


def read_prompts(raw: RawTensor, hidden: Tensor, *, num_blocks: int | None, limits: Limits) -> Tensor | None:
    """Decode deep prompts, None for a placeholder; raises WireError."""
    if is_empty(raw):
        return None
    return float_tensor(raw, prompts_shape(raw.size, hidden, num_blocks=num_blocks, limits=limits))


def _read_like(raw: RawTensor, shape: tuple[int, ...], rows: int) -> Tensor:
    """Decode a tensor of this shape.

    Petals gives the gradient of prompts that are broadcast over the batch once a row: it is summed here.
    """
    if len(shape) == 4 and shape[1] == 1 and raw.size[1:2] == (rows,):
        return float_tensor(raw, (shape[0], rows, *shape[2:])).sum(1, keepdim=True)
    return float_tensor(raw, shape)


async def call(host: Host, peer: PeerId, request: CallRequest, *, timeout_s: float) -> TensorReply:
    """Compute a call at a server that runs Petals. Raises RemoteError."""
    is_backward, envelope = isinstance(request, BackwardRequest), request_envelope(request)
    if fits_unary(request):
        protocol = names.BACKWARD if is_backward else names.FORWARD
        return decode_reply(await host.call(peer, protocol, whole(envelope), timeout_s=timeout_s), request)
    protocol = names.BACKWARD_STREAM if is_backward else names.FORWARD_STREAM
    most = most_reply_bytes(request)
    parts = PartsOfCall(most, Code.BAD_REPLY)
    stream = await host.open_stream(peer, protocol, timeout_s=timeout_s, max_frame_bytes=most + MAX_FIELD_BYTES)
    try:
        for part in split(envelope):
            await stream.send(*part)
        await stream.end()
        while (body := await stream.receive()) is not None:
            parts.add(body)
    finally:
        await stream.close()
    return read_reply(parts.joined, request)
