"""Steps that go around the servers of a route, on an emulated internet: how long they take, and when one is lost.

The client is in this process, at a place of its own; every server is at another. Decode steps are timed once the
servers push to each other, which they do from the fourth step on. Needs root.
"""

from __future__ import annotations

import itertools
import os
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from potluck_gateway.answers.completion import Completion, Options, complete

from benchmarks.figures import Measured, figure
from benchmarks.network.far_swarm import FarSwarm, far_swarm
from benchmarks.setup.generation import cpu_seconds, generate, prompt, swarm_model
from benchmarks.setup.local_swarm import LocalEngine
from benchmarks.setup.models import checkpoint, local_model
from potluck.client.session import hop as hop_module
from potluck.client.session import inference_session
from potluck.client.session.pieces import piece_tokens
from potluck.protocol.blocks import Span
from tests.helpers.internet import CUT, Link

ROUND_TRIPS_MS = (10, 50, 100)
_NUM_BLOCKS = 6
_LINKING_STEPS = 8  # the servers push after these
_TOKENS = 24
_FAULT_LINK = Link(0.015)
_FAULT_TOKENS = 24
_SEED = 19
_LONG_LINK = Link(0.025, rate_mbit=100.0)
_LONG_TOKENS = 4000
_PREFILL_TOKENS = 2048
_LOST_AFTER = 160  # tokens more, in which understudies are fed


@figure("ring_latency", unit="ratio", reach=1.1, shown=True)
def latency(soak: bool) -> Measured:
    """Decode step over 1 to 3 servers, over the one-way trips around the ring plus compute, at 50 and 100 ms round
    trips.

    The worst, of the lower quartiles of steps; 10 ms and the client's star are in `detail`. Needs root.
    """
    rounds, folder = (9 if soak else 2), checkpoint(512, _NUM_BLOCKS)
    found: dict[str, dict[str, float]] = {}
    for count in (1, 2, 3):
        size = _NUM_BLOCKS // count
        spans = [Span(start, start + size) for start in range(0, _NUM_BLOCKS, size)]
        with far_swarm(folder, spans, Link(0.001)) as far, swarm_model(far.swarm, folder) as model:
            generate(model, _LINKING_STEPS)
            for round_trip_ms in ROUND_TRIPS_MS:
                far.set_round_trips(round_trip_ms)
                name = f"{count} servers, {round_trip_ms} ms"
                found[name] = _around(model, count, round_trip_ms, rounds)
                print(name, found[name], flush=True)
    worst = max(each["ratio"] for name, each in found.items() if not name.endswith(" 10 ms"))
    return Measured(worst, {"steps": found, "tokens": _TOKENS, "rounds": rounds})


@figure("prefill_pipeline", unit="ratio", reach=0.85, better="higher")
def prefill(soak: bool) -> Measured:
    """Time of a perfect pipeline for 2,048 tokens through three servers, over the measured time: 50 ms round trips, 100
    Mbit/s.

    The perfect pipeline has as many pieces: the trips, the slowest of servers and links, and one piece of each
    other stage; or, if that is longer, all processor time that the pass took over the cores. A server's time is
    what it takes for the whole prompt while no other computes; the shortest counts for all three, because they have
    as many blocks and whatever else the machine does only makes them slower. `detail` has store and forward. Needs
    root.
    """
    folder, spans = checkpoint(512, _NUM_BLOCKS), [Span(0, 2), Span(2, 4), Span(4, 6)]
    ids, cores = prompt(tokens=_PREFILL_TOKENS), len(os.sched_getaffinity(0))
    wire_s = _PREFILL_TOKENS * 512 * 4 * 8e-6 / _LONG_LINK.rate_mbit
    alone, flown = list[_Prefill](), list[_Prefill]()
    with far_swarm(folder, spans, _LONG_LINK) as far, swarm_model(far.swarm, folder) as model:
        for _ in range(5 if soak else 3):
            with mock.patch.object(hop_module, "is_long", return_value=False):
                alone.append(_prefill(model, ids))
            flown.append(_prefill(model, ids))
            print(f"in turns {alone[-1].seconds:.2f} s, in a pipeline {flown[-1].seconds:.2f} s", flush=True)
    server_s = min(computed_s for turns in alone for computed_s in turns.computed_s)
    stages = [*[server_s] * len(spans), *[wire_s] * (len(spans) + 1)]
    pipeline_s = max(stages) + (sum(stages) - max(stages)) / (_PREFILL_TOKENS / flown[0].piece_tokens)
    trips_s = (len(spans) + 1) * _LONG_LINK.delay_s
    cpu_s = min(each.cpu_s for each in flown)
    ratios = [(trips_s + max(pipeline_s, cpu_s / cores)) / each.seconds for each in flown]
    detail = {
        "ratios": ratios,
        "pipelined_s": [each.seconds for each in flown],
        "cpu_s": cpu_s,
        "pushed_pieces": [each.pushed for each in flown],
        "store_and_forward_s": [each.seconds for each in alone],
        "server_s": server_s,
        "link_s": wire_s,
        "tokens": _PREFILL_TOKENS,
        "cores": cores,
    }
    value = statistics.median(ratios)
    return Measured(value, detail, holds=value <= 1)  # above 1, a busy machine made the servers look slow


