"""Forward and backward calls and their answers: whole in one unary message, or cut into parts on a stream.

The sizes below are the stock wire's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Generic, TypeVar

from torch import Tensor

from potluck.protocol.blocks import Span
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import BackwardRequest, Caller, ForwardRequest, TensorReply
from potluck.wire.envelopes import Envelope, RawTensor, read_envelope, write_envelope
from potluck.wire.errors import WireError, refusing
from potluck.wire.hidden import read_hidden, read_prompts, read_request
from potluck.wire.limits import Limits
from potluck.wire.metadata import (
    OURS,
    THREE_TENSORS,
    TWO_TENSORS,
    arguments,
    caller_fields,
    pack_timing,
    read_caller,
    read_metadata,
    read_output_compression,
    read_timing,
)
from potluck.wire.packing import pack
from potluck.wire.tensors import EMPTY_FLOATS, Compression, float_tensor, to_raw
from potluck.wire.uids import block_uids, read_uids

STREAM_ABOVE_BYTES: Final = 1 << 20
"""Raw bytes of all tensors of a request above which stock clients take the stream variant."""
PART_BYTES: Final = 4 << 20
"""Most bytes of a tensor in one part."""
MAX_UNARY_BYTES: Final = (4 << 20) - 1024
"""A stock unary envelope holds 4 MiB; a larger answer is never sent and the caller waits in vain. The rest is for the
envelope's own fields."""

StatelessRequest = ForwardRequest | BackwardRequest
Shape = tuple[int, ...]
T = TypeVar("T")


def fits_unary(request: StatelessRequest) -> bool:
    """Whether the request goes in one unary call; otherwise take the stream variant and `split_*`."""
    tensors = (request.hidden, request.prompts, getattr(request, "grad", None))
    return sum(tensor.nbytes for tensor in tensors if tensor is not None) <= STREAM_ABOVE_BYTES


def encode_forward(request: ForwardRequest) -> bytes:
    """One unary message; raises RemoteError TOO_LONG if it does not fit."""
    return join_unary(write_envelope(_forward_envelope(request)))


def encode_backward(request: BackwardRequest) -> bytes:
    """One unary message; raises RemoteError TOO_LONG if it does not fit."""
    return join_unary(write_envelope(_backward_envelope(request)))


def encode_tensor_reply(reply: TensorReply, *, compression: Sequence[int] = ()) -> bytes:
    """One unary message.

    Args:
        compression: `output_compression` of the request.

    Raises:
        RemoteError: TOO_LONG if it does not fit; such a request must come by the stream variant.
    """
    return join_unary(write_envelope(_reply_envelope(reply, compression)))


def split_forward(request: ForwardRequest) -> Iterator[tuple[Buffer, ...]]:
    """Messages for rpc_forward_stream, each in pieces."""
    return _split(_forward_envelope(request))


def split_backward(request: BackwardRequest) -> Iterator[tuple[Buffer, ...]]:
    """Messages for rpc_backward_stream, each in pieces."""
    return _split(_backward_envelope(request))


def split_tensor_reply(reply: TensorReply, *, compression: Sequence[int] = ()) -> Iterator[tuple[Buffer, ...]]:
    """Messages that answer a stream variant, each in pieces."""
    return _split(_reply_envelope(reply, compression))


@refusing(Code.BAD_REQUEST)
def decode_forward(body: Buffer, *, limits: Limits) -> ForwardRequest:
    """Raises RemoteError BAD_REQUEST or TOO_LONG."""
    return _read_forward(read_request(body, limits), limits)


@refusing(Code.BAD_REQUEST)
def decode_backward(body: Buffer, *, limits: Limits) -> BackwardRequest:
    """Raises RemoteError BAD_REQUEST or TOO_LONG."""
    return _read_backward(read_request(body, limits), limits)


def reply_shapes(request: StatelessRequest) -> tuple[Shape, ...]:
    """Shapes of the tensors that answer the request."""
    hidden = tuple(request.hidden.shape)
    if isinstance(request, BackwardRequest) and request.prompts is not None:
        return hidden, tuple(request.prompts.shape)
    return (hidden,)


