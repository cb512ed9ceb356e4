"""Figure `swarm_vs_offload`: a model four times one machine's memory, in a swarm of four such machines or on one.

The one machine streams the blocks beyond its memory from disk with Potluck's engine, which decodes several times as
fast as Accelerate's `disk_offload` (`stream_accelerate_1`). Its memory is the engine's own budget: a quarter of the
weights, two blocks of it the slots, and nothing of the system's cache: each block's pages are dropped after use
(`posix_fadvise`), and what the kernel says that this process read from the disk is compared with what was streamed.

The swarm's links are emulated. Every machine computes with one thread, and both sides take turns. Needs root.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from potluck_engine.weights.offloading import (
    TRUE_READS,
    MachineRates,
    SwarmCost,
    bytes_read_from_disks,
    measure_offloading,
    offloaded_step_s,
    swarm_step,
)

from benchmarks.figures import Measured, figure
from benchmarks.network.far_swarm import FarSwarm, far_swarm
from benchmarks.setup.models import checkpoint
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.blocks.streaming.placement import Room
from potluck.checkpoint.source import open_checkpoint
from potluck.client import ClientConfig
from potluck.client.servers import RouteRequest
from potluck.client.swarm_client import SwarmClient
from potluck.protocol.blocks import Span
from potluck.routing.route import Needs
from tests.helpers.internet import Link

_HIDDEN_SIZE, _NUM_BLOCKS, _MACHINES = 1536, 16, 4
_ROUND_TRIPS_MS = (5, 30, 100)
_ROWS = (1, 32)
_RATE_MBIT = 100.0
_ESTIMATED_MS = 30  # where the estimate is compared with what was measured
_LINKING_STEPS, _SETTLING_STEPS = (
    8,
    2,
)  # the servers push after the first; the old link's packets are gone after the second
_ROUNDS, _SOAK_ROUNDS = 3, 9
_STEPS = 4  # steps of the swarm in a round; the machine alone takes one, which is long


@figure("swarm_vs_offload", unit="ratio", reach=3.6, better="higher", shown=True)
def over_offloading(soak: bool) -> Measured:
    """Tokens a second of four machines that hold a model together, over one of them that streams it from disk.

    One row of a model four times one machine's memory, at 30 ms round trips and 100 Mbit/s. `detail` has 5 and 100
    ms, 32 rows, break-even points and what `potluck estimate` says. Needs root.
    """
    torch.set_num_threads(1)
    folder, rounds = checkpoint(_HIDDEN_SIZE, _NUM_BLOCKS), _SOAK_ROUNDS if soak else _ROUNDS
    size = _NUM_BLOCKS // _MACHINES
    spans = [Span(start, start + size) for start in range(0, _NUM_BLOCKS, size)]
    table: dict[str, dict[str, Any]] = {}
    shares = []
    blocks = _offloaded(folder)
    placement = blocks.weights.placement
    with far_swarm(folder, spans, _link(_ROUND_TRIPS_MS[0])) as far, _client(far) as client, torch.inference_mode():
        for rows in _ROWS:
            alone, together = _alone(blocks, rows), _together(client, rows)
            _repeat(together, _LINKING_STEPS)
            for round_trip_ms in _ROUND_TRIPS_MS:
                _set_links(far, round_trip_ms)
                _repeat(together, _SETTLING_STEPS)
                before, alone_s, swarm_s = bytes_read_from_disks() or 0, list[float](), list[float]()
                for _ in range(rounds):
                    alone_s.append(_seconds(alone))
                    swarm_s.append(statistics.median(_seconds(together) for _ in range(_STEPS)))
                shares.append(((bytes_read_from_disks() or 0) - before) / (rounds * placement.streamed_bytes))
                trips_s = (_MACHINES + 1) * round_trip_ms / 2000
                one_s, other_s = statistics.median(alone_s), statistics.median(swarm_s)
                row = {
                    "ratio": statistics.median(one / other for one, other in zip(alone_s, swarm_s, strict=True)),
                    "alone_tokens_s": rows / one_s,
                    "swarm_tokens_s": rows / other_s,
                    "break_even_ms": 2000 * (one_s - other_s + trips_s) / (_MACHINES + 1),
                }
                if round_trip_ms == _ESTIMATED_MS:
                    rates, cost = _rates(folder.parent, rows), _estimate(client, rows)
                    row["estimate_over_alone"] = offloaded_step_s(placement, rates) / one_s
                    row["estimate_over_swarm"] = (cost.compute_s + cost.transfer_s + trips_s) / other_s
                name = f"{rows} rows, {round_trip_ms} ms"
                table[name] = {key: round(value, 2) for key, value in row.items()}
                print(name, table[name], flush=True)
    detail = {
        "table": table,
        "read_from_disk_over_streamed": [round(share, 2) for share in shares],
        "placement": str(placement),
        "link_mbit": _RATE_MBIT,
    }
    return Measured(table["1 rows, 30 ms"]["ratio"], detail, holds=min(shares) >= TRUE_READS)


@contextlib.contextmanager
def _client(far: FarSwarm) -> Iterator[SwarmClient]:
    client = SwarmClient(far.swarm.membership, ClientConfig(audits="off"))
    try:
        client.start()
        yield client
    finally:
        client.close()


@torch.inference_mode(False)  # weights that are loaded in inference mode can't be tried out
def _rates(folder: Path, rows: int) -> MachineRates:
    """Return what `potluck estimate` measures of this machine now."""
    return measure_offloading(folder, device="cpu", dtype=torch.float32, quantization="none", rows=rows)


def _estimate(client: SwarmClient, rows: int) -> SwarmCost:
    """Return what `potluck estimate` tells of a step now."""
    route = client.run(
        client.servers.compare_routes(Span(0, _NUM_BLOCKS), Needs(), RouteRequest(rows, 1, may_stay=True))
    )
    return swarm_step(route, client.servers.round_trips_s, rows)


def _link(round_trip_ms: float) -> Link:
    return Link(round_trip_ms / 2000, rate_mbit=_RATE_MBIT)


def _repeat(step: Callable[[], object], count: int) -> None:
    for _ in range(count):
        step()


def _set_links(far: FarSwarm, round_trip_ms: float) -> None:
    for one, other in itertools.combinations(far.world.places, 2):
        far.world.change(one, other, _link(round_trip_ms))


def _offloaded(folder: Path) -> BlockSpan:
    whole = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    room = Room(device_bytes=whole // _MACHINES, ram_bytes=0, disk_bytes=0, folder=folder)
    return load_span(open_checkpoint(str(folder)), Span(0, _NUM_BLOCKS), room=room)


def _alone(blocks: BlockSpan, rows: int) -> Callable[[], object]:
    """Return a decode step of the machine alone, after two."""
    memory = blocks.new_memory(64 * rows)
    sequences = [memory.new_sequence() for _ in range(rows)]
    for sequence in sequences:
        memory.reserve(sequence, 1)
    hidden = torch.randn(rows, _HIDDEN_SIZE)

    def step() -> None:
        blocks.run_step(plan_step(memory, [StepRow(sequence, 1) for sequence in sequences]), hidden, memory)

    step()
    step()
    return step


def _together(client: SwarmClient, rows: int) -> Callable[[], object]:
    """Return a decode step through the swarm."""
    session = client.new_session(256)
    positions = itertools.count()
    hidden = torch.randn(rows, 1, _HIDDEN_SIZE)
    return lambda: client.run(session.step(hidden, next(positions)))


def _seconds(step: Callable[[], object]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began
