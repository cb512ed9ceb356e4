"""The msgpack of Petals' messages, and the metadata map of its requests.

The dialect has a binary type and extension codes: 0x40 is a tuple, which is no list; 0x51, a tensor's descriptor, is
only written. Everything read here comes from a peer: size, nesting and extension depth are bounded before anything is
built. Reading a metadata map is strict about the types of known keys and ignores unknown ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar, cast

import msgpack
import msgspec
from msgspec import Struct

from potluck.petals.envelopes import Envelope, RawTensor
from potluck.protocol.messages import Amount, Caller, Count
from potluck.protocol.values import Buffer, Text
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


class Metadata(Struct, frozen=True):
    """The keys of a metadata map that somebody needs, all of them optional."""

    args_structure: Any = None
    points: float = 0.0
    active_adapter: Text | None = None
    max_length: Count | None = None
    start_from_position: Count | None = None
    alloc_timeout: Amount | None = None

    @property
    def caller(self) -> Caller:
        """Return what the metadata says of the caller."""
        return Caller(adapter=self.active_adapter or None)


def _structure(count: int) -> msgpack.ExtType:
    """Return the stock args_structure ((__T0, ..., __Tn), {}), packed."""
    names = tuple(b"__T%d" % index for index in range(count))
    return msgpack.ExtType(TUPLE, pack([names, {}]))


TWO_TENSORS: Final = _structure(2)
THREE_TENSORS: Final = _structure(3)
_NAMES: Final = {b"__T%d" % index: index for index in range(8)}


def read_metadata(envelope: Envelope) -> Metadata:
    """Decode the map, of which no bytes at all are an empty one; raises WireError."""
    return unpack(envelope.metadata, Metadata) if len(envelope.metadata) else Metadata()


def arguments(envelope: Envelope, metadata: Metadata, count: int) -> Sequence[RawTensor]:
    """Return the first `count` tensors in the order of args_structure, or as they came. Raises WireError."""
    tensors: Sequence[RawTensor] = envelope.tensors
    if metadata.args_structure is not None:
        tensors = _rearranged(tensors, metadata.args_structure)
    if len(tensors) < count:
        raise WireError(f"expected {count} tensors, not {len(tensors)}")
    return tensors[:count]


def _rearranged(tensors: Sequence[RawTensor], structure: object) -> list[RawTensor]:
    match structure:
        case [[*names], {}] if len(names) <= len(_NAMES):
            indices = [_NAMES.get(name) if isinstance(name, bytes) else None for name in names]
            if all(index is not None and index < len(tensors) for index in indices):
                return [tensors[index] for index in indices if index is not None]
    raise WireError("args_structure does not fit the tensors")
