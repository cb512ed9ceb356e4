"""How long a server thinks about whether to move.

The worst case: a part of the model is so thin that everybody wants to go there, and what the others would gain is
computed too. CPU time of the deciding thread; reading the directory into a map is told beside it.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from potluck_engine.placement.choose import next_move
from potluck_engine.placement.swarm_map import KnownServer, ModelSize, SwarmMap

from benchmarks.figures import Measured
from benchmarks.simulation.scenario import random_volunteer, scenario
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import Heartbeat, LiveServer, NumberFormat, ServerRecord, ServerState

_DECISIONS, _SOAK_DECISIONS = 300, 3000
_THIN = Span(40, 44)


def n1000(soak: bool) -> Measured:
    return _decide(1000, soak)


def n10000(soak: bool) -> Measured:
    return _decide(10_000, soak)


def _decide(num_servers: int, soak: bool) -> Measured:
    rng = np.random.default_rng(0)
    model = scenario()["model"]
    size = ModelSize(model["num_blocks"], 1e9 * model["block_gb_4bit"], 16 * model["hidden_size"])
    servers = [_server(f"{index:06}", rng, size.num_blocks) for index in range(num_servers)]
    own = servers[0].record
    begin = time.thread_time()
    swarm_map = SwarmMap.of(
        servers, size, KnownServer(own.peer_id, own.window, own.throughput_tps, own.stored, span=own.span)
    )
    map_ms = 1e3 * (time.thread_time() - begin)
    took_ms, num_moves = [], 0
    for me in rng.integers(0, num_servers, _SOAK_DECISIONS if soak else _DECISIONS):
        begin = time.thread_time()
        num_moves += next_move(replace(swarm_map, me=int(me))) is not None
        took_ms.append(1e3 * (time.thread_time() - begin))
    detail = {"median_ms": float(np.median(took_ms)), "map_ms": map_ms, "moves": num_moves, "decisions": len(took_ms)}
    return Measured(float(np.percentile(took_ms, 99)), detail, holds=num_moves > 0)


def _server(name: str, rng: np.random.Generator, num_blocks: int) -> LiveServer:
    volunteer = random_volunteer(rng)
    start = int(rng.integers(0, num_blocks - volunteer.window + 1))
    span = Span(start, start + volunteer.window)
    if span.start < _THIN.end and _THIN.start < span.end:
        span = Span(_THIN.end, num_blocks) if rng.random() < 0.5 else Span(0, _THIN.start)
    record = ServerRecord(
        peer_id=PeerId(name),
        span=span,
        window=volunteer.window,
        revision="r",
        format=NumberFormat("bfloat16", "int4"),
        block_digests=("0" * 16,) * len(span),
        max_batch_tokens=1024,
        max_length=4096,
        inference_tps=1.0,
        forward_tps=1.0,
        network_tps=volunteer.network_tps,
        throughput_tps=volunteer.throughput_tps,
        version="1",
        moves=True,
        stored=frozenset(rng.permutation(num_blocks)[:60].tolist()),
        download_bps=volunteer.download_bps,
    )
    return LiveServer(record, Heartbeat(PeerId(name), ServerState.ONLINE, 0))
