"""The metadata map of requests. Reading is strict about the types of known keys and ignores unknown ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgpack
from msgspec import Struct

from potluck.petals.envelopes import Envelope, RawTensor
from potluck.petals.packing import TUPLE, pack, unpack
from potluck.protocol.messages import Amount, Caller, Count
from potluck.protocol.texts import Text
from potluck.wire.errors import WireError


class Metadata(Struct, frozen=True):
    """The keys that somebody needs, of which all are optional."""

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
    """The stock args_structure ((__T0, ..., __Tn), {}), packed once."""
    names = tuple(b"__T%d" % index for index in range(count))
    return msgpack.ExtType(TUPLE, pack([names, {}]))


TWO_TENSORS: Final = _structure(2)
THREE_TENSORS: Final = _structure(3)
_NAMES: Final = {b"__T%d" % index: index for index in range(8)}


def read_metadata(envelope: Envelope) -> Metadata:
    """Decode the map, of which no bytes at all are an empty one; raises WireError."""
    return unpack(envelope.metadata, Metadata) if len(envelope.metadata) else Metadata()


def arguments(envelope: Envelope, metadata: Metadata, count: int) -> Sequence[RawTensor]:
    """The first `count` tensors in the order that args_structure gives, or as they came; raises WireError."""
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
