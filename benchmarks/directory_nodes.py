"""The directory over fifty real nodes on loopback: what a reading costs, and how soon all know what one announces."""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.figures import Measured
from potluck.directory.directory import Directory
from potluck.directory.seal import record_checks
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import HostConfig
from potluck.protocol.blocks import Span
from potluck.protocol.records import Heartbeat, NumberFormat, ServerRecord, ServerState
from potluck.protocol.swarm import new_swarm

_SWARM = new_swarm("figures", "m", 8)
_NUM_NODES = 50
_PATIENCE_S = 120.0
_AT_A_TIME = 2  # more at once, and on a busy machine the first node answers none of them in time
_BEAT_S = 10.0
_READINGS = 10


def refresh_nodes(soak: bool) -> Measured:
    """Milliseconds, median, of a reading by a client that read before, while everybody beats."""
    return asyncio.run(_measure(_READINGS * (6 if soak else 1)))


async def _measure(readings: int) -> Measured:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pl-")))  # sockets need a short path
        nodes = [await _start_node(stack, folder)]
        bootstrap = await nodes[0][0].addresses()
        while len(nodes) < _NUM_NODES:
            count = min(_AT_A_TIME, _NUM_NODES - len(nodes))
            nodes += await asyncio.gather(*(_start_node(stack, folder, bootstrap) for _ in range(count)))
        beating = asyncio.create_task(_beat(nodes))
        stack.callback(beating.cancel)
        await _until(lambda: all(len(directory.table.live_peers(time.time())) == _NUM_NODES for _, directory in nodes))
        host = await _start_host(stack, folder, bootstrap, client=True)
        reader = Directory(host, _SWARM)
        began = time.perf_counter()
        known = len(await reader.fetch())
        first_s, before = time.perf_counter() - began, reader.reader.sent_bytes + reader.reader.received_bytes
        times = []
        for _ in range(readings):
            await asyncio.sleep(1.0)
            began = time.perf_counter()
            await reader.fetch()
            times.append(time.perf_counter() - began)
        num_bytes = reader.reader.sent_bytes + reader.reader.received_bytes - before
        spread_s = await _spread(nodes)
        gone_s = await _kill(nodes)
        detail = {
            "kb": round(num_bytes / readings / 1000, 2),
            "worst_ms": round(max(times) * 1000, 1),
            "first_ms": round(first_s * 1000, 1),
            "spread_s": round(spread_s, 2),
            "gone_s": round(gone_s, 2),
        }
        return Measured(statistics.median(times) * 1000, detail, holds=known == _NUM_NODES)


async def _spread(nodes: list[tuple[Libp2pHost, Directory]]) -> float:
    """Seconds until all servers know the new blocks of one."""
    host, directory = nodes[1]
    began = time.perf_counter()
    await directory.announce(_record(host, Span(4, 8)))
    await _until(lambda: all(_span_of(other, host) == Span(4, 8) for _, other in nodes))
    return time.perf_counter() - began


async def _kill(nodes: list[tuple[Libp2pHost, Directory]]) -> float:
    """Seconds until all know that a node died, of which nobody complains."""
    victim, directory = nodes.pop()
    await directory.stop()
    os.kill(victim._running().process.pid, signal.SIGKILL)
    began = time.perf_counter()
    await _until(lambda: all(_span_of(other, victim) is None for _, other in nodes))
    return time.perf_counter() - began


def _span_of(directory: Directory, host: Libp2pHost) -> Span | None:
    return next((item.span for item in directory.table.live(time.time()) if item.peer_id == host.peer_id), None)


async def _start_host(
    stack: AsyncExitStack, folder: Path, bootstrap: tuple[str, ...], *, client: bool = False
) -> Libp2pHost:
    checks = record_checks(_SWARM, time.time)
    config = HostConfig(
        bootstrap_peers=bootstrap, record_checks=checks, runtime_dir=folder, dht_client=client, patience_s=60.0
    )
    host = await Libp2pHost.start(config)
    stack.push_async_callback(host.close)
    return host


async def _start_node(
    stack: AsyncExitStack, folder: Path, bootstrap: tuple[str, ...] = ()
) -> tuple[Libp2pHost, Directory]:
    host = await _start_host(stack, folder, bootstrap)
    directory = Directory(host, _SWARM, host.identity)
    await directory.start_gossip()
    stack.push_async_callback(directory.stop)
    await directory.announce(_record(host, Span(0, 4)))
    await directory.heartbeat(_beat_of(host))
    return host, directory


async def _beat(nodes: list[tuple[Libp2pHost, Directory]]) -> None:
    while True:
        for host, directory in list(nodes):
            await directory.heartbeat(_beat_of(host))
            await asyncio.sleep(_BEAT_S / _NUM_NODES)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while not condition():  # noqa: ASYNC110 (of many nodes)
            await asyncio.sleep(0.01)


def _beat_of(host: Libp2pHost) -> Heartbeat:
    return Heartbeat(host.peer_id, ServerState.ONLINE, cache_tokens_left=1000)


def _record(host: Libp2pHost, span: Span) -> ServerRecord:
    return ServerRecord(
        peer_id=host.peer_id,
        span=span,
        revision=_SWARM.revision,
        format=NumberFormat("float32"),
        block_digests=tuple(f"{block:016x}" for block in span),
        max_batch_tokens=1024,
        max_length=2048,
        inference_tps=100.0,
        forward_tps=1000.0,
        network_tps=1000.0,
        throughput_tps=100.0,
        version="0.1.0",
    )