@refusing(Code.BAD_REPLY)
def decode_tensor_reply(body: Buffer, *, like: Sequence[Shape]) -> TensorReply:
    """Read an answer whose tensors get exactly the shapes `like`; raises RemoteError BAD_REPLY.

    Stock servers give the gradient of prompts that are broadcast over the batch once a row; it is summed here.
    """
    return _read_reply(read_envelope(body), like)


class PartJoiner(Generic[T]):
    """Puts the parts of a split message together, within a limit of bytes. Make one by the functions below."""

    def __init__(self, read: Callable[[Envelope], T], *, max_bytes: int, code: Code) -> None:
        self._read = read
        self._max_bytes = max_bytes
        self._code = code
        self._whole: Envelope | None = None
        self._num_bytes = 0

    def add(self, body: Buffer) -> None:
        """Take the next part. Raises RemoteError (the joiner is of no use afterwards)."""
        try:
            self._add(read_envelope(body))
        except WireError as error:
            raise RemoteError(error.code or self._code, str(error)) from None

    def claim(self, *, num_blocks: int) -> tuple[str, Span, Caller]:
        """Who asks for what: prefix, blocks and caller, known from the first part on. Raises RemoteError."""
        try:
            if self._whole is None:
                raise WireError("no part has come yet")
            prefix, span = read_uids(self._whole.uid, num_blocks=num_blocks)
            return prefix, span, read_caller(read_metadata(self._whole))
        except WireError as error:
            raise RemoteError(error.code or self._code, str(error)) from None

    def finish(self) -> T:
        """The message, once the peer said that there are no more parts. Raises RemoteError."""
        try:
            if self._whole is None:
                raise WireError("the stream ended before its first part")
            return self._read(self._whole)
        except WireError as error:
            raise RemoteError(error.code or self._code, str(error)) from None

    def _add(self, part: Envelope) -> None:
        if self._whole is None:
            self._whole = Envelope(part.uid, [], bytes(part.metadata))
        elif part.uid != self._whole.uid:
            raise WireError("the parts of a stream name different blocks")
        if not part.tensors:
            raise WireError("a part without a tensor")
        for raw in part.tensors:
            self._num_bytes += len(raw.buffer)
            if self._num_bytes > self._max_bytes:
                raise WireError(f"more than {self._max_bytes} bytes in all parts together", Code.TOO_LONG)
            self._append(raw, self._whole.tensors)

    @staticmethod
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


_MAX_SPLIT_TENSORS: Final = 4


def forward_joiner(limits: Limits) -> PartJoiner[ForwardRequest]:
    """For the server's side of rpc_forward_stream."""
    return PartJoiner(
        lambda whole: _read_forward(whole, limits), max_bytes=limits.max_frame_bytes, code=Code.BAD_REQUEST
    )


def backward_joiner(limits: Limits) -> PartJoiner[BackwardRequest]:
    """For the server's side of rpc_backward_stream."""
    return PartJoiner(
        lambda whole: _read_backward(whole, limits), max_bytes=limits.max_frame_bytes, code=Code.BAD_REQUEST
    )


def reply_joiner(like: Sequence[Shape]) -> PartJoiner[TensorReply]:
    """For the client's side of both stream variants; `like` from `reply_shapes`."""
    rows = like[0][0]
    values = sum(math.prod(shape) * (rows if _is_broadcast(shape) else 1) for shape in like)
    max_bytes = 8 * values  # float64, the widest encoding
    return PartJoiner(lambda whole: _read_reply(whole, like), max_bytes=max_bytes, code=Code.BAD_REPLY)


def join_unary(pieces: Sequence[Buffer]) -> bytes:
    """Pieces of a unary message as one body; raises RemoteError TOO_LONG above what a unary call carries."""
    total = sum(map(len, pieces))
    if total > MAX_UNARY_BYTES:
        raise RemoteError(
            Code.TOO_LONG, f"{total} bytes in a unary message, at most {MAX_UNARY_BYTES}; use the stream call"
        )
    return b"".join(pieces)


def _forward_envelope(request: ForwardRequest) -> Envelope:
    tensors = [to_raw(request.hidden), _prompts(request.prompts)]
    return Envelope(block_uids(request.prefix, request.span), tensors, _metadata(request, TWO_TENSORS))


