"""Plain dataclasses to JSON values and back, by their type hints.

Shared by the control API and the engine's pipe. A message comes from another process, so decoding checks every type:
fields that this version does not know are ignored (a newer peer sent them), fields of a wrong type are refused.
Knows nothing of sockets. Supported: bool, int, finite float, str, bytes and Path (as text), StrEnum, dataclasses,
`X | None`, `tuple[X, ...]`, `tuple[X, Y]`, and unions of plain types and tuples: the first that fits.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import math
import types
import typing
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

MAX_DEPTH = 16  # our own messages nest four deep


class CodecError(ValueError):
    """A value does not have the declared type; the message names the field."""


def to_json(value: object) -> Any:
    """Return the JSON value of a dataclass, or of anything that it may contain."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value) if isinstance(value, Path) else value


def from_json(kind: type[T], data: object, where: str = "message") -> T:
    """Build `kind` from a JSON value.

    Raises:
        CodecError: a field is missing, has another type, or is out of range of its class.
    """
    return typing.cast(T, _decode(kind, data, where, 0))


def dumps(value: object) -> bytes:
    """Return one line of compact JSON, without the newline."""
    return json.dumps(to_json(value), separators=(",", ":"), allow_nan=False).encode()


def loads(text: bytes) -> object:
    """Parse JSON strictly: no NaN, no repeated keys.

    Raises:
        CodecError: it is not JSON, nested too deeply, or has half of a pair of surrogates, which nobody can write.
    """
    try:
        value: object = json.loads(text.decode(), parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
        if b"\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except CodecError:
        raise
    except (ValueError, RecursionError) as error:
        raise CodecError(f"not JSON: {error}") from None


def _refuse_constant(name: str) -> object:
    raise CodecError(f"not JSON: {name}")


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise CodecError("not JSON: a key appears twice")
    return result


@functools.cache
def _fields(kind: type) -> tuple[tuple[str, Any, bool], ...]:
    """Return the name and type of each field, and whether it must be there."""
    hints = typing.get_type_hints(kind)
    return tuple(
        (field.name, hints[field.name], field.default is MISSING and field.default_factory is MISSING)
        for field in fields(kind)
    )


@functools.cache  # an engine reports a hundred values each second
def _decoder(kind: Any) -> Callable[[object, str, int], object]:
    """Return the function for values of a type: it takes the value, its place in the message, and the depth there."""
    kind = getattr(kind, "__supertype__", kind)  # of a NewType
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return functools.partial(_decode_optional, args)
    if origin is tuple:
        return functools.partial(_decode_tuple, args)
    if is_dataclass(kind):
        return functools.partial(_decode_dataclass, typing.cast(type, kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return functools.partial(_decode_enum, kind)
    return functools.partial(_decode_plain, kind)


def _decode(kind: Any, data: object, where: str, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise CodecError(f"{where}: nested too deeply")
    return _decoder(kind)(data, where, depth)


def _decode_optional(args: tuple[Any, ...], data: object, where: str, depth: int) -> object:
    if data is None and type(None) in args:
        return None
    *others, last = (item for item in args if item is not type(None))
    for inner in others:
        with contextlib.suppress(CodecError):
            return _decode(inner, data, where, depth)
    return _decode(last, data, where, depth)


def _decode_tuple(args: tuple[Any, ...], data: object, where: str, depth: int) -> object:
    if not isinstance(data, list):
        raise CodecError(f"{where}: expected a list")
    if len(args) == 2 and args[1] is Ellipsis:
        args = (args[0],) * len(data)
    if len(args) != len(data):
        raise CodecError(f"{where}: expected {len(args)} items, not {len(data)}")
    return tuple(
        _decode(kind, item, f"{where}[{i}]", depth + 1) for i, (kind, item) in enumerate(zip(args, data, strict=True))
    )


def _decode_dataclass(kind: type, data: object, where: str, depth: int) -> object:
    if not isinstance(data, dict):
        raise CodecError(f"{where}: expected an object")
    values: dict[str, object] = {}
    for name, inner, is_needed in _fields(kind):
        if name in data:
            values[name] = _decode(inner, data[name], f"{where}.{name}", depth + 1)
        elif is_needed:
            raise CodecError(f"{where}.{name} is missing")
    try:
        return kind(**values)
    except ValueError as error:  # the class's own range checks
        raise CodecError(f"{where}: {error}") from None


def _decode_enum(kind: type[Enum], data: object, where: str, depth: int) -> object:
    try:
        return kind(data)
    except ValueError:
        raise CodecError(f"{where}: unknown value {str(data)[:40]!r}") from None


def _decode_plain(kind: Any, data: object, where: str, depth: int) -> object:
    if type(data) is int and abs(data) >= 1 << 63:
        raise CodecError(f"{where}: the number is too large")
    if kind is float and isinstance(data, int | float) and not isinstance(data, bool):
        if not math.isfinite(data):
            raise CodecError(f"{where}: not a finite number")
        return float(data)
    if kind in (bool, int, str) and type(data) is kind:
        return data
    if kind is Path and isinstance(data, str):
        return Path(data)
    if kind is bytes and isinstance(data, str):
        try:
            return base64.b64decode(data, validate=True)
        except ValueError:
            raise CodecError(f"{where}: not base64") from None
    raise CodecError(f"{where}: expected {getattr(kind, '__name__', kind)}")
