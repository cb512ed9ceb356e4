"""Unsigned varints, as protobuf and p2pd's control connection use them for lengths."""

from __future__ import annotations

_MAX_BYTES = 9


def delimited(message: bytes) -> bytes:
    """Return a message behind its length."""
    length, number = bytearray(), len(message)
    while number > 0x7F:
        length.append(number & 0x7F | 0x80)
        number >>= 7
    length.append(number)
    return bytes(length) + message


def decode_varint(data: bytes | bytearray | memoryview, start: int = 0) -> tuple[int, int]:
    """The number at `start` and the offset behind it; (0, 0) if it is not all there yet."""
    number = 0
    for index in range(start, min(len(data), start + _MAX_BYTES)):
        number |= (data[index] & 0x7F) << 7 * (index - start)
        if data[index] < 0x80:
            return number, index + 1
    if len(data) - start >= _MAX_BYTES:
        return 1 << 63, start + _MAX_BYTES
    return 0, 0
