"""Protocol Buffers at the level of fields: just enough to write and read the few stock messages without a copy.

Knows varints, tags and lengths, not which message a body holds. Written by hand because a generated class copies every
tensor twice and costs more than a decode step may. Source: the published protobuf encoding, proto3 subset.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from potluck.protocol.buffers import Buffer
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
    """A string field; raises WireError if it is too long, not UTF-8 or not printable."""
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
    """A varint field, nothing for 0 as proto3 wants it."""
    return varint(number << 3 | VARINT) + varint(value) if value else b""


def bytes_header(number: int, length: int) -> bytes:
    """Return what precedes the `length` bytes of a bytes, string or message field."""
    return varint(number << 3 | BYTES) + varint(length)


def bytes_field(number: int, body: bytes) -> bytes:
    """A bytes, string or message field, nothing for an empty body as proto3 wants it for strings and bytes."""
    return bytes_header(number, len(body)) + body if body else b""
