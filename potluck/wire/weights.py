"""Requests for pieces of a model's files. The bytes of a piece follow as plain frames.

The pieces are those of the signed manifest, so a receiver checks each by itself and believes nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgpack

from potluck.protocol.codes import Code, RemoteError

PART_BYTES = 256 << 10  # of one frame: a small answer of another stream waits for no more than this
MAX_REQUEST_BYTES = 512
MANIFEST = ""
"""The name under which the manifest itself is asked for; it has one piece."""
_MAX_NAME = 200
_MAX_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class PieceRequest:
    """Asks for one piece. `weights`: digest of the manifest, 32 bytes."""

    weights: bytes
    file: str
    piece: int


def encode_request(request: PieceRequest) -> bytes:
    return bytes(msgpack.packb([request.weights, request.file, request.piece]))


def decode_request(body: bytes) -> PieceRequest:
    """Raises RemoteError BAD_REQUEST."""
    try:
        fields = msgpack.unpackb(body) if len(body) <= MAX_REQUEST_BYTES else None
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise RemoteError(Code.BAD_REQUEST, "not a request for a piece") from error
    match fields:
        case [bytes(weights), str(file), int(piece)] if (
            len(weights) == 32 and len(file) <= _MAX_NAME and type(piece) is int and 0 <= piece < _MAX_PIECE
        ):
            return PieceRequest(weights, file, piece)
    raise RemoteError(Code.BAD_REQUEST, "not a request for a piece")
