"""How fast this engine is: a short measurement at the start, then the real steps.

Throughput is combined as stock servers do (protocol reference, 14.8), so that records of both can be compared.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import torch

from potluck.checkpoint import BlockSpan

_MEASURE_S = 0.05  # for each of the two measurements; at least one run each
_FORWARD_TOKENS = 64
_RECENT_STEPS = 64


@dataclass(frozen=True, slots=True)
class Speed:
    """Rates through one block; the stock meaning."""

    inference_tps: float  # single-token steps a second
    forward_tps: float  # tokens a second


@dataclass(frozen=True, slots=True)
class Rates:
    """What a record says of speed."""

    network_tps: float
    throughput_tps: float


def measure_speed(blocks: BlockSpan) -> Speed:
    """Decode steps with a cache, and forwards of a few dozen tokens; call it on the compute thread, blocks warm."""
    cache = blocks.new_cache()
    token = torch.zeros((1, 1, blocks.hidden_size), dtype=blocks.dtype, device=blocks.device)
    many = token.expand(1, _FORWARD_TOKENS, -1).contiguous()
    with torch.inference_mode():
        step_s = _median_s(lambda: blocks.forward(token, cache))
        forward_s = _median_s(lambda: blocks.forward(many))
    num_blocks = len(blocks.span)
    return Speed(inference_tps=num_blocks / step_s, forward_tps=_FORWARD_TOKENS * num_blocks / forward_s)


def combine(speed: Speed, *, num_blocks: int, hidden_size: int, link_mbps: float) -> Rates:
    """What a typical request gets: half the span on average, or the link with 16 bits a value."""
    network_tps = link_mbps * 1e6 / (16 * hidden_size)
    return Rates(network_tps, min(speed.forward_tps / ((num_blocks + 1) / 2), network_tps))


class StepMeter:
    """Recent decode steps, from arrival to answer."""

    def __init__(self) -> None:
        self._recent_ms: deque[float] = deque(maxlen=_RECENT_STEPS)

    def add(self, step_ms: float) -> None:
        self._recent_ms.append(step_ms)

    @property
    def median_ms(self) -> float:
        """0 before the first step."""
        return statistics.median(self._recent_ms) if self._recent_ms else 0.0


def _median_s(run: Callable[[], object]) -> float:
    times: list[float] = []
    begin = time.perf_counter()
    while not times or time.perf_counter() - begin < _MEASURE_S:
        start = time.perf_counter()
        run()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
