"""The layout of every message: a head, a table of tensors, typed fields, and the tensors' values.

    head     24 bytes: version, number of tensors, flags, 0, bytes of fields (u32), number (i64), queue_ms, compute_ms
             (f32 each)
    table    24 bytes a tensor: role, dtype, codec, number of dimensions, four dimensions (u32), bytes of values (u32)
    fields   a msgpack map with the numbers of `Field` as keys; left out when empty
    values   of each tensor, in the order of the table

All numbers are little-endian. `number` is the position where a step begins, or how many tokens the answering server's
cache has left; -1 is neither. A reader ignores fields and roles that it does not know, and refuses another version.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

import msgpack

from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.protocol.messages import Timing
from potluck.protocol.receipts import TAB_BYTES
from potluck.wire.errors import WireError, refusing
from potluck.wire.fields import Field, blob

VERSION: Final = 1
_MAX_VERSIONS: Final = 10  # a tenth version would begin like a message of protobuf
IS_LEAVING: Final = 1
"""Flag of an answer: the server leaves before long."""

CAN_PUSH: Final = 2
"""Flag of an answer: the next server takes what this one pushes."""

WAS_PUSHED: Final = 4
"""Flag of an answer: it is also on its way to the next server."""

MAX_TENSORS: Final = 8
MAX_FIELD_BYTES: Final = 64 * 1024
PART_BYTES: Final = 4 << 20
"""Most bytes of one frame; a call of more is sent in parts, a step is not."""

_LAYOUTS: Final = [Struct("<BBBxIqff" + "BBBBIIIII" * count) for count in range(MAX_TENSORS + 1)]
"""Head and table of a message by its number of tensors."""
_TABLE_NUMBERS: Final = 9  # of a tensor
_MAX_DIMS: Final = 4
_PADDING: Final = ((0, 0, 0, 0), (0, 0, 0), (0, 0), (0,), ())  # by number of dimensions


class Role(IntEnum):
    """What a tensor is to its message."""

    HIDDEN = 1  # hidden states, or the gradient of those in the answer to a backward
    PROMPTS = 2  # deep prompts, or their gradient
    ORDER = 3  # which row each row continues
    GRAD = 4  # gradient of the output
    ADAPTER = 6  # values of a private adapter, or their gradient
    CHOICES = 7  # of experts


class WireTensor(NamedTuple):
    """A tensor as it travels."""

    role: int
    dtype: int  # a number of `potluck.wire.tensors`
    shape: tuple[int, ...]
    values: Buffer
    codec: int = 0  # 0: plain values, 1: `potluck.wire.packing`; others are reserved


@dataclass(slots=True)
class Message:
    """One message, checked for its layout and for nothing else."""

    tensors: Sequence[WireTensor]
    fields: Mapping[object, object]  # from `Field` to a value
    number: int
    flags: int
    queue_ms: float
    compute_ms: float

    def tensor(self, role: Role) -> WireTensor | None:
        for tensor in self.tensors:
            if tensor.role == role:
                return tensor
        return None

    def timing(self) -> Timing:
        """Return the times and the load that an answer says. Raises WireError."""
        tab = blob(self.fields, Field.TAB, TAB_BYTES) if self.fields else None
        left = None if self.number < 0 else self.number
        return Timing(self.queue_ms, self.compute_ms, left, self.flags & IS_LEAVING != 0, tab)


def write_message(
    tensors: Sequence[WireTensor] = (),
    fields: Mapping[int, object] | None = None,
    *,
    number: int = -1,
    flags: int = 0,
    queue_ms: float = 0.0,
    compute_ms: float = 0.0,
) -> tuple[Buffer, ...]:
    """Return a message in pieces to be sent one after the other; tensors' values are referenced, not copied."""
    packed: bytes = msgpack.packb(fields) if fields else b""
    head = VERSION, len(tensors), flags, len(packed), number, queue_ms, compute_ms
    if len(tensors) == 1:  # as nearly always: no lists to be built
        ((role, dtype, shape, values, codec),) = tensors
        row = role, dtype, codec, len(shape), *shape, *_PADDING[len(shape)], len(values)
        return _LAYOUTS[1].pack(*head, *row) + packed, values
    table: list[int] = []
    for role, dtype, shape, values, codec in tensors:
        table += (role, dtype, codec, len(shape), *shape, *_PADDING[len(shape)], len(values))
    return _LAYOUTS[len(tensors)].pack(*head, *table) + packed, *(tensor.values for tensor in tensors)


