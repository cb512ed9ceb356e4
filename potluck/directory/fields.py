"""Records and heartbeats to plain maps and back; every field of a peer is checked here and nowhere else.

A newer peer's unknown fields are ignored; a known field with an impossible value makes the whole record invalid.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import Heartbeat, NumberFormat, ServerRecord, ServerState

_DIGEST = re.compile(r"[0-9a-f]{16}")
_DIGEST_BYTES = 8
_MAX_COUNT = 1 << 50
_MAX_RATE = 1e15
_MAX_ADAPTERS = 64
_MAX_PINGS = 64


class BadFieldError(ValueError):
    """A field is missing, of another type, or outside what can be."""


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
    }


def record_from_fields(peer_id: PeerId, fields: Mapping[object, object], *, num_blocks: int) -> ServerRecord:
    """Raises BadFieldError."""
    start, end = _count(fields, "start"), _count(fields, "end")
    if not start < end <= num_blocks:
        raise BadFieldError(f"blocks {start}:{end} of {num_blocks}")
    digests = fields.get("digests")
    if not isinstance(digests, bytes) or len(digests) != (end - start) * _DIGEST_BYTES:
        raise BadFieldError("digests")
    text = digests.hex()
    adapters = fields.get("adapters")
    if not isinstance(adapters, list) or len(adapters) > _MAX_ADAPTERS:
        raise BadFieldError("adapters")
    return ServerRecord(
        peer_id=peer_id,
        span=Span(start, end),
        revision=_text(fields.get("revision"), 200),
        format=NumberFormat(_text(fields.get("dtype"), 32), _text(fields.get("quantization"), 32)),
        block_digests=tuple(_DIGEST.findall(text)),
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
    )


def heartbeat_to_fields(beat: Heartbeat) -> dict[str, object]:
    return {
        "state": int(beat.state),
        "cache_tokens_left": beat.cache_tokens_left,
        "queued_tokens": beat.queued_tokens,
        "step_ms": float(beat.step_ms),
        "pings_s": {str(peer): float(ping_s) for peer, ping_s in beat.pings_s.items() if math.isfinite(ping_s)},
    }


def heartbeat_from_fields(peer_id: PeerId, fields: Mapping[object, object]) -> Heartbeat:
    """Raises BadFieldError."""
    state, pings = _count(fields, "state"), fields.get("pings_s")
    if state > max(ServerState):
        raise BadFieldError("state")
    if not isinstance(pings, dict) or len(pings) > _MAX_PINGS:
        raise BadFieldError("pings_s")
    return Heartbeat(
        peer_id=peer_id,
        state=ServerState(state),
        cache_tokens_left=_count(fields, "cache_tokens_left"),
        queued_tokens=_count(fields, "queued_tokens"),
        step_ms=_rate(fields.get("step_ms")),
        pings_s={PeerId(_text(peer, 64)): _rate(ping_s) for peer, ping_s in pings.items()},
    )


def _count(fields: Mapping[object, object], name: str) -> int:
    value = fields.get(name)
    if type(value) is not int or not 0 <= value <= _MAX_COUNT:
        raise BadFieldError(name)
    return value


def _rate(value: object) -> float:
    if type(value) is not float or not 0 <= value <= _MAX_RATE:  # NaN fails both comparisons
        raise BadFieldError("a rate")
    return value


def _text(value: object, max_letters: int) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= max_letters or not value.isprintable():
        raise BadFieldError("a text")
    return value


def _flag(value: object) -> bool:
    if type(value) is not bool:
        raise BadFieldError("a flag")
    return value
