"""Measures how fast an engine is and how much it does.

`Speed` is measured briefly at the start, and then by real steps. Throughput is combined as stock servers do (protocol
reference, 14.8), so that records of both can be compared. `LoadMeter` measures the load for heartbeats and quotes from
recent decode steps and the link; old steps do not count, so that a server that was slow a minute ago and is idle now
gets clients again. `StepCounts` counts steps and tokens.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from potluck_control.processes.engine_report import STEP_TIME_BOUNDS_S
from torch import Tensor

from potluck.blocks.accelerators import synchronize
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.protocol.codes import Code
from potluck.wire.packing import can_pack, relative_error
from potluck_engine.compute.steps import StepCost

_MEASURE_S = 0.05  # the length of each of the two measurements, which have at least one run
_FORWARD_TOKENS = 64
_RECENT_STEPS = 64
_RECENT_S = 20.0
_MAX_UTILISATION = 0.95  # the formula for waiting times means nothing beyond it
RECENT_WEIGHT = 0.1
"""The newest step's weight in `StepCounts.recent_rows`."""


@dataclass(frozen=True, slots=True)
class Speed:
    """The rates through one block, as stock servers define them.

    Attributes:
        inference_tps: steps of a single token a second.
        forward_tps: tokens a second in large steps.
        steps: tokens and seconds of measured steps through the whole span.
        packing_error: see `ServerRecord`.
    """

    inference_tps: float
    forward_tps: float
    steps: tuple[tuple[int, float], ...] = ()
    packing_error: float | None = None


def measure_speed(blocks: BlockSpan) -> Speed:
    """Measure decode steps and a prefill of a few dozen tokens. Call it on the compute thread, with warm blocks."""
    run = ragged_step(blocks) if blocks.is_ragged else _alone_step(blocks)
    with torch.inference_mode():
        step_s = _median_s(partial(run, 1), blocks.device)
        forward_s = _median_s(partial(run, _FORWARD_TOKENS), blocks.device)
    num_blocks = len(blocks.span)
    return Speed(
        inference_tps=num_blocks / step_s,
        forward_tps=_FORWARD_TOKENS * num_blocks / forward_s,
        steps=((1, step_s), (_FORWARD_TOKENS, forward_s)),
        packing_error=measure_packing(blocks),
    )


def measure_packing(blocks: BlockSpan) -> float | None:
    """Return how much packing changes these blocks' outputs for random inputs; None if they cannot be packed."""
    if not can_pack(blocks.hidden_size):
        return None
    hidden = _random((1, _FORWARD_TOKENS, blocks.hidden_size))
    with torch.inference_mode():
        error = relative_error(blocks.forward(hidden.to(blocks.device, blocks.dtype), None).cpu())
    return error if math.isfinite(error) else None


def ragged_step(blocks: BlockSpan, rows: int = 1) -> Callable[[int], object]:
    """Return a function that runs so many tokens of each row, as steps of sessions do.

    The tokens are the same in each run. They are random, because equal ones would choose the same experts.
    """
    memory = blocks.new_memory(rows * 2 * _FORWARD_TOKENS)
    sequences = [memory.new_sequence() for _ in range(rows)]
    for sequence in sequences:
        memory.reserve(sequence, 2 * _FORWARD_TOKENS)
    hidden = _random((rows * _FORWARD_TOKENS, blocks.hidden_size)).to(blocks.device, blocks.dtype)

    def run(tokens: int) -> object:
        plan = plan_step(memory, [StepRow(sequence, tokens) for sequence in sequences])
        return blocks.run_step(plan, hidden[: rows * tokens], memory)

    return run


def _alone_step(blocks: BlockSpan) -> Callable[[int], object]:
    cache = blocks.new_cache()
    hidden = _random((1, _FORWARD_TOKENS, blocks.hidden_size)).to(blocks.device, blocks.dtype)
    return lambda tokens: blocks.forward(hidden[:, :tokens], cache if tokens == 1 else None)


def throughput_tps(speed: Speed, num_blocks: int, network_tps: float) -> float:
    """Return the throughput of a typical request, which uses half the span, as far as the link carries it."""
    return min(speed.forward_tps / ((num_blocks + 1) / 2), network_tps)


def speed_of_steps(speed: Speed, cost: StepCost, num_blocks: int) -> Speed:
    """Return the speed that real steps through `num_blocks` blocks had, or `speed` if there were none.

    Prefill comes in large pieces, so its rate is that of the largest known step.
    """
    if not cost.points:
        return speed
    tokens, seconds = cost.points[-1]
    return replace(speed, inference_tps=num_blocks / cost.of(1), forward_tps=tokens * num_blocks / seconds)


def measure_times(run: Callable[[], object], device: torch.device, *, least_s: float, least: int = 1) -> list[float]:
    """Run at least `least` times, and for at least `least_s` together. Return the seconds of each run."""
    times: list[float] = []
    while len(times) < least or sum(times) < least_s:
        start = time.perf_counter()
        run()
        synchronize(device)
        times.append(time.perf_counter() - start)
    return times


def _random(shape: tuple[int, ...]) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def _median_s(run: Callable[[], object], device: torch.device) -> float:
    run()  # the first run compiles and captures
    return statistics.median(measure_times(run, device, least_s=_MEASURE_S))


@dataclass(frozen=True, slots=True)
class Load:
    """The load of a server as clients see it."""

    batch: int  # rows in recent steps
    step_ms: float  # median time of a decode step, with its wait; 0: there was none
    queue_ms: float  # the wait that a step has to expect now


class LoadMeter:
    """Keeps a window of recent decode steps, each measured from arrival to answer. Append them to `steps`."""

    def __init__(self) -> None:
        self.network_tps = math.inf  # rows a second that the link carries
        self.steps: deque[tuple[float, float, float]] = deque(
            maxlen=_RECENT_STEPS
        )  # time of the answer, milliseconds, milliseconds of wait

    def load(self, now: float, *, rows: float) -> Load:
        """Return the load at `now`, given the number of rows in recent steps."""
        recent = [each for each in self.steps if now - each[0] < _RECENT_S]
        if not recent:
            return Load(0, 0.0, 0.0)
        rate_s = len(recent) / max(now - recent[0][0], 1.0)
        link_ms = 1000 * link_wait_s(rate_s, self.network_tps)
        step_ms = statistics.median(step for _, step, _ in recent)
        queue_ms = statistics.median(queue for _, _, queue in recent)
        return Load(round(rows), step_ms + link_ms, queue_ms + link_ms)


def link_wait_s(rows_s: float, network_tps: float) -> float:
    """Return how long a row waits for the link at this rate, in a queue with random arrivals."""
    if not math.isfinite(network_tps) or network_tps <= 0:
        return 0.0
    use = min(rows_s / network_tps, _MAX_UTILISATION)
    return use / (1 - use) / network_tps


class StepCounts:
    """The counts of steps and tokens, written by the computing threads."""

    def __init__(self) -> None:
        self.decode_tokens = 0
        self.prefill_tokens = 0
        self.shared_tokens = 0
        self.forward_tokens = 0
        self.backward_tokens = 0
        self.steps = 0
        self.step_rows = 0
        self.recent_rows = 0.0  # the average of the last dozen steps
        self.step_seconds = 0.0
        self.step_times = [0] * (len(STEP_TIME_BOUNDS_S) + 1)
        self.spills = 0
        self.returns = 0
        self.refusals: Counter[Code] = Counter()
