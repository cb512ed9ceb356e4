"""Two ranks over one process: `tp_speed`.

Both compute with one thread a process, turn by turn. Where other work takes processors away, the wall time of two
processes suffers more than that of one; so the detail has what processor time alone would give, too: that of one
process over that of the busier rank, which leaves out what ranks wait for each other.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import torch
from potluck_engine.ranks.processes import RankProcesses
from potluck_engine.ranks.ranked import RankedSpan

from benchmarks.figures import Measured
from benchmarks.models import checkpoint
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.checkpoint.source import open_checkpoint
from potluck.membership.membership import Membership
from potluck.protocol.blocks import Span
from potluck.protocol.swarm import Swarm
from tests.helpers.launches import launch_of

HIDDEN_SIZE = 2048
NUM_TOKENS = 512
SPAN = Span(0, 2)


def speed(soak: bool) -> Measured:
    return asyncio.run(_measure(15 if soak else 5))


async def _measure(rounds: int) -> Measured:
    folder = checkpoint(HIDDEN_SIZE)
    swarm = Swarm(name="benchmark", model="benchmark", num_blocks=8, prefix="benchmark")
    one = load_span(open_checkpoint(str(folder)), SPAN)
    with tempfile.TemporaryDirectory() as scratch:
        ranks = await RankProcesses.start(
            launch_of(str(folder), Path(scratch), Membership(swarm), blocks=str(SPAN), devices=("cpu", "cpu"))
        )
        try:
            own = await asyncio.to_thread(ranks.load, open_checkpoint(str(folder)), SPAN)
            work = {"one": _prefill(one), "two": _prefill(RankedSpan(own, ranks))}
            return await asyncio.to_thread(_interleaved, work, ranks.pids[0], rounds)
        finally:
            await ranks.close()


def _prefill(blocks: BlockSpan) -> Callable[[], None]:
    memory = blocks.new_memory(NUM_TOKENS)
    hidden = torch.randn(NUM_TOKENS, HIDDEN_SIZE)

    def run() -> None:
        sequence = memory.new_sequence()
        memory.reserve(sequence, NUM_TOKENS)
        blocks.run_step(plan_step(memory, [StepRow(sequence, NUM_TOKENS)]), hidden, memory)
        memory.free(sequence)

    return run


def _interleaved(work: dict[str, Callable[[], None]], other_pid: int, rounds: int) -> Measured:
    torch.set_num_threads(1)
    other = psutil.Process(other_pid)
    wall: dict[str, list[float]] = {name: [] for name in work}
    processor: dict[str, list[float]] = {name: [] for name in work}  # of the busier process
    for turn in range(rounds + 1):
        for name, run in work.items():
            begin, mine, theirs = time.perf_counter(), time.process_time(), sum(other.cpu_times()[:2])
            run()
            wall_s = time.perf_counter() - begin
            busier_s = max(time.process_time() - mine, sum(other.cpu_times()[:2]) - theirs)
            if turn:  # the first warms up
                wall[name].append(wall_s)
                processor[name].append(busier_s)
    ratios = [one / two for one, two in zip(wall["one"], wall["two"], strict=True)]
    detail = {
        "prefill_s": {name: round(statistics.median(times), 4) for name, times in wall.items()},
        "processor_s": {name: round(statistics.median(times), 4) for name, times in processor.items()},
        "by_processor_time": round(statistics.median(processor["one"]) / statistics.median(processor["two"]), 3),
        "rounds": rounds,
        "tokens": NUM_TOKENS,
        "blocks": len(SPAN),
    }
    return Measured(statistics.median(ratios), detail)
