"""Requests for pieces of a model's files. The bytes of a piece follow as plain frames.

The pieces are those of the signed manifest, so a receiver checks each by itself and believes nobody.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

PART_BYTES = 256 << 10  # of one frame: a small answer of another stream waits for no more than this
MAX_REQUEST_BYTES = 512
MANIFEST = ""
"""The name under which the manifest itself is asked for; it has one piece."""


class PieceRequest(Struct, frozen=True):
    """Asks for one piece. `weights`: digest of the manifest."""

    weights: Annotated[bytes, Meta(min_length=32, max_length=32)]
    file: Annotated[str, Meta(max_length=200)]
    piece: Annotated[int, Meta(ge=0, lt=1 << 20)]