@dataclass(frozen=True, slots=True)
class _Prefill:
    seconds: float
    cpu_s: float  # this process and all that it started, the emulated links included
    computed_s: list[float]  # one number a server
    piece_tokens: int
    pushed: int


def _prefill(model: Any, ids: torch.Tensor) -> _Prefill:
    """Give a session that has just begun, and whose servers push already, a long text."""
    with model.session(max_length=_PREFILL_TOKENS + 2 * _LINKING_STEPS) as session, torch.inference_mode():
        for token in range(_LINKING_STEPS):
            model(ids[:, token : token + 1], past_key_values=session.cache)
        (route,) = model.last_route()
        before = [(hop.compute_ms, hop.pushed_steps) for hop in route.hops]
        began, cpu = time.perf_counter(), cpu_seconds()
        model(ids, past_key_values=session.cache, logits_to_keep=1)
        seconds, cpu_s = time.perf_counter() - began, cpu_seconds() - cpu
        (route,) = model.last_route()
        after = [(hop.compute_ms, hop.pushed_steps) for hop in route.hops]
    computed = [(late[0] - early[0]) / 1000 for early, late in zip(before, after, strict=True)]
    pushed = sum(late[1] - early[1] for early, late in zip(before, after, strict=True))
    return _Prefill(seconds, cpu_s, computed, piece_tokens(_PREFILL_TOKENS, 1), pushed)


@figure("push_faults", unit="tokens", reach=0)
def faults(soak: bool) -> Measured:
    """Tokens that differ from the local model's after 8 kills, freezes and cut links between pushing servers (200 in
    soak).

    Six servers, two for each third of the blocks, 30 ms round trips; one fault in each generation. Needs root.
    """
    folder, rng = checkpoint(512, _NUM_BLOCKS), random.Random(_SEED)
    spans = [span for span in (Span(0, 2), Span(2, 4), Span(4, 6)) for _ in range(2)]
    kinds = itertools.cycle(("cut", "freeze", "cut", "kill"))
    want = generate(local_model(folder), _FAULT_TOKENS).tokens
    differing, waits = 0, list[dict[str, Any]]()
    with far_swarm(folder, spans, _FAULT_LINK) as far:
        for kind in itertools.islice(kinds, 200 if soak else 8):
            got, wait_s, pushed = _generate_with(kind, far, folder, rng)
            same = sum(one == other for one, other in zip(got, want, strict=False))
            differing += max(len(got), len(want)) - same
            waits.append({"fault": kind, "longest_wait_s": round(wait_s, 2), "pushed_steps": pushed})
            print(waits[-1], "tokens that differ so far:", differing, flush=True)
    longest = max(each["longest_wait_s"] for each in waits)
    return Measured(float(differing), {"longest_wait_s": longest, "faults": waits, "seed": _SEED})


