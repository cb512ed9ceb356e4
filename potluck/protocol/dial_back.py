"""The question "can you dial me?", which peers of ours ask each other; no I/O.

The stock question (`wire/reachability.py`) names any peer and is answered over whatever connection there is. Here the
caller asks for itself, and the callee dials it anew, from a stranger, at the addresses it names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import msgpack

from potluck.protocol.codes import Code, RemoteError

DIAL_BACK: Final = "Potluck.dial_back"  # unary
_MAX_BYTES = 4096
_MAX_ADDRESSES = 8
_MAX_ADDRESS_LETTERS = 256
_ADDRESS = re.compile(r"(/[A-Za-z0-9.:%_-]+)*")  # no commas: it becomes part of an option of p2pd


@dataclass(frozen=True, slots=True)
class DialBack:
    """The caller's own addresses, without its peer id.

    `seen_as` is the callee's address as the caller sees it: with one, the callee is asked to stay for a moment, so
    that the caller's relay opens (see `Libp2pHost.dial_anew`).
    """

    addresses: tuple[str, ...]
    seen_as: str = ""

    def to_bytes(self) -> bytes:
        return bytes(msgpack.packb([list(self.addresses[:_MAX_ADDRESSES]), self.seen_as]))

    @classmethod
    def from_bytes(cls, body: bytes) -> DialBack:
        """Raises RemoteError BAD_REQUEST."""
        try:
            addresses, seen_as = msgpack.unpackb(body[:_MAX_BYTES])
            texts = (*addresses, seen_as)
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise RemoteError(Code.BAD_REQUEST, "not a question to be dialled") from error
        if len(texts) > _MAX_ADDRESSES + 1 or not all(map(_is_address, texts)):
            raise RemoteError(Code.BAD_REQUEST, "not a question to be dialled")
        return cls(tuple(addresses), seen_as)


def encode_answer(is_reachable: bool) -> bytes:
    return b"\1" if is_reachable else b"\0"


def decode_answer(body: bytes) -> bool:
    """Raises RemoteError BAD_REPLY."""
    if body not in (b"\0", b"\1"):
        raise RemoteError(Code.BAD_REPLY, "neither yes nor no")
    return body == b"\1"


def _is_address(text: object) -> bool:
    return isinstance(text, str) and len(text) <= _MAX_ADDRESS_LETTERS and _ADDRESS.fullmatch(text) is not None