def _backward_envelope(request: BackwardRequest) -> Envelope:
    tensors = [to_raw(request.hidden), to_raw(request.grad), _prompts(request.prompts)]
    return Envelope(block_uids(request.prefix, request.span), tensors, _metadata(request, THREE_TENSORS))


def _reply_envelope(reply: TensorReply, compression: Sequence[int]) -> Envelope:
    codes = [*compression, *[Compression.NONE] * len(reply.tensors)]
    tensors = [to_raw(tensor, code) for tensor, code in zip(reply.tensors, codes, strict=False)]
    return Envelope("", tensors, pack_timing(reply.timing))


def _prompts(prompts: Tensor | None) -> RawTensor:
    return EMPTY_FLOATS if prompts is None else to_raw(prompts)


def _metadata(request: StatelessRequest, structure: object) -> bytes:
    metadata: dict[str, object] = {
        "points": 0.0,
        "active_adapter": request.caller.adapter,
        "args_structure": structure,
    }
    if request.output_compression:
        metadata["output_compression"] = tuple(int(code) for code in request.output_compression)
    if ours := caller_fields(request.caller):
        metadata[OURS] = ours
    return pack(metadata)


def _split(envelope: Envelope) -> Iterator[tuple[Buffer, ...]]:
    for raw in envelope.tensors:
        chunks = -(-len(raw.buffer) // PART_BYTES)
        buffer = memoryview(raw.buffer)
        part = RawTensor(raw.size, raw.dtype, raw.compression, chunks, buffer[:PART_BYTES])
        yield write_envelope(Envelope(envelope.uid, [part], envelope.metadata))
        for start in range(PART_BYTES, len(buffer), PART_BYTES):
            part = RawTensor(buffer=buffer[start : start + PART_BYTES])
            yield write_envelope(Envelope(envelope.uid, [part], envelope.metadata))


def _read_forward(envelope: Envelope, limits: Limits) -> ForwardRequest:
    prefix, span = read_uids(envelope.uid, num_blocks=limits.num_blocks)
    metadata = read_metadata(envelope)
    raw_hidden, raw_prompts = arguments(envelope, metadata, 2)
    hidden = read_hidden(raw_hidden, limits)
    return ForwardRequest(
        prefix=prefix,
        span=span,
        hidden=hidden,
        prompts=read_prompts(raw_prompts, hidden, num_blocks=len(span), limits=limits),
        caller=read_caller(metadata),
        output_compression=read_output_compression(metadata),
    )


def _read_backward(envelope: Envelope, limits: Limits) -> BackwardRequest:
    prefix, span = read_uids(envelope.uid, num_blocks=limits.num_blocks)
    metadata = read_metadata(envelope)
    raw_hidden, raw_grad, raw_prompts = arguments(envelope, metadata, 3)
    hidden = read_hidden(raw_hidden, limits)
    return BackwardRequest(
        prefix=prefix,
        span=span,
        hidden=hidden,
        grad=float_tensor(raw_grad, tuple(hidden.shape)),
        prompts=read_prompts(raw_prompts, hidden, num_blocks=len(span), limits=limits),
        caller=read_caller(metadata),
        output_compression=read_output_compression(metadata),
    )


def _read_reply(envelope: Envelope, like: Sequence[Shape]) -> TensorReply:
    if len(envelope.tensors) != len(like):
        raise WireError(f"an answer of {len(envelope.tensors)} tensors, expected {len(like)}")
    rows = like[0][0]
    tensors = tuple(_read_like(raw, shape, rows) for raw, shape in zip(envelope.tensors, like, strict=True))
    return TensorReply(tensors, read_timing(envelope))


def _is_broadcast(shape: Shape) -> bool:
    """Whether this is a gradient of prompts [blocks, 1, prompt_tokens, hidden_size]."""
    return len(shape) == 4 and shape[1] == 1


def _read_like(raw: RawTensor, shape: Shape, rows: int) -> Tensor:
    if _is_broadcast(shape) and raw.size[1:2] == (rows,):
        return float_tensor(raw, (shape[0], rows, *shape[2:])).sum(1, keepdim=True)
    return float_tensor(raw, shape)
