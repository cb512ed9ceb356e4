"""The layout of every message: a head, the fields of a struct, and the values of its tensors.

    head     8 bytes: version, bytes of the fields (u24), bytes of all values (u32); little-endian
    fields   a struct in msgpack; each tensor says where its values are, see `potluck.wire.tensors`
    values   of each tensor, in the order of the fields

A reader ignores fields that it does not know, and refuses another version. `Limits` says what a receiver accepts,
before a single byte of a peer is decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code
from potluck.protocol.values import Buffer
from potluck.wire.errors import WireError, refusing

M = TypeVar("M", bound=Struct)

VERSION: Final = 2
_MAX_VERSIONS: Final = 10  # a tenth version would begin like a message of protobuf
_HEAD_BYTES: Final = 8
MAX_FIELD_BYTES: Final = 128 * 1024
PART_BYTES: Final = 4 << 20
"""Most bytes of one frame; a call of more is sent in parts, a step is not."""


class Message(NamedTuple):
    """One message, checked for its layout and for nothing else. Both parts refer to the bytes that came."""

    fields: memoryview
    values: memoryview


def write_message(fields: bytes, value_bytes: int = 0) -> bytes:
    """Return a message up to its values."""
    return (VERSION | len(fields) << 8 | value_bytes << 32).to_bytes(_HEAD_BYTES, "little") + fields


ACCEPTED: Final = write_message(msgspec.msgpack.encode({}))
"""The answer of a server that has what it was sent."""


def encode(message: Struct) -> bytes:
    """Return a message without tensors."""
    return write_message(msgspec.msgpack.encode(message))


def decode(body: Buffer, kind: type[M]) -> M:
    """Read a message without tensors. Raises WireError."""
    return read_fields(read_message(body).fields, kind)


decode_request = refusing(Code.BAD_REQUEST)(decode)
"""Read a request without tensors. Raises RemoteError."""

decode_reply = refusing(Code.BAD_REPLY)(decode)
"""Read an answer without tensors. Raises RemoteError."""


def read_fields(fields: Buffer, kind: type[M], read_tensor: Callable[[type, Any], Any] | None = None) -> M:
    """Return the struct in the fields of a message. Raises WireError."""
    try:
        return msgspec.msgpack.decode(fields, type=kind, dec_hook=read_tensor)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise WireError(f"a {kind.__name__} that cannot be read: {error}") from None


def read_message(body: Buffer) -> Message:
    """Return the message in `body`. Raises WireError."""
    start, end = _ends(body)
    if end != len(body):
        raise WireError(f"a message of {len(body)} bytes that says it has {end}")
    view = memoryview(body)
    return Message(view[_HEAD_BYTES:start], view[start:])


def _ends(body: Buffer) -> tuple[int, int]:
    """Return where the fields end, which must be in `body`, and where the values end. Raises WireError."""
    if not len(body):
        raise WireError("an empty message")
    if body[0] != VERSION and not 0 < body[0] < _MAX_VERSIONS:
        raise WireError("not a message of this wire")
    if body[0] != VERSION:
        text = f"this peer speaks version {VERSION} of the wire, not {body[0]}: update the older of the two"
        raise WireError(text, Code.WRONG_VERSION)
    head = int.from_bytes(body[:_HEAD_BYTES], "little")
    field_bytes = head >> 8 & 0xFFFFFF
    if field_bytes > MAX_FIELD_BYTES:
        raise WireError(f"{field_bytes} bytes of fields, at most {MAX_FIELD_BYTES} allowed")
    start = _HEAD_BYTES + field_bytes
    if len(body) < start:
        raise WireError(f"a message of {len(body)} bytes is cut short")
    return start, start + (head >> 32)


def split(pieces: Iterable[Buffer]) -> Iterator[tuple[Buffer, ...]]:
    """Yield the pieces of a message as frames of at most PART_BYTES."""
    frame: list[Buffer] = []
    room = PART_BYTES
    for piece in pieces:
        rest = memoryview(piece)
        while len(rest) > room:
            yield (*frame, rest[:room])
            frame, rest, room = [], rest[room:], PART_BYTES
        frame.append(rest)
        room -= len(rest)
    yield tuple(frame)


class PartJoiner:
    """The frames of one message, put together up to `max_bytes`. What does not fit is refused with `code`."""

    def __init__(self, code: Code, *, max_bytes: int) -> None:
        self.num_bytes = 0  # size of the whole message
        self._code = code
        self._max_bytes = max_bytes
        self._start = 0  # where values begin
        self.body: Buffer = b""

    def add(self, frame: Buffer) -> bool:
        """Add the next frame and return whether the message is whole. Raises RemoteError."""
        try:
            self._add(frame)
        except WireError as error:
            raise error.refusal(self._code) from None
        return len(self.body) == self.num_bytes

    def _add(self, frame: Buffer) -> None:
        if not self.num_bytes:
            self._start, self.num_bytes = _ends(frame)
            if self.num_bytes > self._max_bytes:
                text = f"a message of {self.num_bytes} bytes, at most {self._max_bytes} allowed"
                raise WireError(text, Code.TOO_LONG)
            self.body = frame
        else:
            if not isinstance(self.body, bytearray):
                self.body = bytearray(self.body)
            self.body += frame
        if len(self.body) > self.num_bytes or not len(frame):
            raise WireError(f"a message of {self.num_bytes} bytes whose parts do not fit")

    def read_first(self, kind: type[M]) -> M:
        """Return what the first frame says; values may be missing. Raises WireError."""
        return read_fields(memoryview(self.body)[_HEAD_BYTES : self._start], kind)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one model as served here."""

    hidden_size: int
    num_blocks: int  # blocks of the whole model
    max_batch_tokens: int  # batch x tokens of one message
    max_length: int  # tokens of a session
    max_frame_bytes: int  # one message, or all parts of a split one together

    @property
    def max_values(self) -> int:
        """Return how many values the hidden states of one message have at most."""
        return self.max_batch_tokens * self.hidden_size

    def check_span(self, span: Span) -> None:
        """Raise WireError for blocks that the model does not have."""
        if span.end > self.num_blocks:
            raise WireError(f"blocks {span} of a model of {self.num_blocks}")