def write_answer(
    tensors: Sequence[WireTensor], timing: Timing, *, flags: int = 0, extra: Mapping[int, object] | None = None
) -> tuple[Buffer, ...]:
    """Return the message that answers with these tensors, in pieces."""
    fields: dict[int, object] = dict(extra or {})
    if timing.tab is not None:
        fields[Field.TAB] = timing.tab
    return write_message(
        tensors,
        fields,
        number=-1 if timing.cache_tokens_left is None else timing.cache_tokens_left,
        flags=flags | (IS_LEAVING if timing.is_leaving else 0),
        queue_ms=timing.queue_ms,
        compute_ms=timing.compute_ms,
    )


def read_message(body: Buffer) -> Message:
    """Return the message in `body`, whose tensors refer to it. Raises WireError."""
    message, size = read_start(body)
    if size != len(body):
        raise WireError(f"a message of {len(body)} bytes that says it has {size}")
    return message


def read_start(body: Buffer) -> tuple[Message, int]:
    """Read the message that begins in `body`, of which values may be missing yet; also return its size in bytes.

    Raises:
        WireError: another version, or a head, table or fields that are cut short or make no sense.
    """
    layout = _layout_of(body)
    _, _, flags, field_bytes, number, queue_ms, compute_ms, *table = layout.unpack_from(body)
    if field_bytes > MAX_FIELD_BYTES:
        raise WireError(f"{field_bytes} bytes of fields, at most {MAX_FIELD_BYTES} allowed")
    if not (0 <= queue_ms < math.inf and 0 <= compute_ms < math.inf):
        raise WireError("times must be finite and not negative")
    view, end = memoryview(body), layout.size + field_bytes
    if end > len(body):
        raise WireError(f"a message of {len(body)} bytes is cut short")
    tensors = []
    for offset in range(0, len(table), _TABLE_NUMBERS):
        role, dtype, codec, dims, a, b, c, d, num_bytes = table[offset : offset + _TABLE_NUMBERS]
        if dims > _MAX_DIMS:
            raise WireError(f"a tensor of {dims} dimensions")
        tensors.append(WireTensor(role, dtype, (a, b, c, d)[:dims], view[end : end + num_bytes], codec))
        end += num_bytes
    fields = _read_fields(view[layout.size : layout.size + field_bytes]) if field_bytes else {}
    return Message(tensors, fields, number, flags, queue_ms, compute_ms), end


def _layout_of(body: Buffer) -> Struct:
    if not len(body):
        raise WireError("an empty message")
    if body[0] != VERSION and not 0 < body[0] < _MAX_VERSIONS:
        raise WireError("not a message of this wire")
    if body[0] != VERSION:
        text = f"this peer speaks version {VERSION} of the wire, not {body[0]}: update the older of the two"
        raise WireError(text, Code.WRONG_VERSION)
    if len(body) < 2 or body[1] > MAX_TENSORS:
        raise WireError(f"more than {MAX_TENSORS} tensors")
    layout = _LAYOUTS[body[1]]
    if len(body) < layout.size:
        raise WireError(f"a message of {len(body)} bytes is cut short")
    return layout


def _read_fields(packed: Buffer) -> Mapping[object, object]:
    try:
        fields = msgpack.unpackb(packed, strict_map_key=False)
    except (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        raise WireError(f"bad fields: {str(error)[:80] or type(error).__name__}") from None
    if not isinstance(fields, dict):
        raise WireError("the fields must be a map")
    return fields


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
    """Puts the frames of one message together, up to `max_bytes`."""

    def __init__(self, *, max_bytes: int) -> None:
        self._first: Message | None = None  # what the first frame says; values may be missing
        self.num_bytes = 0  # of the whole message
        self._max_bytes = max_bytes
        self._body: Buffer = b""

    def add(self, frame: Buffer) -> bool:
        """Take the next frame and return whether the message is whole. Raises WireError."""
        if not self.num_bytes:
            self._first, self.num_bytes = read_start(frame)
            if self.num_bytes > self._max_bytes:
                raise WireError(
                    f"a message of {self.num_bytes} bytes, at most {self._max_bytes} allowed", Code.TOO_LONG
                )
            self._body = frame
        else:
            if not isinstance(self._body, bytearray):
                self._body = bytearray(self._body)
            self._body += frame
        if len(self._body) > self.num_bytes or not len(frame):
            raise WireError(f"a message of {self.num_bytes} bytes whose parts do not fit")
        return len(self._body) == self.num_bytes

    def whole(self) -> Message:
        """Return the message, once `add` returned true. Raises WireError."""
        return read_message(self._body)


class RequestParts(PartJoiner):
    """The frames of one request at the server. What does not fit is refused."""

    @refusing(Code.BAD_REQUEST)
    def add(self, frame: Buffer) -> bool:
        """Take the next frame and return whether the request is whole. Raises RemoteError."""
        return super().add(frame)

    def first(self) -> Message:
        """Return what the first frame says; values may be missing. Raises WireError if none has come."""
        if self._first is None:
            raise WireError("no frame has come yet")
        return self._first
