"""Petals' protobuf messages around tensors and metadata: requests, replies, names.

Reading keeps positions into the received body; tensor bytes are copied once, when they become tensors. Unknown fields
are skipped, a known field of another wire type counts as unknown, as in any protobuf reader. Fields are written and
read by hand, because a generated class copies every tensor twice and costs more than a decode step may. Source: the
published protobuf encoding, proto3 subset.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from potluck.protocol.values import Buffer
from potluck.wire.errors import WireError

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5

MAX_FIELDS: Final = 4096
"""Fields of one message; a real one has less than ten. Bounds the time that a body of tiny fields can take."""

Field = tuple[int, int, int, int]
"""(number, wire type, a, b): VARINT has its value in `a`; every other kind lies in data[a:b]."""


def read_fields(data: Buffer, start: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message in data[start:end].

    Raises:
        WireError: truncated, a group (obsolete), field number 0, or more than MAX_FIELDS fields.
    """
    position = start
    for _ in range(MAX_FIELDS):
        if position >= end:
            return
        tag, position = read_varint(data, position, end)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise WireError("protobuf: field number 0")
        if kind == VARINT:
            value, position = read_varint(data, position, end)
            yield number, kind, value, position
            continue
        if kind == BYTES:
            length, position = read_varint(data, position, end)
        elif kind == FIXED64:
            length = 8
        elif kind == FIXED32:
            length = 4
        else:
            raise WireError(f"protobuf: wire type {kind}")
        if length > end - position:
            raise WireError("protobuf: a field reaches beyond its message")
        yield number, kind, position, position + length
        position += length
    if position < end:
        raise WireError(f"protobuf: more than {MAX_FIELDS} fields")


def read_varint(data: Buffer, position: int, end: int) -> tuple[int, int]:
    """Return (value below 2^64, position after it)."""
    value = shift = 0
    while position < end:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position
        shift += 7
        if shift > 63:
            raise WireError("protobuf: a varint of more than 10 bytes")
    raise WireError("protobuf: truncated varint")


def read_text(data: Buffer, start: int, end: int, *, max_bytes: int) -> str:
    """Return a string field. Raises WireError if it is too long, not UTF-8 or not printable."""
    if end - start > max_bytes:
        raise WireError(f"a text of {end - start} bytes, at most {max_bytes} allowed")
    try:
        text = str(data[start:end], "utf-8")
    except UnicodeDecodeError:
        raise WireError("protobuf: text is not UTF-8") from None
    if not text.isprintable():
        raise WireError("protobuf: text is not printable")
    return text


def varint(value: int) -> bytes:
    """Encode an integer of 0 <= value < 2^64."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint_field(number: int, value: int) -> bytes:
    """Return a varint field, nothing for 0 as proto3 wants it."""
    return varint(number << 3 | VARINT) + varint(value) if value else b""


def bytes_header(number: int, length: int) -> bytes:
    """Return what precedes the `length` bytes of a bytes, string or message field."""
    return varint(number << 3 | BYTES) + varint(length)


def bytes_field(number: int, body: bytes) -> bytes:
    """Return a bytes, string or message field, nothing for an empty body as proto3 wants it for strings and bytes."""
    return bytes_header(number, len(body)) + body if body else b""


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
    """Return field 1 of an ExpertUID. Raises WireError."""
    text = ""
    for number, kind, start, end in read_fields(body, 0, len(body)):
        if number == 1 and kind == BYTES:
            text = read_text(body, start, end, max_bytes=max_bytes)
    return text


def write_bytes_message(payload: bytes) -> bytes:
    """Return a message whose field 1 is bytes: ExpertInfo {serialized_info}."""
    return bytes_field(1, payload)
