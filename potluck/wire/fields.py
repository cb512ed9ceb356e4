"""The fields of messages: their numbers, and readers that check type and range.

A number means the same in every message and is never used again. Readers are strict about the fields they ask for;
nobody asks for fields of a newer peer, so they are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

from potluck.protocol.adapters import PrivateId
from potluck.protocol.blocks import Span
from potluck.protocol.messages import Caller
from potluck.protocol.receipts import RECEIPT_BYTES
from potluck.protocol.texts import is_printable
from potluck.wire.errors import WireError


class Field(IntEnum):
    # who asks for what
    PREFIX = 1
    START = 2
    END = 3
    ADAPTER = 5
    REVISION_DIGEST = 6
    PRIVATE = 7  # a private adapter: its digest and how many values it has
    # sessions
    MAX_LENGTH = 8
    SESSION_ID = 9
    ALLOC_TIMEOUT_S = 10
    EXACT = 11
    SHARING = 14  # its beginnings are shared with sessions of the same client and the same text only
    SPARE = 13  # with every step of a session that yields to all others
    # receipts; 12, 16, 17, 20 and 32 to 35 had meanings until November 2026
    RECEIPT = 18
    TAB = 19
    # quotes
    ROWS = 24
    TOKENS = 25
    STEP_MS = 26
    QUEUE_MS = 27
    RESERVED_TOKENS = 28
    FREE_TOKENS = 36
    # dialling back
    ADDRESSES = 40
    SEEN_AS = 41
    IS_REACHABLE = 42
    # refusals
    CODE = 48
    TEXT = 49
    RETRY_AFTER_S = 50
    # pushes from server to server
    PUSH_TO = 57  # where a server sends its output besides answering: peer and secret
    PUSHED_BY = 58  # likewise
    PUSH_NUMBER = 61
    AWAITED = 62  # number, rows, tokens
    INPUT_DIGEST = 63
    SECRET = 64
    # steps
    ANSWER_TOKENS = 65  # how many of the last tokens the answer needs
    CODEC = 60  # how the outputs of a session travel: a number of `WireTensor.codec`
    # stateless calls
    IS_TRAINED = 68  # a backward with the same inputs follows this forward
    MARGIN = 70  # within which choices of experts are taken over
    GAP = 71  # how far off the furthest choice was
    REPORT = 72  # of wrong results, which the receiver may find out about with these inputs
    # private adapters
    NAMES = 66  # of layers in a block
    PLACES = 67  # block, number of the name, rank, in_features, out_features, scale


Fields = Mapping[object, object]

MAX_ID_CHARS: Final = 128
MAX_NAME_CHARS: Final = 256
MAX_REPORT_BYTES: Final = 512
ADAPTER_DIGEST_BYTES: Final = 32


def text(fields: Mapping[Any, object], key: Field | str, max_chars: int) -> str | None:
    """Return a printable text, or None if it is missing. Raises WireError."""
    value = fields.get(key)
    if value is None:
        return None
    if not is_printable(value, max_chars):
        raise WireError(f"{_name(key)} must be a printable text of at most {max_chars} characters")
    return value


def blob(fields: Fields, key: Field, num_bytes: int) -> bytes | None:
    """Return exactly `num_bytes` bytes, or None if they are missing. Raises WireError."""
    value = fields.get(key)
    if value is not None and not (isinstance(value, bytes) and len(value) == num_bytes):
        raise WireError(f"{key.name} must be {num_bytes} bytes")
    return value


def short_blob(fields: Fields, key: Field, most: int) -> bytes:
    """Return at most `most` bytes; none if they are missing. Raises WireError."""
    value = fields.get(key, b"")
    if not isinstance(value, bytes) or len(value) > most:
        raise WireError(f"{key.name} must be at most {most} bytes")
    return value


def integer(fields: Mapping[Any, object], key: Field | str, *, most: int = 1 << 62) -> int | None:
    """Return a whole number from 0 to `most`, or None if it is missing. Raises WireError."""
    value = fields.get(key)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= most:
        raise WireError(f"{_name(key)} must be a whole number from 0 to {most}")
    return value


def required(fields: Fields, key: Field, *, most: int = 1 << 62) -> int:
    """Return a whole number from 0 to `most`. Raises WireError, also for a missing field."""
    value = integer(fields, key, most=most)
    if value is None:
        raise WireError(f"{key.name} is missing")
    return value


def flag(fields: Fields, key: Field) -> bool:
    """Return true or false; a missing field is false. Raises WireError."""
    value = fields.get(key, False)
    if type(value) is not bool:
        raise WireError(f"{key.name} must be true or false")
    return value


def number(fields: Mapping[Any, object], key: Field | str) -> float | None:
    """Return a finite number of at least 0, or None if it is missing. Raises WireError."""
    value = fields.get(key)
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 <= value < math.inf:  # type: ignore[operator]
        raise WireError(f"{_name(key)} must be a finite number of at least 0")
    return float(value)  # type: ignore[arg-type]


def _name(key: Field | str) -> str:
    """Return the name of a field of ours, or of one that Petals calls by name."""
    return key if isinstance(key, str) else key.name


def target_fields(prefix: str, span: Span, caller: Caller) -> dict[int, object]:
    """Return the fields that say who asks for which blocks."""
    fields: dict[int, object] = {Field.PREFIX: prefix, Field.START: span.start, Field.END: span.end}
    optional = {
        Field.ADAPTER: caller.adapter,
        Field.REVISION_DIGEST: caller.revision_digest,
        Field.RECEIPT: caller.receipt,
        Field.PRIVATE: None if caller.private is None else list(caller.private),
    }
    return fields | {key: value for key, value in optional.items() if value}


def read_target(fields: Fields, *, num_blocks: int) -> tuple[str, Span, Caller]:
    """Return prefix, blocks and caller. Raises WireError."""
    prefix = text(fields, Field.PREFIX, MAX_NAME_CHARS)
    start, end = required(fields, Field.START, most=num_blocks), required(fields, Field.END, most=num_blocks)
    if not prefix or start >= end:
        raise WireError(f"a request for blocks {start}:{end} of {prefix!r}")
    caller = Caller(
        adapter=text(fields, Field.ADAPTER, MAX_NAME_CHARS) or None,
        revision_digest=text(fields, Field.REVISION_DIGEST, MAX_ID_CHARS),
        receipt=blob(fields, Field.RECEIPT, RECEIPT_BYTES),
        private=_read_private(fields),
    )
    return prefix, Span(start, end), caller


def _read_private(fields: Fields) -> PrivateId | None:
    value = fields.get(Field.PRIVATE)
    if value is None:
        return None
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise WireError("PRIVATE must be a digest and a number")
    digest, num_values = value
    if not isinstance(digest, bytes) or len(digest) != ADAPTER_DIGEST_BYTES:
        raise WireError(f"the digest of a private adapter has {ADAPTER_DIGEST_BYTES} bytes")
    if type(num_values) is not int or not 0 < num_values < 1 << 40:
        raise WireError("a private adapter of no values")
    return PrivateId(digest, num_values)
