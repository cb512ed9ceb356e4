"""The msgpack dialect of Petals: binary type on, and extension codes.

0x40 is a tuple, which is no list; 0x51, a tensor's descriptor, is only written. Everything read here comes from a peer:
size, nesting and extension depth are bounded before anything is built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

import msgpack

from potluck.protocol.buffers import Buffer
from potluck.wire.errors import WireError

TUPLE: Final = 0x40
_DESCRIPTOR: Final = 0x51

MAX_BYTES: Final = 64 * 1024
"""A whole packed value. The largest honest one, an rpc_info with digests of a few hundred blocks, takes some 10 KiB."""
MAX_EXTENSION_DEPTH: Final = 8


def pack(value: object) -> bytes:
    """Encode; the value is ours, so an impossible type raises TypeError."""
    return cast(bytes, msgpack.packb(value, use_bin_type=True, strict_types=True, default=_extension))


def tensor_descriptor(size: tuple[int | None, ...], dtype: str) -> msgpack.ExtType:
    """Return shape and type ("torch.bfloat16") of a tensor in a schema. None in front stands for the batch."""
    fields = {
        "size": size,
        "dtype": dtype,
        "layout": "torch.strided",
        "requires_grad": False,
        "pin_memory": False,
        "compression": 0,
        "device_type": None,
        "device_index": None,
    }
    return msgpack.ExtType(_DESCRIPTOR, pack(fields))


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
        if code != TUPLE:
            return payload
        if depth + 1 >= MAX_EXTENSION_DEPTH:
            raise WireError("msgpack: extensions are nested too deeply")
        value = _unpack(payload, depth + 1)
        if not isinstance(value, list):
            raise WireError("msgpack: bad payload of a tuple")
        return tuple(value)

    return hook


_HOOKS: Final = tuple(_hook(depth) for depth in range(MAX_EXTENSION_DEPTH))


def _extension(value: object) -> msgpack.ExtType:
    if isinstance(value, tuple):
        return msgpack.ExtType(TUPLE, pack(list(value)))
    raise TypeError(f"cannot pack {type(value).__name__}")
