"""The metadata map of requests and replies: stock keys, and ours under one key of their own.

Reading is strict about the types of known keys and blind to unknown ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgpack

from potluck.protocol.messages import Caller, Timing
from potluck.protocol.receipts import COUNTERSIGNED_BYTES, DELEGATION_BYTES, RECEIPT_BYTES, TAB_BYTES, VOUCHER_BYTES
from potluck.wire.envelopes import Envelope, RawTensor
from potluck.wire.errors import WireError
from potluck.wire.packing import TUPLE, pack, unpack_map
from potluck.wire.tensors import ENCODABLE

OURS: Final = "potluck"
"""The key of the map that only our own peers read."""

MAX_ID_CHARS: Final = 128
MAX_NAME_CHARS: Final = 256
MAX_PROOF_BYTES: Final = 4096
MAX_VOUCHERS: Final = 8

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


def caller_fields(caller: Caller) -> dict[str, object]:
    """What goes under OURS for a caller; empty if there is nothing to say."""
    ours: dict[str, object] = {}
    if caller.membership is not None:
        ours["membership"] = caller.membership
    if caller.revision_digest is not None:
        ours["revision_digest"] = caller.revision_digest
    if caller.delegation is not None:
        ours["delegation"] = caller.delegation
    if caller.vouchers:
        ours["vouchers"] = list(caller.vouchers)
    if caller.receipt is not None:
        ours["receipt"] = caller.receipt
    return ours


def read_caller(metadata: Metadata) -> Caller:
    """Raises WireError for a wrong type or an absurd length."""
    ours = own_map(metadata)
    membership = ours.get("membership")
    if membership is not None and not (isinstance(membership, bytes) and len(membership) <= MAX_PROOF_BYTES):
        raise WireError("membership must be bytes")
    return Caller(
        membership=membership,
        adapter=text(metadata, "active_adapter", MAX_NAME_CHARS) or None,
        revision_digest=text(ours, "revision_digest", MAX_ID_CHARS),
        delegation=blob(ours, "delegation", DELEGATION_BYTES),
        vouchers=_read_vouchers(ours),
        receipt=blob(ours, "receipt", RECEIPT_BYTES),
    )


def _read_vouchers(ours: Metadata) -> tuple[bytes, ...]:
    value = ours.get("vouchers", ())
    if not isinstance(value, list | tuple) or len(value) > MAX_VOUCHERS:
        raise WireError(f"vouchers must be a list of at most {MAX_VOUCHERS}")
    if any(not isinstance(item, bytes) or len(item) != VOUCHER_BYTES for item in value):
        raise WireError(f"a voucher has {VOUCHER_BYTES} bytes")
    return tuple(value)


def read_output_compression(metadata: Metadata) -> tuple[int, ...]:
    """Raises WireError for anything but a short sequence of encodings that we can write."""
    value = metadata.get("output_compression")
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or len(value) > 2 or any(type(item) is not int for item in value):
        raise WireError("output_compression must be one number a tensor")
    if any(item not in ENCODABLE for item in value):
        raise WireError("output_compression: only NONE (0) and FLOAT16 (2) are supported here")
    return tuple(value)


def pack_timing(timing: Timing) -> bytes:
    """Metadata of a reply; nothing at all if there is nothing to tell."""
    ours: dict[str, object] = {}
    if timing.queue_ms:
        ours["queue_ms"] = timing.queue_ms
    if timing.compute_ms:
        ours["compute_ms"] = timing.compute_ms
    if timing.cache_tokens_left is not None:
        ours["cache_tokens_left"] = timing.cache_tokens_left
    if timing.is_leaving:
        ours["leaving"] = True
    if timing.tab is not None:
        ours["tab"] = timing.tab
    if timing.countersigned is not None:
        ours["countersigned"] = timing.countersigned
    if timing.takes_brief:
        ours["brief"] = True
    return pack({OURS: ours}) if ours else b""


def read_timing(envelope: Envelope) -> Timing:
    """Raises WireError."""
    if not len(envelope.metadata):
        return _NO_TIMING
    ours = own_map(unpack_map(envelope.metadata))
    return Timing(
        queue_ms=number(ours, "queue_ms") or 0.0,
        compute_ms=number(ours, "compute_ms") or 0.0,
        cache_tokens_left=integer(ours, "cache_tokens_left"),
        is_leaving=ours.get("leaving") is True,
        tab=blob(ours, "tab", TAB_BYTES),
        countersigned=blob(ours, "countersigned", COUNTERSIGNED_BYTES),
        takes_brief=ours.get("brief") is True,
    )


_NO_TIMING: Final = Timing()


def own_map(metadata: Metadata) -> Metadata:
    ours = metadata.get(OURS)
    if ours is None:
        return {}
    if not isinstance(ours, dict):
        raise WireError(f"{OURS} must be a map")
    return ours


def text(metadata: Metadata, key: str, max_chars: int) -> str | None:
    """A text or nil; raises WireError."""
    value = metadata.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > max_chars:
        raise WireError(f"{key} must be a text of at most {max_chars} characters")
    return value


def blob(metadata: Metadata, key: str, num_bytes: int) -> bytes | None:
    """So many bytes or nil; raises WireError."""
    value = metadata.get(key)
    if value is not None and not (isinstance(value, bytes) and len(value) == num_bytes):
        raise WireError(f"{key} must be {num_bytes} bytes")
    return value


def integer(metadata: Metadata, key: str, *, most: int = 1 << 62) -> int | None:
    """A whole number from 0 to `most`, or nil; raises WireError."""
    value = metadata.get(key)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= most:
        raise WireError(f"{key} must be a whole number from 0 to {most}")
    return value


def flag(metadata: Metadata, key: str) -> bool:
    """True or false, which is also what a missing key means; raises WireError."""
    value = metadata.get(key, False)
    if type(value) is not bool:
        raise WireError(f"{key} must be true or false")
    return value


def number(metadata: Metadata, key: str) -> float | None:
    """A finite number of at least 0, or nil; raises WireError."""
    value = metadata.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise WireError(f"{key} must be a number")
    if not 0 <= value < math.inf:
        raise WireError(f"{key} must be finite and not negative")
    return float(value)
