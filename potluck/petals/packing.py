"""The msgpack dialect of the wire: binary type on, and three extension codes.

0x40 tuple (lists and tuples are distinct), 0x50 dictionary record of the DHT, 0x51 tensor descriptor. Everything read
here comes from a peer: size, nesting and extension depth are bounded before anything is built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, cast

import msgpack

from potluck.protocol.buffers import Buffer
from potluck.wire.errors import WireError

TUPLE: Final = 0x40
DICTIONARY: Final = 0x50
DESCRIPTOR: Final = 0x51

MAX_BYTES: Final = 64 * 1024
"""A whole packed value. The largest honest one, an rpc_info with digests of a few hundred blocks, takes some 10 KiB."""
MAX_EXTENSION_DEPTH: Final = 8


@dataclass(frozen=True, slots=True)
class TensorDescriptor:
    """Shape and type of a tensor in a schema. `size` None in front stands for the batch."""

    size: tuple[int | None, ...]
    dtype: str | None  # "torch.bfloat16"
    compression: int = 0


@dataclass(frozen=True, slots=True)
class DictionaryRecord:
    """A DHT dictionary: (subkey, packed value, expiration) entries."""

    max_size: float
    latest_expiration: float
    entries: tuple[tuple[object, bytes, float], ...]


def pack(value: object) -> bytes:
    """Encode; the value is ours, so an impossible type raises TypeError."""
    return cast(bytes, msgpack.packb(value, use_bin_type=True, strict_types=True, default=_extension))


def unpack(data: Buffer) -> object:
    """Decode a peer's bytes.

    Unknown extensions are returned as their payload. Raises WireError.
    """
    if len(data) > MAX_BYTES:
        raise WireError(f"msgpack: {len(data)} bytes, at most {MAX_BYTES} allowed")
    return _unpack(data, 0)


def unpack_map(data: Buffer) -> Mapping[object, object]:
    """Decode a map; no bytes at all are an empty one."""
    if not len(data):
        return {}
    value = unpack(data)
    if not isinstance(value, dict):
        raise WireError("msgpack: expected a map")
    return value


def _unpack(data: Buffer, depth: int) -> object:
    try:
        return cast(object, msgpack.unpackb(data, raw=False, strict_map_key=False, ext_hook=_HOOKS[depth]))
    except (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        raise WireError(f"msgpack: {str(error)[:80] or type(error).__name__}") from None


def _hook(depth: int) -> Callable[[int, bytes], object]:
    def hook(code: int, payload: bytes) -> object:
        if code not in (TUPLE, DICTIONARY, DESCRIPTOR):
            return payload
        if depth + 1 >= MAX_EXTENSION_DEPTH:
            raise WireError("msgpack: extensions are nested too deeply")
        value = _unpack(payload, depth + 1)
        if code == TUPLE and isinstance(value, list):
            return tuple(value)
        if code == DICTIONARY and isinstance(value, list):
            return _dictionary(value)
        if code == DESCRIPTOR and isinstance(value, dict):
            return _descriptor(value)
        raise WireError(f"msgpack: bad payload of extension 0x{code:x}")

    return hook


_HOOKS: Final = tuple(_hook(depth) for depth in range(MAX_EXTENSION_DEPTH))


def _dictionary(value: list[object]) -> DictionaryRecord:
    match value:
        case [float(size), float(latest), list(entries)]:
            return DictionaryRecord(size, latest, tuple(_entry(entry) for entry in entries))
    raise WireError("msgpack: bad dictionary record")


def _entry(value: object) -> tuple[object, bytes, float]:
    match value:
        case [subkey, bytes(packed), float(expiration)]:
            return subkey, packed, expiration
    raise WireError("msgpack: bad entry of a dictionary record")


def _descriptor(value: dict[object, object]) -> TensorDescriptor:
    match value:
        case {"size": tuple(size), "dtype": str() | None as dtype, "compression": int(compression)} if all(
            item is None or (type(item) is int and item >= 0) for item in size
        ):
            return TensorDescriptor(size, dtype, compression)
    raise WireError("msgpack: bad tensor descriptor")


def _extension(value: object) -> msgpack.ExtType:
    if isinstance(value, tuple):
        return msgpack.ExtType(TUPLE, pack(list(value)))
    if isinstance(value, TensorDescriptor):
        return msgpack.ExtType(DESCRIPTOR, pack(_descriptor_map(value)))
    if isinstance(value, DictionaryRecord):
        entries = [list(entry) for entry in value.entries]
        return msgpack.ExtType(DICTIONARY, pack([value.max_size, value.latest_expiration, entries]))
    raise TypeError(f"cannot pack {type(value).__name__}")


def _descriptor_map(descriptor: TensorDescriptor) -> dict[str, object]:
    return {
        "size": descriptor.size,
        "dtype": descriptor.dtype,
        "layout": "torch.strided",
        "requires_grad": False,
        "pin_memory": False,
        "compression": descriptor.compression,
        "device_type": None,
        "device_index": None,
    }
