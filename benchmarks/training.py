"""Training and scoring through two servers: `tune_512`, `tune_2048`, `forward_512` and `pipeline_efficiency`.

By wall time, because while one micro-batch is at the second server, the first one computes the next. The local model's
weights are frozen like those of the servers, so both compute gradients of the prompt alone. Other work on the machine
spoils these figures: servers compute such calls at the lowest priority.
"""

from __future__ import annotations

import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.figures import Measured
from benchmarks.local_swarm import LocalSwarm
from benchmarks.loops import median_ratio, rounded, swarm_model
from benchmarks.models import checkpoint, local_model
from potluck.client import PromptTuning
from potluck.protocol.blocks import Span
from potluck.protocol.messages import BackwardRequest

NUM_BLOCKS = 8
NUM_SERVERS = 2
ROWS = 8
PROMPT_TOKENS = 16
_MOST_OFF = 1e-3
"""Of the gradients, relative to their norm: rows of other batches add up in another order."""


@dataclass(frozen=True, slots=True)
class _Both:
    """The models to compare, by name."""

    swarm: Any
    local: Any


def tune_512(soak: bool) -> Measured:
    return _tuning(512, tokens=128, rounds=20 if soak else 7)


def tune_2048(soak: bool) -> Measured:
    return _tuning(2048, tokens=64, rounds=8 if soak else 3)


def forward_512(soak: bool) -> Measured:
    """A forward of 8 x 128 tokens without gradients, as for scoring."""
    ids = _token_ids(128)
    with _models(512) as both, torch.no_grad():
        runs = {name: partial(_logits, model, ids) for name, model in _named(both)}
        off = _distance(runs["swarm"](), runs["local"]())
        times = _in_turn(runs, 30 if soak else 11)
    return _measured(times, off, tokens=128)


def _logits(model: Any, ids: Tensor) -> Tensor:
    logits: Tensor = model(ids, use_cache=False).logits
    return logits


def pipeline_efficiency(soak: bool) -> Measured:
    """Eight rows of 128 tokens forward and backward through the blocks, against their times alone."""
    hidden = torch.randn(ROWS, 128, 512, generator=torch.Generator().manual_seed(0))
    shares, ideal, measured = [], [], []
    with _swarm(512) as (model, _):
        times = _noted_times(model)
        for number in range((20 if soak else 7) + 1):
            times.clear()
            for _ in range(3):
                _there_and_back(model, hidden[:1])
            alone = {kind: [statistics.median(each) for each in stages.values()] for kind, stages in times.items()}
            begin = time.perf_counter()
            _there_and_back(model, hidden)
            taken = 1000 * (time.perf_counter() - begin)
            if number:  # the first round warms up
                ideal.append(sum(_makespan(stages) for stages in alone.values()))
                measured.append(taken)
                shares.append(ideal[-1] / taken)
    detail = {"ideal_ms": statistics.median(ideal), "ms": statistics.median(measured), "cores": os.cpu_count()}
    return Measured(statistics.median(shares), detail)


def _noted_times(model: Any) -> dict[bool, dict[str, list[float]]]:
    """Note the milliseconds that each server computes: is it a backward -> server -> one number a call."""
    times: dict[bool, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    calls = model.blocks.client.calls
    compute = calls.compute

    async def noted(part: Any, request: Any, adapter: Any) -> Any:
        reply = await compute(part, request, adapter)
        times[isinstance(request, BackwardRequest)][part.peer_id].append(reply.timing.compute_ms)
        return reply

    calls.compute = noted
    return times


def _there_and_back(model: Any, hidden: Tensor) -> None:
    hidden = hidden.clone().requires_grad_()
    model.blocks(hidden).square().mean().backward()


def _makespan(stages: list[float]) -> float:
    """Return the least time for all micro-batches to pass through stages with these times, on this machine's cores."""
    ends = [0.0] * len(stages)
    for _ in range(ROWS):
        for stage, taken in enumerate(stages):
            ends[stage] = max(ends[stage], ends[stage - 1] if stage else 0.0) + taken
    return max(ends[-1], ROWS * sum(stages) / (os.cpu_count() or 1))


def _tuning(hidden_size: int, *, tokens: int, rounds: int) -> Measured:
    """A step of prompt tuning: forward, loss, backward and the optimiser's step for 8 rows of `tokens` tokens."""
    ids = _token_ids(tokens - PROMPT_TOKENS)
    with _models(hidden_size) as both:
        tunings = {name: _Tuning(model, both.swarm) for name, model in _named(both)}
        runs = {name: partial(tuning.step, ids) for name, tuning in tunings.items()}
        off = _distance(runs["swarm"](), runs["local"]())
        times = _in_turn(runs, rounds)
    return _measured(times, off, tokens=tokens)


class _Tuning:
    """The same prompt tuning for either model, from the same start."""

    def __init__(self, model: Any, swarm_model: Any) -> None:
        self._model = model
        self._prompt = torch.nn.Parameter(PromptTuning(swarm_model, PROMPT_TOKENS).prompt.detach().clone())
        self._optimizer = torch.optim.Adam([self._prompt], lr=1e-3)

    def step(self, ids: Tensor) -> Tensor:
        """Return the gradient of the prompt [prompt_tokens, hidden_size]."""
        text = self._model.get_input_embeddings()(ids)
        embedded = torch.cat([self._prompt.expand(len(ids), -1, -1), text], dim=1)
        labels = torch.cat([ids.new_full((len(ids), PROMPT_TOKENS), -100), ids], dim=1)
        self._optimizer.zero_grad()
        self._model(inputs_embeds=embedded, labels=labels, use_cache=False).loss.backward()
        self._optimizer.step()
        assert self._prompt.grad is not None
        return self._prompt.grad.clone()


@contextmanager
def _models(hidden_size: int) -> Iterator[_Both]:
    with _swarm(hidden_size) as (model, folder):
        yield _Both(model, local_model(folder).requires_grad_(False))


@contextmanager
def _swarm(hidden_size: int) -> Iterator[tuple[Any, Path]]:
    folder = checkpoint(hidden_size, NUM_BLOCKS)
    size = NUM_BLOCKS // NUM_SERVERS
    spans = [Span(start, start + size) for start in range(0, NUM_BLOCKS, size)]
    with LocalSwarm(folder, spans) as swarm, swarm_model(swarm, folder) as model:
        yield model, folder


def _named(both: _Both) -> tuple[tuple[str, Any], ...]:
    return ("swarm", both.swarm), ("local", both.local)


def _token_ids(tokens: int) -> Tensor:
    return torch.randint(1, 1000, (ROWS, tokens), generator=torch.Generator().manual_seed(0))


def _in_turn(runs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of each run, one value a round, taken in turns."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    order = list(runs.items())
    for _ in range(rounds):
        for name, run in order:
            begin = time.perf_counter()
            run()
            times[name].append(1000 * (time.perf_counter() - begin))
        order.reverse()
    return times


def _distance(one: Tensor, other: Tensor) -> float:
    return float((one - other).norm() / other.norm())


def _measured(times: dict[str, list[float]], off: float, *, tokens: int) -> Measured:
    detail = {"ms": rounded(times), "rows": ROWS, "tokens_a_row": tokens, "servers": NUM_SERVERS, "off": off}
    return Measured(median_ratio(times["swarm"], times["local"]), detail, holds=off < _MOST_OFF)
