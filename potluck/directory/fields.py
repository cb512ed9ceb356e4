"""Turns records, heartbeats and links into the lists of values that their servers sign, and back.

The lists only grow at their end. Further values of newer peers are ignored, and missing ones of older peers have a
default. A known value that is impossible makes the whole announcement invalid: all values of peers are checked here.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct, convert

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import Amount, Count, Heartbeat, ServerRecord
from potluck.protocol.swarm import Swarm, is_revision

TAG_BYTES: Final = 8
MAX_LINKS: Final = 32
NUM_RECORD_VALUES: Final = 26
NUM_HEARTBEAT_VALUES: Final = 6
_NUM_FIRST_RECORD_VALUES: Final = 16  # values that the first version had
_DIGEST_BYTES: Final = 8
_Pair = tuple[Count, Count]
_Moving = tuple[Count, Count, Count, bytes, Annotated[bytes, Meta(max_length=32)]]
convert_bytes = partial(msgspec.convert, builtin_types=(bytes,))  # rejects text in place of bytes
_Tag = Annotated[bytes, Meta(min_length=TAG_BYTES, max_length=TAG_BYTES)]


class Links(Struct, frozen=True, array_like=True):
    """One server's measurements to others, by tag: round trips in seconds and bandwidths in Mbit/s, if measured.

    They are announced apart from the heartbeat, because they are large and change rarely. A reader that does not know
    the peer of a tag has no use for the measurement.
    """

    peer_id: PeerId
    rates: Annotated[dict[_Tag, tuple[Amount | None, Amount | None]], Meta(max_length=MAX_LINKS)]


@lru_cache(maxsize=1 << 15)
def tag_of(peer: PeerId) -> bytes:
    """Return the short name of a peer. Nobody makes 2^64 keys to find one with the tag of another peer."""
    return hashlib.sha256(peer.encode()).digest()[:TAG_BYTES]


def links_of(beat: Heartbeat) -> Links:
    """Return the measurements to other servers, those with a bandwidth first."""
    peers = list(dict.fromkeys((*beat.links_mbps, *beat.pings_s)))[:MAX_LINKS]
    found = {peer: (_finite(beat.pings_s.get(peer)), _finite(beat.links_mbps.get(peer))) for peer in peers}
    return Links(beat.peer_id, {tag_of(peer): rates for peer, rates in found.items()})


def record_values(record: ServerRecord, swarm: Swarm) -> list[object]:
    """Return the values that are signed; the revision is left out if it is the swarm's."""
    speeds = (record.inference_tps, record.forward_tps, record.network_tps, record.throughput_tps)
    stored = sum(1 << block for block in record.stored)  # bit b % 8 of byte b // 8 is block b
    return [
        record.span.start,
        record.span.end,
        None if record.revision == swarm.revision else record.revision,
        record.format.dtype,
        record.format.quantization,
        bytes.fromhex("".join(record.block_digests)),
        record.max_batch_tokens,
        record.max_length,
        *map(float, speeds),
        record.version,
        record.public_name,
        record.adapters,
        record.using_relay,
        record.target.start,
        record.target.end,
        record.window,
        stored.to_bytes((stored.bit_length() + 7) // 8, "little"),
        float(record.download_bps),
        record.moves,
        record.format.cache,
        record.private_adapter_bytes,
        bytes.fromhex(record.weights),
        record.packing_error,
    ]


def read_record(peer_id: PeerId, values: Sequence[object], swarm: Swarm) -> ServerRecord:
    """Check the signed values and return the record. Raises msgspec.ValidationError and ValueError."""
    values = values[:NUM_RECORD_VALUES]
    if len(values) < _NUM_FIRST_RECORD_VALUES:
        raise ValueError("values are missing")
    span = _span(values[:2], swarm)
    defaults = (span.start, span.end, len(span), b"", 0.0, False, "none", 0, b"", None)
    _, _, told, dtype, quantization, digests, *plain = values[:_NUM_FIRST_RECORD_VALUES]
    more = (*values[_NUM_FIRST_RECORD_VALUES:], *defaults[len(values) - _NUM_FIRST_RECORD_VALUES :])
    start, end, window, stored, download_bps, moves, cache, adapter_bytes, weights, packing_error = more
    start, end, window, stored, weights = convert_bytes((start, end, window, stored, weights), _Moving)
    target, revision = _span((start, end), swarm), swarm.revision if told is None else told
    if not max(len(span), len(target)) <= window <= swarm.num_blocks:
        raise ValueError("the window")
    if not isinstance(digests, bytes) or len(digests) != len(span) * _DIGEST_BYTES or len(weights) not in (0, 32):
        raise ValueError("a digest")
    blocks = int.from_bytes(stored, "little")
    if len(stored) > (swarm.num_blocks + 7) // 8 or blocks.bit_length() > swarm.num_blocks:
        raise ValueError("the stored blocks")
    if not is_revision(revision):
        raise ValueError("the revision")
    record = convert(
        (
            *(peer_id, span, revision, (dtype, quantization, cache), digests.hex(" ", _DIGEST_BYTES).split(), *plain),
            *(target, window, [block for block in range(blocks.bit_length()) if blocks >> block & 1]),
            *(download_bps, moves, adapter_bytes, weights.hex(), packing_error),
        ),
        ServerRecord,
    )
    form = record.format
    names = (form.dtype, form.quantization, form.cache, record.version, record.public_name or "", *record.adapters)
    if not "".join(names).isprintable():
        raise ValueError("a text")
    return record


def heartbeat_values(beat: Heartbeat) -> list[object]:
    """Return the values that are signed, before the sequence number of the record."""
    return [
        *(int(beat.state), beat.cache_tokens_left, beat.queued_tokens, float(beat.step_ms)),
        *(beat.batch, float(beat.queue_ms)),
    ]


def read_heartbeat(peer_id: PeerId, values: Sequence[object]) -> Heartbeat:
    """Return a heartbeat without pings and bandwidths, which are announced apart. Raises msgspec.ValidationError."""
    return convert((peer_id, *values[:NUM_HEARTBEAT_VALUES]), Heartbeat)


def _span(values: Sequence[object], swarm: Swarm) -> Span:
    start, end = convert(values, _Pair)
    if end > swarm.num_blocks:
        raise ValueError(f"blocks {start}:{end} of {swarm.num_blocks}")
    return Span(start, end)


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
