"""What decoding sessions feel of others' work: `decode_under_prefill`, `decode_under_backward` and `fair_exact`."""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch

from benchmarks.figures import Measured
from benchmarks.local_swarm import LocalSwarm
from benchmarks.models import checkpoint
from benchmarks.sessions import Decoder, client_of, decode_together, random_states
from potluck.client.swarm_client import SwarmClient
from potluck.protocol.blocks import Span
from potluck.protocol.messages import BackwardRequest
from potluck.routing.route import Needs

HIDDEN_SIZE = 512
NUM_BLOCKS = 4
PREFILL_TOKENS = 512
BACKWARD_ROWS, BACKWARD_TOKENS = 8, 128
_PROMPT_TOKENS = 32
_WARM_UP_TOKENS = 16
_NUM_DECODERS = 8

Other = Callable[[SwarmClient], Coroutine[Any, Any, None]]
"""One piece of others' work, from its beginning to its answer."""


def under_prefill(soak: bool) -> Measured:
    """New sessions of 512 tokens, one after the other without a pause, each with a text of its own."""
    seeds = itertools.count()

    async def prefill(client: SwarmClient) -> None:
        session = client.new_session(PREFILL_TOKENS)
        await session.step(random_states(PREFILL_TOKENS, HIDDEN_SIZE, torch.float32, seed=next(seeds)), 0)
        await session.close()

    return _decode_beside(prefill, soak)


def under_backward(soak: bool) -> Measured:
    """Backward passes of 8 rows of 128 tokens, one after the other without a pause."""
    hidden = random_states(BACKWARD_TOKENS, HIDDEN_SIZE, torch.float32, rows=BACKWARD_ROWS)

    async def backward(client: SwarmClient) -> None:
        span = Span(0, NUM_BLOCKS)
        (hop,) = (await client.servers.find_route(span, Needs(max_length=0, cache_tokens=0))).hops
        await client.calls.compute(hop, BackwardRequest(client.swarm.prefix, span, hidden, hidden))

    return _decode_beside(backward, soak)


def fair_exact(soak: bool) -> Measured:
    """Tokens a second of eight decoding sessions beside a person's `exact` prefills, over those beside ordinary ones.

    The prefills come one after the other without a pause, each with a text of its own; both kinds take turns.
    """
    rounds, num_tokens = (8, 100) if soak else (3, 60)
    rates: dict[str, list[float]] = {"ordinary": [], "exact": []}
    done: Counter[str] = Counter()
    seeds = itertools.count()
    with (
        LocalSwarm(checkpoint(HIDDEN_SIZE, NUM_BLOCKS), [Span(0, NUM_BLOCKS)]) as swarm,
        client_of(swarm) as client,
        client_of(swarm) as neighbour,
    ):
        decoders = [
            Decoder(client, HIDDEN_SIZE, torch.float32, prompt_tokens=_PROMPT_TOKENS, seed=seed)
            for seed in range(_NUM_DECODERS)
        ]

        async def prefill(kind: str) -> None:
            while True:
                session = neighbour.new_session(PREFILL_TOKENS, config=replace(neighbour.config, exact=kind == "exact"))
                states = random_states(PREFILL_TOKENS, HIDDEN_SIZE, torch.float32, seed=next(seeds))
                await session.step(states, 0)
                await session.close()
                done[kind] += 1

        for decoder in decoders:
            client.run(decoder.start())
        for _ in range(rounds):
            for kind, found in rates.items():
                tasks: list[asyncio.Task[None]] = []
                neighbour.run(_begin(tasks, prefill(kind)))
                client.run(decode_together(decoders, _WARM_UP_TOKENS))
                begin = time.perf_counter()
                client.run(decode_together(decoders, num_tokens))
                found.append(_NUM_DECODERS * num_tokens / (time.perf_counter() - begin))
                neighbour.run(_end(tasks))
        for decoder in decoders:
            client.run(decoder.close())
    detail = {f"{kind}_tokens_a_second": round(statistics.median(found), 1) for kind, found in rates.items()}
    ratios = [exact / ordinary for exact, ordinary in zip(rates["exact"], rates["ordinary"], strict=True)]
    done_detail = {f"{kind}_prefills_done": done[kind] for kind in rates}
    return Measured(statistics.median(ratios), detail | done_detail, holds=all(done[kind] for kind in rates))


def _decode_beside(other: Other, soak: bool) -> Measured:
    """95th percentile of a decode step while another client keeps the server busy, over the median without."""
    rounds, num_tokens = (6, 600) if soak else (3, 300)
    folder = checkpoint(HIDDEN_SIZE, NUM_BLOCKS)
    idle: list[float] = []
    busy: list[float] = []
    done = 0
    with (
        LocalSwarm(folder, [Span(0, NUM_BLOCKS)]) as swarm,
        client_of(swarm) as client,
        client_of(swarm) as neighbour,
    ):
        decoder = Decoder(client, HIDDEN_SIZE, torch.float32, prompt_tokens=_PROMPT_TOKENS, seed=0)

        async def keep_busy() -> None:
            nonlocal done
            while True:
                await other(neighbour)
                done += 1

        async def decode(times: list[float]) -> None:
            decoder.times_s.clear()
            await decoder.decode(num_tokens)
            times += decoder.times_s

        client.run(decoder.start())
        client.run(decoder.decode(_WARM_UP_TOKENS))
        neighbour.run(other(neighbour))
        for _ in range(rounds):
            client.run(decode(idle))
            tasks: list[asyncio.Task[None]] = []
            neighbour.run(_begin(tasks, keep_busy()))
            client.run(decode(busy))
            neighbour.run(_end(tasks))
        client.run(decoder.close())
    p95, p50 = 1e3 * statistics.quantiles(busy, n=20)[-1], 1e3 * statistics.median(idle)
    detail = {
        "idle_p50_ms": round(p50, 2),
        "idle_p95_ms": round(1e3 * statistics.quantiles(idle, n=20)[-1], 2),
        "busy_p50_ms": round(1e3 * statistics.median(busy), 2),
        "busy_p95_ms": round(p95, 2),
        "others_done": done,
        "others_a_second": round(done / sum(busy), 2),
    }
    return Measured(p95 / p50, detail, holds=done > 0)


async def _begin(tasks: list[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
    tasks.append(asyncio.create_task(work))


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
