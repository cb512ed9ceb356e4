"""The msgpack dialect of Petals: binary type on, and extension codes.

0x40 is a tuple, which is no list; 0x51, a tensor's descriptor, is only written. Everything read here comes from a peer:
size, nesting and extension depth are bounded before anything is built.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import msgpack
import msgspec

from potluck.protocol.buffers import Buffer
from potluck.wire.errors import WireError

T = TypeVar("T")

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


def unpack(data: Buffer, kind: type[T]) -> T:
    """Decode a peer's bytes to a value of this type.

    Unknown extensions are returned as their payload. Raises WireError.
    """
    if len(data) > MAX_BYTES:
        raise WireError(f"msgpack: {len(data)} bytes, at most {MAX_BYTES} allowed")
    return _unpack(data, kind, 0)


def _unpack(data: Buffer, kind: type[T], depth: int) -> T:
    try:
        return msgspec.msgpack.decode(data, type=kind, ext_hook=_HOOKS[depth])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise WireError(f"msgpack: {str(error)[:80] or type(error).__name__}") from None


def _hook(depth: int) -> Callable[[int, memoryview], object]:
    def hook(code: int, payload: memoryview) -> object:
        if code != TUPLE:
            return bytes(payload)
        if depth + 1 >= MAX_EXTENSION_DEPTH:
            raise WireError("msgpack: extensions are nested too deeply")
        return tuple(_unpack(payload, list[Any], depth + 1))

    return hook


_HOOKS: Final = tuple(_hook(depth) for depth in range(MAX_EXTENSION_DEPTH))


def _extension(value: object) -> msgpack.ExtType:
    if isinstance(value, tuple):
        return msgpack.ExtType(TUPLE, pack(list(value)))
    raise TypeError(f"cannot pack {type(value).__name__}")
