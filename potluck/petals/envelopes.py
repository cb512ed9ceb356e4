"""The stock messages around tensors and metadata: requests, replies, names.

Reading keeps positions into the received body; tensor bytes are copied once, when they become tensors. Unknown fields
are skipped, a known field of another wire type counts as unknown, as in any protobuf reader.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from potluck.petals.protobuf import (
    BYTES,
    VARINT,
    bytes_field,
    bytes_header,
    read_fields,
    read_text,
    read_varint,
    varint,
    varint_field,
)
from potluck.protocol.buffers import Buffer
from potluck.wire.errors import WireError

MAX_TENSORS: Final = 8
MAX_DIMS: Final = 4
MAX_CHAIN_BYTES: Final = 128 * 1024
INLINE_BYTES: Final = 16 * 1024
"""Tensors up to here are joined with what surrounds them: one small copy is cheaper than three more writes."""

_NO_BYTES: Final = memoryview(b"")


@dataclass(slots=True)
class RawTensor:
    """A tensor as it travels. An empty `dtype` marks a further part of a split tensor."""

    size: tuple[int, ...] = ()
    dtype: str = ""
    compression: int = 0
    chunks: int = 0
    buffer: Buffer = _NO_BYTES


@dataclass(slots=True)
class Envelope:
    """ExpertRequest and ExpertResponse; the latter has no uid."""

    uid: str = ""
    tensors: list[RawTensor] = field(default_factory=list)
    metadata: Buffer = b""


def write_envelope(envelope: Envelope) -> tuple[Buffer, ...]:
    """Encode into pieces to be sent one after the other; large buffers are referenced, not copied."""
    pieces: list[Buffer] = []
    head = bytes_field(1, envelope.uid.encode())
    for tensor in envelope.tensors:
        length = len(tensor.buffer)
        tail = _tensor_tail(tensor)
        before = bytes_header(1, length) if length else b""
        head += bytes_header(2, len(before) + length + len(tail)) + before
        if length <= INLINE_BYTES:
            head += tensor.buffer
        else:
            pieces += (head, tensor.buffer)
            head = b""
        head += tail
    head += bytes_field(3, bytes(envelope.metadata))
    if head:
        pieces.append(head)
    return tuple(pieces)


def _tensor_tail(tensor: RawTensor) -> bytes:
    """Return a Tensor message without its buffer. requires_grad is never set: nobody reads it."""
    size = b"".join([varint(dim) for dim in tensor.size])
    return (
        bytes_field(2, size)
        + bytes_field(4, tensor.dtype.encode())
        + varint_field(5, tensor.compression)
        + varint_field(6, tensor.chunks)
    )


def read_envelope(body: Buffer) -> Envelope:
    """Parse an ExpertRequest or ExpertResponse; raises WireError."""
    envelope = Envelope()
    view = memoryview(body)
    for number, kind, start, end in read_fields(body, 0, len(body)):
        if kind != BYTES:
            continue
        if number == 2:
            if len(envelope.tensors) == MAX_TENSORS:
                raise WireError(f"more than {MAX_TENSORS} tensors")
            envelope.tensors.append(_read_tensor(body, view, start, end))
        elif number == 1:
            envelope.uid = read_text(body, start, end, max_bytes=MAX_CHAIN_BYTES)
        elif number == 3:
            envelope.metadata = view[start:end]
    return envelope


def _read_tensor(body: Buffer, view: memoryview, start: int, end: int) -> RawTensor:
    tensor = RawTensor()
    for number, kind, a, b in read_fields(body, start, end):
        if kind == BYTES:
            if number == 1:
                tensor.buffer = view[a:b]
            elif number == 2:
                while a < b:
                    dim, a = read_varint(body, a, b)
                    _add_dim(tensor, dim)
            elif number == 4:
                tensor.dtype = read_text(body, a, b, max_bytes=32)
        elif kind == VARINT:
            if number == 2:
                _add_dim(tensor, a)
            elif number == 5:
                tensor.compression = a
            elif number == 6:
                tensor.chunks = a
    return tensor


def _add_dim(tensor: RawTensor, dim: int) -> None:
    if len(tensor.size) == MAX_DIMS:
        raise WireError(f"a tensor of more than {MAX_DIMS} dimensions")
    if dim >= 1 << 31:
        raise WireError(f"a tensor dimension of {dim}")
    tensor.size += (dim,)


def read_text_message(body: Buffer, *, max_bytes: int) -> str:
    """Field 1 of ExpertUID; raises WireError."""
    text = ""
    for number, kind, start, end in read_fields(body, 0, len(body)):
        if number == 1 and kind == BYTES:
            text = read_text(body, start, end, max_bytes=max_bytes)
    return text


def write_bytes_message(payload: bytes) -> bytes:
    """A message whose field 1 is bytes: ExpertInfo {serialized_info}."""
    return bytes_field(1, payload)