@figure("recover_long", unit="s", reach=3, shown=True)
def recover_long(soak: bool) -> Measured:
    """Seconds to the next token when the middle one of three servers is killed after a prompt of 4,000 tokens.

    Two servers of two people for each third of the blocks, 50 ms round trips and 100 Mbit/s; killed 160 tokens
    after the prompt. The tokens must be those of the local model. Needs root.
    """
    folder, ids = checkpoint(512, _NUM_BLOCKS), prompt(tokens=_LONG_TOKENS)
    spans = [span for span in (Span(0, 2), Span(2, 4), Span(4, 6)) for _ in range(2)]
    tokens = _LOST_AFTER + _LINKING_STEPS
    options = Options(tokens, min_new_tokens=tokens)
    want = complete(local_model(folder), ids, options, lambda _: None).tokens
    waits, replayed, differing = list[float](), list[int](), 0
    with far_swarm(folder, spans, _LONG_LINK, people=True) as far:
        for _ in range(5 if soak else 1):
            killed = list[LocalEngine]()
            with swarm_model(far.swarm, folder) as model:
                strike = _killing(far, model, killed)
                done = complete(model, ids, options, strike)
                replayed.append(sum(hop.replayed_tokens for hop in model.last_route()[0].hops))
            far.replace(killed[0])
            waits.append(max(later - earlier for earlier, later in itertools.pairwise(done.times_s)))
            differing += sum(one != other for one, other in zip(done.tokens, want, strict=True))
    detail = {
        "waits_s": waits,
        "replayed_tokens": replayed,
        "tokens_that_differ": differing,
        "context": _LONG_TOKENS,
        "hidden_size": 512,
    }
    return Measured(statistics.median(waits), detail, holds=differing == 0)


def _killing(far: FarSwarm, model: Any, killed: list[LocalEngine]) -> Callable[[Completion], None]:
    """Return what kills the middle of the route when it has heard of enough tokens."""
    heard = itertools.count(1)

    def strike(_: Completion) -> None:
        if next(heard) == _LOST_AFTER:
            killed.append(far.serving(model)[1])
            killed[0].kill()

    return strike


def _around(model: Any, count: int, round_trip_ms: int, rounds: int) -> dict[str, float]:
    """Compare decode steps with their one-way trips and what the servers computed, around the ring and without pushes.

    The lower quartile counts, because whatever else the machine does only makes steps longer.
    """
    trips_ms = (count + 1) * round_trip_ms / 2
    generate(model, _LINKING_STEPS)
    around = sorted(step / (trips_ms + compute) for _ in range(rounds) for step, compute in _steps_ms(model))
    with mock.patch.object(inference_session, "open_links", return_value=[]):
        star = sorted(step / (trips_ms + compute) for step, compute in _steps_ms(model))
    return {
        "ratio": round(around[len(around) // 4], 3),
        "median": round(around[len(around) // 2], 3),
        "star": round(star[len(star) // 4], 3),
    }


def _steps_ms(model: Any) -> list[tuple[float, float]]:
    """Return how long each decode step took, and what the servers computed in it."""
    computed: list[float] = []

    def note(_: Completion) -> None:
        (route,) = model.last_route()
        computed.append(sum(hop.compute_ms for hop in route.hops))

    times = generate(model, _TOKENS, note).times_s
    steps = [1000 * (later - earlier) for earlier, later in itertools.pairwise(times)]
    compute = [later - earlier for earlier, later in itertools.pairwise(computed)]
    return list(zip(steps, compute, strict=True))[_LINKING_STEPS:]


def _generate_with(kind: str, far: FarSwarm, folder: Path, rng: random.Random) -> tuple[list[int], float, int]:
    """Generate with one fault; return the tokens, the longest wait for one, and how many steps were pushed."""
    at = rng.randrange(_LINKING_STEPS, _FAULT_TOKENS - 6)
    struck: list[LocalEngine] = []
    count = 0

    def strike(_: Completion) -> None:
        nonlocal count
        count += 1
        if count == at:
            route = far.serving(model)
            first = rng.randrange(len(route) - 1)
            struck.extend(route[first : first + 2])
            match kind:
                case "cut":
                    far.join(struck[0], struck[1], CUT)
                case "freeze":
                    struck[1].freeze()
                case "kill":
                    struck[1].kill()

    with swarm_model(far.swarm, folder) as model:
        done = generate(model, _FAULT_TOKENS, strike)
        (route,) = model.last_route()
    match kind:
        case "cut":
            far.join(struck[0], struck[1], _FAULT_LINK)
        case "freeze":
            struck[1].thaw()
        case "kill":
            far.replace(struck[1])
    waits = [later - earlier for earlier, later in itertools.pairwise(done.times_s)]
    return done.tokens, max(waits[at - 1 :]), sum(hop.pushed_steps for hop in (*route.hops, *route.replaced))
