"""The metadata map of requests. Reading is strict about the types of known keys and ignores unknown ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgpack

from potluck.petals.envelopes import Envelope, RawTensor
from potluck.petals.packing import TUPLE, pack, unpack_map
from potluck.protocol.messages import Caller
from potluck.wire.errors import WireError
from potluck.wire.fields import MAX_NAME_CHARS, text

Metadata = Mapping[object, object]


def _structure(count: int) -> msgpack.ExtType:
    """The stock args_structure ((__T0, ..., __Tn), {}), packed once."""
    names = tuple(b"__T%d" % index for index in range(count))
    return msgpack.ExtType(TUPLE, pack([names, {}]))


TWO_TENSORS: Final = _structure(2)
THREE_TENSORS: Final = _structure(3)
_NAMES: Final = {b"__T%d" % index: index for index in range(8)}


def read_metadata(envelope: Envelope) -> Metadata:
    """Decode the map and check the stock keys that every request may carry; raises WireError."""
    metadata = unpack_map(envelope.metadata)
    points = metadata.get("points", 0)
    if type(points) not in (int, float):
        raise WireError("points must be a number")
    return metadata


def arguments(envelope: Envelope, metadata: Metadata, count: int) -> Sequence[RawTensor]:
    """The first `count` tensors in the order that args_structure gives, or as they came; raises WireError."""
    tensors: Sequence[RawTensor] = envelope.tensors
    structure = metadata.get("args_structure")
    if structure is not None:
        tensors = _rearranged(tensors, structure)
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


def read_caller(metadata: Metadata) -> Caller:
    """Return what the metadata says of the caller. Raises WireError."""
    return Caller(adapter=text(metadata, "active_adapter", MAX_NAME_CHARS) or None)
