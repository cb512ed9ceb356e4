"""Generation as it is timed: the same Transformers `generate` loop for a swarm and for the local model."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import torch
from potluck_gateway.answers.completion import Completion, Options, complete, silence_transformers
from torch import Tensor

from benchmarks.figures import Measured
from benchmarks.setup.local_swarm import LocalSwarm
from potluck.blocks.cache.kv_memory import KvMemory, KvSequence
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.client import AutoDistributedModelForCausalLM, ClientConfig
from potluck.membership.membership import Membership

PROMPT_TOKENS = 16
_WARM_UP_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the half width of its 95 % interval."""

    mean: float
    half_width: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        return cls(statistics.fmean(values), 1.96 * spread / math.sqrt(len(values)))


def prompt(seed: int = 0, *, tokens: int = PROMPT_TOKENS) -> torch.Tensor:
    """[1, tokens] int64."""
    return torch.randint(1, 1000, (1, tokens), generator=torch.Generator().manual_seed(seed))


def generate(model: Any, num_tokens: int, on_token: Callable[[Completion], None] = lambda _: None) -> Completion:
    """Greedy, exactly `num_tokens` new tokens."""
    return complete(model, prompt(), Options(num_tokens, min_new_tokens=num_tokens), on_token)


def longest_wait_s(completion: Completion) -> float:
    """Return the longest wait for a token after the first."""
    return max((later - earlier for earlier, later in pairwise(completion.times_s)), default=0.0)


def step(blocks: BlockSpan, memory: KvMemory, sequences: Sequence[KvSequence], hidden: Tensor) -> Tensor:
    """Run the blocks alone on the next tokens of some sequences, equally many of each, and return their outputs.

    Shapes: hidden [sequences * tokens, hidden_size], returns the same.
    """
    tokens = len(hidden) // len(sequences)
    for sequence in sequences:
        memory.reserve(sequence, sequence.length + tokens)
    output = blocks.run_step(plan_step(memory, [StepRow(each, tokens) for each in sequences]), hidden, memory)
    for sequence in sequences:
        memory.advance(sequence, tokens)
    return output


def ms_per_token(model: Any, num_tokens: int) -> float:
    """Median time of a decode step; the prefill is left out."""
    times = generate(model, num_tokens).times_s
    return statistics.median(1000 * (b - a) for a, b in pairwise(times))


def interleaved(models: Mapping[str, Any], *, rounds: int, num_tokens: int) -> dict[str, list[float]]:
    """Milliseconds a token of each model, one value a round; they take turns, so a noisy moment hits all alike."""
    for model in models.values():
        generate(model, _WARM_UP_TOKENS)
    result: dict[str, list[float]] = {name: [] for name in models}
    order = list(models.items())
    for _ in range(rounds):
        for name, model in order:
            result[name].append(ms_per_token(model, num_tokens))
        order.reverse()
    return result


def in_turn(runs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of each run, one value a round; they take turns."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    order = list(runs.items())
    for _ in range(rounds):
        for name, run in order:
            began = time.perf_counter()
            run()
            times[name].append(1000 * (time.perf_counter() - began))
        order.reverse()
    return times


def overhead(slow: list[float], fast: list[float], hops: int, detail: dict[str, Any]) -> Measured:
    """Median over rounds of slow - fast, for each hop; less than nothing is noise and never counts as reached."""
    differences = sorted((x - y) / hops for x, y in zip(slow, fast, strict=True))
    quarter = len(differences) // 4
    spread = [round(differences[quarter], 3), round(differences[-1 - quarter], 3)]
    value = statistics.median(differences)
    return Measured(value, {**detail, "quartiles": spread}, holds=value > 0)


def median_ratio(a: list[float], b: list[float]) -> float:
    """Median over rounds of a / b."""
    return statistics.median(x / y for x, y in zip(a, b, strict=True))


def rounded(values: dict[str, list[float]]) -> dict[str, float]:
    """Medians, for `detail`."""
    return {name: round(statistics.median(times), 3) for name, times in values.items()}


def cpu_ratio(
    models: Sequence[Any], pairs: int, work: Callable[[Any], object], *, turns: int
) -> tuple[float, float, float]:
    """Return the mean ratio of CPU time, first model over second, its upper end, and the second's milliseconds.

    Counts this process and its descendants, p2pd included. In each pair both models take `turns` turns.
    """
    ratios, spent_ms = [], []
    order = [0, 1]
    for number in range(pairs + 1):
        spent = [0.0, 0.0]
        for _ in range(turns):
            for which in order:
                began = cpu_seconds()
                work(models[which])
                spent[which] += cpu_seconds() - began
            order.reverse()
        if number:  # the first warms up
            ratios.append(math.log(spent[0] / spent[1]))
            spent_ms.append(1000 * spent[1])
    found = Interval.of(ratios)
    return math.exp(found.mean), math.exp(found.mean + found.half_width), sum(spent_ms) / pairs


@contextmanager
def swarm_model(
    swarm: LocalSwarm, folder: Path, config: ClientConfig | None = None, membership: Membership | None = None
) -> Iterator[Any]:
    """A client of the swarm in this process, one thread; None: the founder's."""
    silence_transformers()
    torch.set_num_threads(1)
    with AutoDistributedModelForCausalLM.from_pretrained(
        str(folder), swarm=membership or swarm.membership, config=config or ClientConfig()
    ) as model:
        yield model


def cpu_seconds() -> float:
    """Return the processor time of this process and its descendants so far."""
    children = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
    return time.process_time() + sum(times.user + times.system for times in children)
