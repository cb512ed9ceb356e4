"""Summarises a swarm for people: for `potluck swarm show` and the status that the app shows. Imports numpy."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from potluck_control.schema import SwarmOutlook

from potluck.protocol.blocks import PeerId
from potluck.protocol.records import LiveServer, ServerState
from potluck_engine.placement.outlook import outlook
from potluck_engine.placement.swarm_map import ModelSize, OwnServer, SwarmMap

_ONE_MORE = PeerId("")


def swarm_outlook(servers: Sequence[LiveServer], num_blocks: int) -> SwarmOutlook | None:
    """Return the outlook with one more server like the median one; None if no server is online."""
    online = [server for server in servers if server.heartbeat.state is ServerState.ONLINE]
    if not online:
        return None
    window = min(round(median(server.record.window for server in online)), num_blocks)
    throughput_tps = median(server.record.throughput_tps for server in online)
    # The sizes of files and hidden states are not known here, so fetching and measured links don't count.
    size = ModelSize(num_blocks, block_bytes=1.0, token_bits=1.0)
    seen = outlook(SwarmMap.of(online, size, OwnServer(_ONE_MORE, window, throughput_tps)))
    return SwarmOutlook(
        tokens_per_s=round(seen.tokens_per_s, 3),
        bottlenecks=tuple((span.start, span.end) for span in seen.bottlenecks),
        one_more_tokens_per_s=round(seen.one_more_tokens_per_s, 3),
        one_more_span=(seen.one_more_span.start, seen.one_more_span.end),
    )
