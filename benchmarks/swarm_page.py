"""The web page of a swarm with 1,000 servers: its size, what a browser asks for, and how long it draws.

The time is that of a picture of the page beyond that of a picture of an empty page, in turns; without Chromium only the
size is measured. Names are as long as the page lets them be, in letters of three bytes.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from pathlib import Path

from potluck_cli.swarm.overview import overview
from potluck_cli.swarm.page_content import HOUR_S, HOURS, PageHistory, Readers, SwarmReading, draw

from benchmarks.browser import CHROMIUM, visit
from benchmarks.figures import Measured
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import Heartbeat, LiveServer, NumberFormat, ServerRecord, ServerState
from potluck.protocol.swarm import new_swarm

_SERVERS, _BLOCKS = 1000, 80
_VISITS, _SOAK_VISITS = 3, 15
_MOST_DRAW_S = 1.0


def size(soak: bool) -> Measured:
    begin = time.perf_counter()
    page = page_of(_SERVERS)
    detail: dict[str, object] = {"made_s": time.perf_counter() - begin, "servers": _SERVERS}
    if CHROMIUM is None:
        return Measured(len(page) / 1e3, {**detail, "browser": "none here"})
    empty_s: list[float] = []
    page_s: list[float] = []
    requests: set[str] = set()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {"page": page, "empty": b"<!doctype html><title>empty</title>"}
        addresses = {}
        for what, content in files.items():
            (folder / f"{what}.html").write_bytes(content)
            addresses[what] = (folder / f"{what}.html").as_uri()
        visit(addresses["empty"], folder)  # makes the profile
        for _ in range(_SOAK_VISITS if soak else _VISITS):
            empty_s.append(visit(addresses["empty"], folder).seconds)
            seen = visit(addresses["page"], folder)
            page_s.append(seen.seconds)
            requests.update(seen.requests)
    draw_s = statistics.median(page_s) - statistics.median(empty_s)
    detail |= {
        "draw_s": draw_s,
        "empty_s": statistics.median(empty_s),
        "requests": len(requests),
        "visits": len(page_s),
    }
    return Measured(len(page) / 1e3, detail, holds=not requests and draw_s <= _MOST_DRAW_S)


def page_of(num_servers: int) -> bytes:
    """Return the page of a swarm whose servers have long names, after a week of readings."""
    rng, now = random.Random(20), 1_800_000_000.0
    servers = [_server(index, rng) for index in range(num_servers)]
    history = PageHistory("0" * 32)
    for hour in reversed(range(HOURS)):
        history = history.with_reading(
            now - hour * HOUR_S,
            servers=rng.randrange(num_servers),
            is_complete=rng.random() < 0.9,
            answer_tps=100 * rng.random(),
        )
    swarm = new_swarm("friends", "owner/model-of-eighty-layers", _BLOCKS)
    return draw(SwarmReading(overview(swarm, servers), now, history.hours), Readers())


def _server(index: int, rng: random.Random) -> LiveServer:
    peer, start = PeerId(f"12D3KooW{index:08}"), rng.randrange(_BLOCKS)
    span = Span(start, min(_BLOCKS, start + rng.randrange(1, 20)))
    record = ServerRecord(
        peer_id=peer,
        span=span,
        revision="main",
        format=NumberFormat("bfloat16"),
        block_digests=("0" * 16,) * len(span),
        max_batch_tokens=2048,
        max_length=8192,
        inference_tps=400 * rng.random(),
        forward_tps=1000.0,
        network_tps=1000.0,
        throughput_tps=200 * rng.random(),
        version="0.1.0",
        public_name=f"{index}" + "名" * 28,
    )
    state = ServerState.JOINING if index % 20 == 0 else ServerState.ONLINE
    return LiveServer(record, Heartbeat(peer, state, cache_tokens_left=1000, step_ms=30 * rng.random()))
