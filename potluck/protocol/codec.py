"""The codec of our own processes and files: msgspec structs and dataclasses as JSON, checked by their types.

The pipe, the control API and files of state use it; peers speak msgpack, see `potluck.wire.message`. The reader
limits the bytes before decoding. Fields that this version does not know are ignored: a newer one wrote them.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from potluck.errors import PotluckError

T = TypeVar("T")


class CodecError(ValueError):
    """The bytes are no JSON, or have another form than the declared one; the message says where."""


class Confidential(msgspec.Struct, frozen=True):
    """A message whose fields must not appear in logs."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"


def encode(value: object) -> bytes:
    """Return compact JSON, without a newline."""
    return msgspec.json.encode(value, enc_hook=_plain)


def readable(value: object) -> str:
    """Return JSON for people, one field a line."""
    return msgspec.json.format(encode(value)).decode()


def printed(value: object) -> str:
    """Return one line of JSON for scripts. What is not UTF-8, as in names of files, is escaped; `decode` refuses it."""
    try:
        return msgspec.json.format(encode(value), indent=0).decode()
    except UnicodeEncodeError:
        return json.dumps(builtins(value))


def decode(kind: type[T], data: bytes | str | msgspec.Raw) -> T:
    """Read JSON as a value of `kind`; `object` is any JSON.

    Raises:
        CodecError: a field is missing, has another type, or is out of its range.
    """
    try:
        value: T = _decoder(kind).decode(data)  # type: ignore[arg-type]
    except (msgspec.MsgspecError, PotluckError, ValueError, RecursionError) as error:
        raise CodecError(str(error)) from None
    return value


def builtins(value: object) -> Any:
    """Return a value as the dicts, lists and plain values of its JSON."""
    return msgspec.to_builtins(value, enc_hook=_plain)


@functools.cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(Any if kind is object else kind, dec_hook=_typed)


def _plain(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _typed(kind: type, value: object) -> object:
    if issubclass(kind, Path) and isinstance(value, str):
        return kind(value)
    raise ValueError(f"expected {kind.__name__}")
