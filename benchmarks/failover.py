"""A replica that serves us dies or hangs in mid-generation: `failover_killed` and `failover_frozen`."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from potluck_cli.local_swarm import LocalEngine, LocalSwarm
from potluck_gateway.completion import Completion

from benchmarks.figures import Measured
from benchmarks.loops import generate, swarm_model
from benchmarks.models import checkpoint, local_model
from potluck.protocol.blocks import Span

NUM_BLOCKS = 8
NUM_TOKENS = 48
_STRIKE_AT = 16  # tokens
_SPANS = (Span(0, 4), Span(4, 8), Span(4, 8))


def killed(soak: bool) -> Measured:
    return _longest_wait(LocalEngine.kill, 20 if soak else 3)


def frozen(soak: bool) -> Measured:
    return _longest_wait(LocalEngine.freeze, 20 if soak else 3)


def _longest_wait(strike: Callable[[LocalEngine], None], rounds: int) -> Measured:
    """Each round strikes the replica in use, then puts a fresh one in its place."""
    folder = checkpoint(512, NUM_BLOCKS)
    waits, replaced, are_equal = [], 0, True
    with LocalSwarm(folder, _SPANS) as swarm:
        expected = generate(local_model(folder), NUM_TOKENS).tokens
        for number in range(rounds):
            with swarm_model(swarm, folder) as model:
                victims: list[LocalEngine] = []

                def watch(completion: Completion, model: object = model, victims: list[LocalEngine] = victims) -> None:
                    if len(completion.tokens) == _STRIKE_AT:
                        victims.append(_in_use(swarm, model))
                        strike(victims[0])

                completion = generate(model, NUM_TOKENS, watch)
                replaced += sum(len(report.replaced) for report in model.last_route())
            waits.append(completion.longest_wait_s)
            are_equal &= completion.tokens == expected
            victims[0].kill()
            if number < rounds - 1:
                swarm.add_engine(victims[0].span).wait_online()
    detail = {
        "all_s": [round(wait, 3) for wait in waits],
        "worst_s": round(max(waits), 3),
        "same_tokens": are_equal,
        "replaced": replaced,
        "rounds": rounds,
    }
    return Measured(statistics.median(waits), detail, holds=are_equal and replaced == rounds)


def _in_use(swarm: LocalSwarm, model: object) -> LocalEngine:
    serving = {hop.peer_id for report in model.last_route() for hop in report.hops}  # type: ignore[attr-defined]
    return next(engine for engine in swarm.engines if engine.span == _SPANS[-1] and engine.peer_id in serving)
