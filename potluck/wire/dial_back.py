"""The question "can you dial me?". The caller asks for itself; the callee dials it anew at addresses that it names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.wire import fields as read
from potluck.wire.errors import WireError, refusing
from potluck.wire.fields import Field
from potluck.wire.message import read_message, write_message

_MAX_ADDRESSES: Final = 8
_MAX_ADDRESS_LETTERS: Final = 256
_ADDRESS: Final = re.compile(r"(/[A-Za-z0-9.:%_-]+)*")  # no commas: it becomes part of an option of p2pd


@dataclass(frozen=True, slots=True)
class DialBack:
    """The caller's own addresses, without its peer id.

    `seen_as` is the callee's address as the caller sees it: with one, the callee is asked to stay for a moment, so
    that the caller's relay opens (see `Libp2pHost.dial_anew`).
    """

    addresses: tuple[str, ...]
    seen_as: str = ""


def encode_dial_back(question: DialBack) -> bytes:
    fields: dict[int, object] = {
        Field.ADDRESSES: list(question.addresses[:_MAX_ADDRESSES]),
        Field.SEEN_AS: question.seen_as,
    }
    return b"".join(write_message((), fields))


@refusing(Code.BAD_REQUEST)
def decode_dial_back(body: Buffer) -> DialBack:
    """Raises RemoteError BAD_REQUEST."""
    fields = read_message(body).fields
    addresses = fields.get(Field.ADDRESSES)
    seen_as = read.text(fields, Field.SEEN_AS, _MAX_ADDRESS_LETTERS) or ""
    if not isinstance(addresses, list) or len(addresses) > _MAX_ADDRESSES:
        raise WireError(f"ADDRESSES must be a list of at most {_MAX_ADDRESSES}")
    if not all(map(_is_address, (*addresses, seen_as))):
        raise WireError("something that is not an address")
    return DialBack(tuple(addresses), seen_as)


def encode_reachable(is_reachable: bool) -> bytes:
    return b"".join(write_message((), {Field.IS_REACHABLE: is_reachable}))


@refusing(Code.BAD_REPLY)
def decode_reachable(body: Buffer) -> bool:
    """Raises RemoteError BAD_REPLY."""
    return read.flag(read_message(body).fields, Field.IS_REACHABLE)


def _is_address(text: object) -> bool:
    return isinstance(text, str) and len(text) <= _MAX_ADDRESS_LETTERS and _ADDRESS.fullmatch(text) is not None
