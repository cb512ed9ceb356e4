"""Servers that run Petals, as found under the block keys of an open swarm.

Their records are unsigned: anybody may have written them, and nothing but a call tells whether they are true.
"""

from __future__ import annotations

from collections.abc import Mapping

from potluck.p2p.network import DhtKey, DhtSubkey, DhtValue
from potluck.petals.records import StockServer, parse_stock_server_value
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import UNKNOWN, Heartbeat, LiveServer, NumberFormat, ServerRecord
from potluck.protocol.swarm import Swarm

TTL_S = 240.0  # what Petals' peers use by default
_UNKNOWN_TPS = 300.0  # what Petals' clients assume of a server that does not tell its speed
_UNKNOWN_CACHE_TOKENS = 1 << 40  # Petals' clients let an unknown cache pass
_MAX_BATCH_TOKENS = 2048  # servers take 2048 or, for grouped heads, 8192, and do not tell: 2048 suits both
_MAX_LENGTH = 8192  # likewise; a server that takes fewer refuses the session


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
