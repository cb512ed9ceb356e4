"""Converts records, heartbeats and links to plain maps and back. All fields of peers are checked here.

On the wire a map is the list of its values in the order of `*_FIELDS`, which only grows at its end. Further values of
newer peers are ignored, and some missing values of older peers have a default. A known field with an impossible value
makes the whole announcement invalid.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import Heartbeat, NumberFormat, ServerRecord, ServerState
from potluck.protocol.swarm import is_revision
from potluck.protocol.texts import is_printable

TAG_BYTES = 8
_DIGEST_BYTES = 8
_MAX_COUNT = 1 << 50
_MAX_RATE = 1e15
_MAX_ADAPTERS = 64
MAX_LINKS = 32


RECORD_FIELDS = (
    "start", "end", "revision", "dtype", "quantization", "digests", "max_batch_tokens", "max_length", "inference_tps",
    "forward_tps", "network_tps", "throughput_tps", "version", "public_name", "adapters", "using_relay",
    "target_start", "target_end", "window", "stored", "download_bps", "moves", "cache",
    "private_adapter_bytes", "weights", "packing_error",
)  # fmt: skip
HEARTBEAT_FIELDS = ("state", "cache_tokens_left", "queued_tokens", "step_ms", "batch", "queue_ms", "record")
LINKS_FIELDS = ("links",)


class BadFieldError(ValueError):
    """A field is missing, has another type or is out of range."""


@dataclass(frozen=True, slots=True)
class Links:
    """One server's measurements to others, by tag: round trips in seconds, bandwidths in Mbit/s.

    They are announced apart from the heartbeat, because they are large and change rarely. A reader that does not know
    the peer of a tag has no use for the measurement.
    """

    peer_id: PeerId
    pings_s: Mapping[bytes, float]
    links_mbps: Mapping[bytes, float]


@lru_cache(maxsize=1 << 15)
def tag_of(peer: PeerId) -> bytes:
    """Return the short name of a peer. Nobody makes 2^64 keys to find one with the tag of another peer."""
    return hashlib.sha256(peer.encode()).digest()[:TAG_BYTES]


def record_to_fields(record: ServerRecord) -> dict[str, object]:
    return {
        "start": record.span.start,
        "end": record.span.end,
        "revision": record.revision,
        "dtype": record.format.dtype,
        "quantization": record.format.quantization,
        "digests": bytes.fromhex("".join(record.block_digests)),
        "max_batch_tokens": record.max_batch_tokens,
        "max_length": record.max_length,
        "inference_tps": float(record.inference_tps),
        "forward_tps": float(record.forward_tps),
        "network_tps": float(record.network_tps),
        "throughput_tps": float(record.throughput_tps),
        "version": record.version,
        "public_name": record.public_name,
        "adapters": list(record.adapters),
        "using_relay": record.using_relay,
        "target_start": record.target.start,
        "target_end": record.target.end,
        "window": record.window,
        "stored": _to_bitmap(record.stored),
        "download_bps": float(record.download_bps),
        "moves": record.moves,
        "weights": bytes.fromhex(record.weights),
        "cache": record.format.cache,
        "private_adapter_bytes": record.private_adapter_bytes,
        "packing_error": record.packing_error,
    }


def record_from_fields(peer_id: PeerId, fields: Mapping[object, object], *, num_blocks: int) -> ServerRecord:
    """Raises BadFieldError."""
    start, end = _count(fields, "start"), _count(fields, "end")
    if not start < end <= num_blocks:
        raise BadFieldError(f"blocks {start}:{end} of {num_blocks}")
    digests = fields.get("digests")
    if not isinstance(digests, bytes) or len(digests) != (end - start) * _DIGEST_BYTES:
        raise BadFieldError("digests")
    target = _count(fields, "target_start", start), _count(fields, "target_end", end)
    if not target[0] < target[1] <= num_blocks:
        raise BadFieldError(f"moving to blocks {target[0]}:{target[1]} of {num_blocks}")
    window = _count(fields, "window", end - start)
    if not max(end - start, target[1] - target[0]) <= window <= num_blocks:
        raise BadFieldError("window")
    adapters = fields.get("adapters")
    if not isinstance(adapters, list) or len(adapters) > _MAX_ADAPTERS:
        raise BadFieldError("adapters")
    return ServerRecord(
        peer_id=peer_id,
        span=Span(start, end),
        revision=_revision(fields.get("revision")),
        format=_format(fields),
        block_digests=tuple(digests[at : at + _DIGEST_BYTES].hex() for at in range(0, len(digests), _DIGEST_BYTES)),
        max_batch_tokens=_count(fields, "max_batch_tokens"),
        max_length=_count(fields, "max_length"),
        inference_tps=_rate(fields.get("inference_tps")),
        forward_tps=_rate(fields.get("forward_tps")),
        network_tps=_rate(fields.get("network_tps")),
        throughput_tps=_rate(fields.get("throughput_tps")),
        version=_text(fields.get("version"), 64),
        public_name=None if fields.get("public_name") is None else _text(fields.get("public_name"), 100),
        adapters=tuple(_text(adapter, 200) for adapter in adapters),
        using_relay=_flag(fields.get("using_relay")),
        target=Span(*target),
        window=window,
        stored=_from_bitmap(fields.get("stored", b""), num_blocks),
        download_bps=_rate(fields.get("download_bps", 0.0)),
        moves=_flag(fields.get("moves", False)),
        private_adapter_bytes=_count(fields, "private_adapter_bytes", 0),
        weights=_weights(fields.get("weights", b"")),
        packing_error=None if fields.get("packing_error") is None else _rate(fields.get("packing_error")),
    )


def _weights(value: object) -> str:
    if not isinstance(value, bytes) or len(value) not in (0, 32):
        raise BadFieldError("weights")
    return value.hex()


def _format(fields: Mapping[object, object]) -> NumberFormat:
    cache = fields.get("cache", "none")  # older servers hold it as computed
    return NumberFormat(*(_text(each, 32) for each in (fields.get("dtype"), fields.get("quantization"), cache)))


def heartbeat_to_fields(beat: Heartbeat) -> dict[str, object]:
    return {
        "state": int(beat.state),
        "cache_tokens_left": beat.cache_tokens_left,
        "queued_tokens": beat.queued_tokens,
        "step_ms": float(beat.step_ms),
        "batch": beat.batch,
        "queue_ms": float(beat.queue_ms),
    }


def heartbeat_from_fields(peer_id: PeerId, fields: Mapping[object, object]) -> Heartbeat:
    """Return a heartbeat without pings and bandwidths, which are announced apart. Raises BadFieldError."""
    state = _count(fields, "state")
    if state > max(ServerState):
        raise BadFieldError("state")
    return Heartbeat(
        peer_id=peer_id,
        state=ServerState(state),
        cache_tokens_left=_count(fields, "cache_tokens_left"),
        queued_tokens=_count(fields, "queued_tokens"),
        step_ms=_rate(fields.get("step_ms")),
        batch=_count(fields, "batch", 0),
        queue_ms=_rate(fields.get("queue_ms", 0.0)),
    )


def links_to_fields(beat: Heartbeat) -> dict[str, object]:
    """Return the measurements to other servers, those with a bandwidth first; None stands for not measured."""
    peers = list(dict.fromkeys((*beat.links_mbps, *beat.pings_s)))[:MAX_LINKS]
    found = {peer: (beat.pings_s.get(peer), beat.links_mbps.get(peer)) for peer in peers}
    return {"links": {tag_of(peer): [_finite(ping_s), _finite(mbps)] for peer, (ping_s, mbps) in found.items()}}


def links_from_fields(peer_id: PeerId, fields: Mapping[object, object]) -> Links:
    """Raises BadFieldError."""
    found = fields.get("links")
    if not isinstance(found, dict) or len(found) > MAX_LINKS:
        raise BadFieldError("links")
    pings_s: dict[bytes, float] = {}
    links_mbps: dict[bytes, float] = {}
    for tag, pair in found.items():
        if not isinstance(tag, bytes) or len(tag) != TAG_BYTES or not isinstance(pair, list) or len(pair) != 2:
            raise BadFieldError("a link")
        for rates, value in zip((pings_s, links_mbps), pair, strict=True):
            if value is not None:
                rates[tag] = _rate(value)
    return Links(peer_id, pings_s, links_mbps)


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _to_bitmap(blocks: frozenset[int]) -> bytes:
    """Encode blocks as bits: block b is bit b % 8 of byte b // 8."""
    bits = sum(1 << block for block in blocks)
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def _from_bitmap(value: object, num_blocks: int) -> frozenset[int]:
    if not isinstance(value, bytes) or len(value) > (num_blocks + 7) // 8:
        raise BadFieldError("stored")
    bits = int.from_bytes(value, "little")
    if bits.bit_length() > num_blocks:
        raise BadFieldError("stored")
    return frozenset(block for block in range(num_blocks) if bits >> block & 1)


def _count(fields: Mapping[object, object], name: str, default: int | None = None) -> int:
    value = fields.get(name, default)
    if type(value) is not int or not 0 <= value <= _MAX_COUNT:
        raise BadFieldError(name)
    return value


def _rate(value: object) -> float:
    if type(value) is not float or not 0 <= value <= _MAX_RATE:  # NaN fails both comparisons
        raise BadFieldError("a rate")
    return value


def _text(value: object, max_letters: int) -> str:
    if not is_printable(value, max_letters) or not value:
        raise BadFieldError("a text")
    return value


def _revision(value: object) -> str:
    if not is_revision(value):
        raise BadFieldError("a revision")
    return str(value)


def _flag(value: object) -> bool:
    if type(value) is not bool:
        raise BadFieldError("a flag")
    return value
