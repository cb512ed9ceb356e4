"""The DHT values that stock peers read and write: one record a block and server.

Stock readers drop a record over an int where they want a float, so writing is exact about types. Reading trusts
nothing: whatever a stock reader would drop, or what makes no sense, is None. Records are unsigned: anybody may have
written them, and nothing but a call tells whether they are true.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from potluck.p2p.network import DhtKey, DhtSubkey, DhtValue
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import UNKNOWN, Heartbeat, LiveServer, NumberFormat, ServerRecord, ServerState
from potluck.protocol.swarm import Swarm
from potluck.protocol.values import is_printable
from potluck.wire.errors import WireError

MAX_TEXT_CHARS: Final = 256
MAX_ADAPTERS: Final = 64
MAX_PINGS: Final = 1024

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StockServer:
    """A record as a stock peer published it. Units are the stock ones; None is "not said"."""

    state: ServerState
    throughput_tps: float
    span: Span | None = None
    public_name: str | None = None
    version: str | None = None
    network_tps: float | None = None
    forward_tps: float | None = None
    inference_tps: float | None = None
    adapters: tuple[str, ...] = ()
    dtype: str | None = None
    quantization: str | None = None
    using_relay: bool | None = None
    cache_tokens_left: int | None = None  # tokens through the whole span, if the span is known
    pings_s: Mapping[PeerId, float] = field(default_factory=dict)


def stock_server_value(record: ServerRecord, heartbeat: Heartbeat) -> object:
    """Return the value to store under each block's uid with the server's peer id as (text) subkey."""
    leaving = heartbeat.state is ServerState.OFFLINE
    pings = {peer: float(ping) for peer, ping in heartbeat.pings_s.items() if ping >= 0}
    extra = {
        "start_block": record.span.start,
        "end_block": record.span.end,
        "public_name": record.public_name,
        "version": record.version,
        "network_rps": _finite(record.network_tps),
        "forward_rps": _finite(record.forward_tps),
        "inference_rps": _finite(record.inference_tps),
        "adapters": tuple(record.adapters),
        "torch_dtype": record.format.dtype,
        "quant_type": record.format.quantization,
        "using_relay": record.using_relay,
        # Stock readers charge a session of L tokens over n blocks 2 * L * n: keys and values are counted apart.
        "cache_tokens_left": 2 * heartbeat.cache_tokens_left * len(record.span),
        "next_pings": None if leaving else pings,
    }
    return int(heartbeat.state), _finite(record.throughput_tps), extra


def parse_stock_server_value(value: object) -> StockServer | None:
    """Read a record out of the DHT, None if it is not a valid one."""
    try:
        return _parse(value)
    except WireError:
        return None


def _finite(value: float) -> float:
    """Return a number as stock readers accept it; what cannot be said is 0."""
    return float(value) if 0 <= value < math.inf else 0.0


def _parse(value: object) -> StockServer:
    match value:
        case [state, throughput, *rest]:
            pass
        case _:
            raise WireError("not a record")
    if type(state) is not int or state not in (0, 1, 2):
        raise WireError("bad state")
    extra = rest[0] if rest else {}
    if not isinstance(extra, dict) or not all(isinstance(key, str) for key in extra):
        raise WireError("bad extra fields")
    if "state" in extra or "throughput" in extra:
        raise WireError("bad extra fields")
    throughput_tps = _rate(throughput)
    if throughput_tps is None:
        raise WireError("bad throughput")
    span = _span(extra)
    cache = _optional(extra, "cache_tokens_left", _count)
    return StockServer(
        state=ServerState(state),
        throughput_tps=throughput_tps,
        span=span,
        public_name=_optional(extra, "public_name", _text),
        version=_optional(extra, "version", lambda item: _text(str(item) if type(item) in (int, float) else item)),
        network_tps=_optional(extra, "network_rps", _rate),
        forward_tps=_optional(extra, "forward_rps", _rate),
        inference_tps=_optional(extra, "inference_rps", _rate),
        adapters=_adapters(extra.get("adapters", ())),
        dtype=_optional(extra, "torch_dtype", _text),
        quantization=_optional(extra, "quant_type", _text),
        using_relay=_optional(extra, "using_relay", _flag),
        cache_tokens_left=None if cache is None or span is None else cache // (2 * len(span)),
        pings_s=_optional(extra, "next_pings", _pings) or {},
    )


def _span(extra: Mapping[object, object]) -> Span | None:
    start = _optional(extra, "start_block", _count)
    end = _optional(extra, "end_block", _count)
    if start is None or end is None:
        return None
    if not start < end <= 1 << 16:
        raise WireError("bad span")
    return Span(start, end)


def _optional(extra: Mapping[object, object], key: str, read: Callable[[object], T]) -> T | None:
    item = extra.get(key)
    return None if item is None else read(item)


def _text(item: object) -> str:
    if not is_printable(item, MAX_TEXT_CHARS):
        raise WireError("bad text")
    return item


def _flag(item: object) -> bool:
    if not isinstance(item, bool):
        raise WireError("bad flag")
    return item


def _count(item: object) -> int:
    if type(item) is not int or not 0 <= item < 1 << 62:
        raise WireError("bad count")
    return item


def _rate(item: object) -> float:
    if type(item) is not float or not 0 <= item < math.inf:
        raise WireError("bad rate")
    return item


def _adapters(item: object) -> tuple[str, ...]:
    if not isinstance(item, list | tuple) or len(item) > MAX_ADAPTERS:
        raise WireError("bad adapters")
    return tuple(_text(name) for name in item)


def _pings(item: object) -> dict[PeerId, float]:
    if not isinstance(item, dict) or len(item) > MAX_PINGS:
        raise WireError("bad pings")
    for peer, ping in item.items():
        if not is_printable(peer, MAX_TEXT_CHARS) or type(ping) is not float or not ping >= 0:
            raise WireError("bad ping")
    return dict(item)


TTL_S = 240.0  # what Petals' peers use by default
_UNKNOWN_TPS = 300.0  # what Petals' clients assume of a server that does not tell its speed
_UNKNOWN_CACHE_TOKENS = 1 << 40  # Petals' clients let an unknown cache pass
_MAX_BATCH_TOKENS = 2048  # servers take 2048 or, for grouped heads, 8192, and do not tell: 2048 suits both
_MAX_LENGTH = 8192  # servers do not tell theirs; one that takes fewer refuses the session


def block_keys(swarm: Swarm) -> list[DhtKey]:
    return [f"{swarm.prefix}.{block}" for block in range(swarm.num_blocks)]


def read_stock_servers(
    swarm: Swarm, found: Mapping[DhtKey, Mapping[DhtSubkey, DhtValue]], *, now: float
) -> list[LiveServer]:
    """Return one server a peer, with the blocks of its newest record; records that end too far ahead are dropped."""
    newest: dict[str, tuple[float, StockServer]] = {}
    blocks: dict[str, list[int]] = {}
    for block, key in enumerate(block_keys(swarm)):
        for subkey, entry in found.get(key, {}).items():
            server = parse_stock_server_value(entry.value)
            if server is None or entry.expiration > now + 2 * TTL_S:
                continue
            if server.span is not None and block not in server.span:
                continue
            blocks.setdefault(subkey, []).append(block)
            if subkey not in newest or entry.expiration > newest[subkey][0]:
                newest[subkey] = (entry.expiration, server)
    return [
        _live(PeerId(peer), server, server.span or _first_run(blocks[peer]))
        for peer, (_, server) in newest.items()
        if server.span is None or server.span.end <= swarm.num_blocks
    ]


def _first_run(blocks: list[int]) -> Span:
    """Return the contiguous blocks at the start of an ascending list."""
    end = blocks[0] + 1
    while end in blocks:
        end += 1
    return Span(blocks[0], end)


def _live(peer_id: PeerId, server: StockServer, span: Span) -> LiveServer:
    record = ServerRecord(
        peer_id=peer_id,
        span=span,
        revision=UNKNOWN,
        format=NumberFormat(server.dtype or UNKNOWN, server.quantization or UNKNOWN),
        block_digests=(UNKNOWN,) * len(span),
        max_batch_tokens=_MAX_BATCH_TOKENS,
        max_length=_MAX_LENGTH,
        inference_tps=server.inference_tps or _UNKNOWN_TPS,
        forward_tps=server.forward_tps or 0.0,
        network_tps=server.network_tps or 0.0,
        throughput_tps=server.throughput_tps,
        version=server.version or UNKNOWN,
        public_name=server.public_name,
        adapters=server.adapters,
        using_relay=bool(server.using_relay),
    )
    cache = _UNKNOWN_CACHE_TOKENS if server.cache_tokens_left is None else server.cache_tokens_left
    return LiveServer(record, Heartbeat(peer_id, server.state, cache, pings_s=dict(server.pings_s)))
