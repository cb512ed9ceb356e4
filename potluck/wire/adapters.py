"""Private adapters on their way to a server, which reads the places before it takes in any values."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from itertools import pairwise

import msgpack

from potluck.protocol.adapters import AdapterLayout, AdapterPlace, PrefixPlace
from potluck.protocol.blocks import Span
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.protocol.messages import AdapterUpload, Caller
from potluck.protocol.texts import is_printable
from potluck.wire import fields as read
from potluck.wire.errors import WireError, refusing
from potluck.wire.fields import MAX_NAME_CHARS, Field, Fields, target_fields
from potluck.wire.message import MAX_FIELD_BYTES, RequestParts, Role, split, write_message
from potluck.wire.tensors import read_floats, to_wire, values_of

_MAX_NAMES = 64  # different layers of one block
_MAX_PLACES = 2048
_MAX_RANK = 1024
_MOST_FEATURES = 1 << 24

ACCEPTED = b"".join(write_message())
"""What a server answers when it has the adapter."""


def digest_of(layout: AdapterLayout, values: Buffer) -> bytes:
    """Return what an adapter is called by: 32 bytes that change with its places and values."""
    digest = hashlib.sha256(msgpack.packb([list(place) for place in layout.places]))
    digest.update(values)
    return digest.digest()


def encode_upload(upload: AdapterUpload) -> Iterator[tuple[Buffer, ...]]:
    """Yield the frames, each in pieces."""
    names = list(dict.fromkeys(place.name for place in upload.layout.places if isinstance(place, AdapterPlace)))
    fields = target_fields(upload.prefix, upload.span, upload.caller)
    fields[Field.NAMES] = names
    fields[Field.PLACES] = [
        [place.block, names.index(place.name), *place[2:5], float(place.scale)]
        if isinstance(place, AdapterPlace)
        else list(place)
        for place in upload.layout.places
    ]
    return split(write_message((to_wire(Role.ADAPTER, upload.values),), fields))


class UploadJoiner(RequestParts):
    """Reads an upload of one frame or more at the server."""

    def __init__(self, *, num_blocks: int, max_bytes: int) -> None:
        """`max_bytes`: of the values."""
        self._num_blocks = num_blocks
        super().__init__(max_bytes=max_bytes + 2 * MAX_FIELD_BYTES)

    @refusing(Code.BAD_REQUEST)
    def start(self) -> tuple[str, Span, Caller, AdapterLayout]:
        """Return what the first frame says: prefix, blocks, caller and places. Raises RemoteError."""
        fields = self.first().fields
        prefix, span, caller = read.read_target(fields, num_blocks=self._num_blocks)
        layout = _read_layout(fields, span)
        if caller.private is None or caller.private.num_values != layout.num_values:
            raise WireError(f"an adapter of {layout.num_values} values that says otherwise of itself")
        return prefix, span, caller, layout

    @refusing(Code.BAD_REQUEST)
    def upload(self) -> AdapterUpload:
        """Return the upload, once it is whole. Raises RemoteError."""
        prefix, span, caller, layout = self.start()
        tensor = self.whole().tensor(Role.ADAPTER)
        if tensor is None:
            raise WireError("an adapter without values")
        values = read_floats(tensor, (layout.num_values,))
        assert caller.private is not None
        if digest_of(layout, values_of(values)) != caller.private.digest:
            raise WireError("an adapter whose values do not belong to its digest")
        return AdapterUpload(prefix, span, layout, values, caller)


def _read_layout(fields: Fields, span: Span) -> AdapterLayout:
    names, rows = fields.get(Field.NAMES), fields.get(Field.PLACES)
    if not isinstance(names, list) or len(names) > _MAX_NAMES:
        raise WireError("NAMES must be a list of layers")
    if any(not is_printable(name, MAX_NAME_CHARS) or not name for name in names):
        raise WireError("the name of a layer must be a short text")
    if not isinstance(rows, list) or not 0 < len(rows) <= _MAX_PLACES:
        raise WireError(f"PLACES must be a list of at most {_MAX_PLACES}")
    layout = AdapterLayout(tuple(_read_place(row, names, span) for row in rows))
    keys = [(place.block, place.name if isinstance(place, AdapterPlace) else "") for place in layout.places]
    if any(block > following for (block, _), (following, _) in pairwise(keys)):
        raise WireError("the places are not in the order of their blocks")
    if len(set(keys)) != len(keys):
        raise WireError("a layer is changed twice")
    prefixes = {place.block: place.tokens for place in layout.places if isinstance(place, PrefixPlace)}
    if prefixes and (prefixes.keys() != set(span) or len(set(prefixes.values())) != 1):
        raise WireError("a prefix has as many tokens in each block")
    return layout


def _read_place(row: object, names: list[str], span: Span) -> AdapterPlace | PrefixPlace:
    if not isinstance(row, list) or len(row) not in (5, 6) or any(type(each) is not int for each in row[:5]):
        raise WireError("a place is five whole numbers, and the scale of a layer")
    if len(row) == 5:
        if row[0] not in span or any(not 0 < size <= _MOST_FEATURES for size in row[1:]):
            raise WireError("a prefix of impossible size")
        return PrefixPlace(*row)
    block, name, rank, in_features, out_features, scale = row
    if type(scale) is not float or not math.isfinite(scale):
        raise WireError("a scale must be a finite number")
    if block not in span or not 0 <= name < len(names):
        raise WireError("a place outside of the blocks or names")
    if not (0 < rank <= _MAX_RANK and 0 < in_features <= _MOST_FEATURES and 0 < out_features <= _MOST_FEATURES):
        raise WireError("a place of impossible size")
    return AdapterPlace(block, names[name], rank, in_features, out_features, scale)
