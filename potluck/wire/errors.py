"""Malformed bytes as `WireError`, and refusals as bytes: a code, a text for people, and when to come back.

Inside this package malformed bytes are a `WireError`; everybody else sees a `RemoteError`. The layout of a refusal
stays that of version 1 of the wire for ever, so that peers of two versions can tell each other so. A stock peer of an
open swarm sends words: bare in the answer to a call, and in field 1 of a protobuf message on a stream.

    head     24 bytes: 1, three times 0, bytes of the map (u32, little-endian), and 16 bytes that say nothing
    map      msgpack: 48 the code, 49 the text, 50 the seconds after which to come back, 51 why a node is not let in
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Final, ParamSpec, TypeVar

import msgspec
from msgspec import Meta

from potluck.protocol.codes import Code, Denial, RemoteError
from potluck.protocol.values import Buffer

P = ParamSpec("P")
T = TypeVar("T")


class WireError(Exception):
    """An error in bytes that break the protocol. It becomes a RemoteError at the edge of this package."""

    def __init__(self, message: str, code: Code | None = None) -> None:
        super().__init__(message)
        self.code = code  # None: the edge decides between BAD_REQUEST and BAD_REPLY

    def refusal(self, code: Code) -> RemoteError:
        """Return what others see: `code`, or the code that the error carries."""
        return RemoteError(self.code or code, str(self))


def refusing(
    code: Code, *others: type[Exception], what: str = "a message"
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Turn a WireError of the decorated function into RemoteError(`code`), or into the code the error carries.

    Args:
        others: errors that mean the same: bytes from which `what` cannot be understood.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def edge(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except WireError as error:
                raise error.refusal(code) from None
            except others as error:
                raise RemoteError(code, f"{what} is not understood: {error}") from error

        return edge

    return decorate


_HEAD_BYTES: Final = 24
_START, _REST = b"\1\0\0\0", b"\xff" * 8 + bytes(8)
_CODE, _TEXT, _RETRY_AFTER_S, _DENIAL = 48, 49, 50, 51
_RefusalFields = tuple[str, str, Annotated[float, Meta(ge=0, le=1e15)] | None, str]
_FIELD_1: Final = re.compile(rb"\A\n[\x80-\xff]*[\x00-\x7f]")  # its tag and length
_FOR_NOW: Final = re.compile(r"out of memory|could not allocate|timeout|cancelled|\A\Z", re.IGNORECASE)


def encode_refusal(error: RemoteError) -> bytes:
    fields: dict[int, object] = {_CODE: str(error.code), _TEXT: error.message}
    if error.retry_after_s is not None:
        fields[_RETRY_AFTER_S] = float(error.retry_after_s)
    if error.denial is not None:
        fields[_DENIAL] = str(error.denial)
    said = msgspec.msgpack.encode(fields)
    return _START + len(said).to_bytes(4, "little") + _REST + said


def decode_refusal(body: Buffer, *, may_be_plain_text: bool) -> RemoteError:
    """Read what a peer sent as a refusal; never raises. An unknown code reads as INTERNAL.

    Args:
        may_be_plain_text: the swarm is open, so the peer may be a stock one.
    """
    if may_be_plain_text and body[:1] != _START[:1]:
        words = _FIELD_1.sub(b"", bytes(body)).decode(errors="replace")
        return RemoteError(Code.BUSY if _FOR_NOW.search(words) else Code.REFUSED, words)
    try:
        if body[:4] != _START:
            raise ValueError("another layout")
        fields = msgspec.msgpack.decode(body[_HEAD_BYTES:], type=dict[int, Any])
        said = fields.get(_CODE, ""), fields.get(_TEXT, ""), fields.get(_RETRY_AFTER_S), fields.get(_DENIAL, "")
        code, text, retry_after_s, denial = msgspec.convert(said, _RefusalFields)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return RemoteError(Code.BAD_REPLY, f"an unreadable refusal: {error}")
    known = next((each for each in Code if each == code), Code.INTERNAL)
    return RemoteError(known, next((each for each in Denial if each == denial), text), retry_after_s=retry_after_s)
