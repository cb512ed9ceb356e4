"""Requests for pieces of a model's files, and what a member has of them. Bytes of pieces follow as plain frames.

The pieces are those of the signed manifest, so a receiver checks each by itself and believes nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgpack

from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.texts import is_printable

PART_BYTES = 256 << 10  # of one frame: a small answer of another stream waits for no more than this
MAX_REQUEST_BYTES = 512
MANIFEST = ""
"""The name under which the manifest itself is asked for; it has one piece."""
_MAX_FILES = 4096
_MAX_NAME = 200
_MAX_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class PieceRequest:
    """Asks for one piece. `weights`: digest of the manifest, 32 bytes."""

    weights: bytes
    file: str
    piece: int


@dataclass(frozen=True, slots=True)
class Held:
    """What a member has. `manifest_bytes`: size of the manifest; 0: it has none of these weights."""

    manifest_bytes: int = 0
    files: tuple[str, ...] = ()


def encode_request(request: PieceRequest) -> bytes:
    return bytes(msgpack.packb([request.weights, request.file, request.piece]))


def decode_request(body: bytes) -> PieceRequest:
    """Raises RemoteError BAD_REQUEST."""
    match _unpacked(body, MAX_REQUEST_BYTES, Code.BAD_REQUEST):
        case [bytes(weights), str(file), int(piece)] if (
            len(weights) == 32 and len(file) <= _MAX_NAME and type(piece) is int and 0 <= piece < _MAX_PIECE
        ):
            return PieceRequest(weights, file, piece)
    raise RemoteError(Code.BAD_REQUEST, "not a request for a piece")


def encode_held(held: Held) -> bytes:
    return bytes(msgpack.packb({"manifest": held.manifest_bytes, "files": list(held.files)}))


def decode_held(body: bytes, *, max_manifest_bytes: int) -> Held:
    """Raises RemoteError BAD_REPLY."""
    match _unpacked(body, 1 << 20, Code.BAD_REPLY):
        case {"manifest": int(size), "files": list(files)} if (
            type(size) is int
            and 0 <= size <= max_manifest_bytes
            and len(files) <= _MAX_FILES
            and all(is_printable(file, _MAX_NAME) for file in files)
        ):
            return Held(size, tuple(files))
    raise RemoteError(Code.BAD_REPLY, "not an answer about files")


def _unpacked(body: bytes, max_bytes: int, code: Code) -> object:
    try:
        return msgpack.unpackb(body) if len(body) <= max_bytes else None
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise RemoteError(code, "not a message about files") from error
