"""Private adapters on their way to a server, which reads the places before it takes in any values."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import msgspec

from potluck.protocol.adapters import AdapterLayout, AdapterPlace, PrefixPlace
from potluck.protocol.blocks import Span
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.protocol.messages import AdapterUpload, Caller, Target
from potluck.wire.errors import WireError, refusing
from potluck.wire.limits import Limits
from potluck.wire.message import MAX_FIELD_BYTES, PartJoiner
from potluck.wire.tensors import check_floats, decode_tensors, values_of


class _Start(Target, frozen=True, kw_only=True):
    """What the first frame of an upload says."""

    layout: AdapterLayout


def digest_of(layout: AdapterLayout, values: Buffer) -> bytes:
    """Return what an adapter is called by: 32 bytes that change with its places and values."""
    digest = hashlib.sha256(msgspec.msgpack.encode(layout))
    digest.update(values)
    return digest.digest()


class UploadJoiner(PartJoiner):
    """Reads an upload of one frame or more at the server."""

    def __init__(self, limits: Limits, *, max_bytes: int) -> None:
        """`max_bytes`: of the values."""
        self._limits = limits
        super().__init__(Code.BAD_REQUEST, max_bytes=max_bytes + 2 * MAX_FIELD_BYTES)

    @refusing(Code.BAD_REQUEST)
    def start(self) -> tuple[str, Span, Caller, AdapterLayout]:
        """Return what the first frame says: prefix, blocks, caller and places. Raises RemoteError."""
        start = self.read_first(_Start)
        self._limits.check_span(start.span)
        _check_layout(start.layout, start.span)
        private = start.caller.private
        if private is None or private.num_values != start.layout.num_values:
            raise WireError(f"an adapter of {start.layout.num_values} values that says otherwise of itself")
        return start.prefix, start.span, start.caller, start.layout

    @refusing(Code.BAD_REQUEST)
    def upload(self) -> AdapterUpload:
        """Return the upload, once it is whole. Raises RemoteError."""
        self.start()
        upload = decode_tensors(self.body, AdapterUpload)
        check_floats(upload.values, (upload.layout.num_values,))
        assert upload.caller.private is not None
        if digest_of(upload.layout, values_of(upload.values)) != upload.caller.private.digest:
            raise WireError("an adapter whose values do not belong to its digest")
        return upload


def _check_layout(layout: AdapterLayout, span: Span) -> None:
    keys = [(place.block, place.name if isinstance(place, AdapterPlace) else "") for place in layout.places]
    if any(block not in span for block, _ in keys):
        raise WireError("a place outside of the blocks")
    if any(block > following for (block, _), (following, _) in pairwise(keys)):
        raise WireError("the places are not in the order of their blocks")
    if len(set(keys)) != len(keys):
        raise WireError("a layer is changed twice")
    prefixes = {place.block: place.tokens for place in layout.places if isinstance(place, PrefixPlace)}
    if prefixes and (prefixes.keys() != set(span) or len(set(prefixes.values())) != 1):
        raise WireError("a prefix has as many tokens in each block")
