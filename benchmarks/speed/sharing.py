"""What a server gains from many sessions at once, and what they feel of each other."""

from __future__ import annotations

import asyncio
import itertools
import statistics
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import torch

from benchmarks.figures import Measured, figure
from benchmarks.setup.local_swarm import LocalSwarm
from benchmarks.setup.models import checkpoint
from benchmarks.setup.sessions import Decoder, client_of, decode_together, random_states
from potluck.client.swarm_client import SwarmClient
from potluck.protocol.blocks import Span

_WHOLE = Span(0, 4)
_PROMPT_TOKENS, _PREFILL_TOKENS = 32, 512
_WARM_UP_TOKENS = 16
_UNCOUNTED_TOKENS = 3  # Sessions have to find each other again after a pause, which is not what a round measures.
_CPU_INFO = Path("/proc/cpuinfo")


@figure("batch16_2048", unit="ratio", reach=8, better="higher", shown=True)
def batching(soak: bool) -> Measured:
    """Tokens for a CPU-second of the engine with 16 sessions, over those with one: 4 blocks of hidden size 2048.

    In bfloat16 where the processor computes in it; a gain in float32 would have another limit.
    """
    rounds, num_tokens = (12, 48) if soak else (3, 24)
    flags = _CPU_INFO.read_text() if _CPU_INFO.exists() else ""
    dtype = torch.bfloat16 if "avx512_bf16" in flags or "amx_bf16" in flags else torch.float32
    options = ("--dtype", str(dtype).removeprefix("torch."))
    rates: dict[str, list[float]] = {"together": [], "one": []}
    with (
        LocalSwarm(checkpoint(2048, len(_WHOLE)), [_WHOLE], serve_options=options) as swarm,
        client_of(swarm) as client,
    ):
        engine = psutil.Process(swarm.engines[0].pid)
        decoders = [Decoder(client, 2048, dtype, prompt_tokens=_PROMPT_TOKENS, seed=seed) for seed in range(16)]

        async def measure() -> None:
            await _start(decoders)
            for _ in range(rounds):
                for name, some in (("together", decoders), ("one", decoders[:1])):
                    await decode_together(some, _UNCOUNTED_TOKENS)
                    before = sum(engine.cpu_times()[:2])
                    await decode_together(some, num_tokens)
                    rates[name].append(len(some) * num_tokens / (sum(engine.cpu_times()[:2]) - before))
            await asyncio.gather(*(decoder.close() for decoder in decoders))

        client.run(measure())
    gains = [many / one for many, one in zip(rates["together"], rates["one"], strict=True)]
    detail = {name: round(statistics.median(values), 1) for name, values in rates.items()}
    return Measured(statistics.median(gains), {"tokens_per_cpu_s": detail, "dtype": options[1], "rounds": rounds})


@figure("decode_under_prefill", unit="ratio", reach=3)
def under_prefill(soak: bool) -> Measured:
    """95th percentile of a decode step while prefills of 512 tokens keep coming, over the idle median.

    New sessions, one after the other without a pause, each with a text of its own.
    """
    rounds, num_tokens = (6, 600) if soak else (3, 300)
    times_s: dict[str, list[float]] = {"idle": [], "busy": []}
    with (
        LocalSwarm(checkpoint(512, len(_WHOLE)), [_WHOLE]) as swarm,
        client_of(swarm) as client,
        client_of(swarm) as neighbour,
    ):
        decoder = Decoder(client, 512, torch.float32, prompt_tokens=_PROMPT_TOKENS, seed=0)
        prefills = _Prefills(neighbour)

        async def measure() -> None:
            await _start([decoder])
            for _ in range(rounds):
                decoder.times_s = times_s["idle"]
                await decoder.decode(num_tokens)
                async with prefills.running("ordinary"):
                    decoder.times_s = times_s["busy"]
                    await decoder.decode(num_tokens)
            await decoder.close()

        client.run(measure())
    p95, p50 = statistics.quantiles(times_s["busy"], n=20)[-1], statistics.median(times_s["idle"])
    detail = {"idle_p50_ms": round(1e3 * p50, 2), "busy_p95_ms": round(1e3 * p95, 2), "prefills": prefills.done}
    return Measured(p95 / p50, detail, holds=prefills.done["ordinary"] > 0)


@figure("fair_exact", unit="ratio", reach=0.8, better="higher")
def fair_exact(soak: bool) -> Measured:
    """Tokens a second of eight decoding sessions beside a person's `exact` prefills, over those beside ordinary ones.

    The prefills come one after the other without a pause, each with a text of its own; both kinds take turns.
    """
    rounds, num_tokens = (8, 100) if soak else (3, 60)
    rates: dict[str, list[float]] = {"ordinary": [], "exact": []}
    with (
        LocalSwarm(checkpoint(512, len(_WHOLE)), [_WHOLE]) as swarm,
        client_of(swarm) as client,
        client_of(swarm) as neighbour,
    ):
        decoders = [Decoder(client, 512, torch.float32, prompt_tokens=_PROMPT_TOKENS, seed=seed) for seed in range(8)]
        prefills = _Prefills(neighbour)

        async def measure() -> None:
            await _start(decoders)
            for _ in range(rounds):
                for kind, found in rates.items():
                    async with prefills.running(kind):
                        await decode_together(decoders, _WARM_UP_TOKENS)
                        began = time.perf_counter()
                        await decode_together(decoders, num_tokens)
                        found.append(len(decoders) * num_tokens / (time.perf_counter() - began))
            await asyncio.gather(*(decoder.close() for decoder in decoders))

        client.run(measure())
    ratios = [exact / ordinary for exact, ordinary in zip(rates["exact"], rates["ordinary"], strict=True)]
    detail = {kind: round(statistics.median(found), 1) for kind, found in rates.items()}
    holds = all(prefills.done[kind] for kind in rates)
    return Measured(statistics.median(ratios), {"tokens_a_second": detail, "prefills": prefills.done}, holds=holds)


async def _start(decoders: list[Decoder]) -> None:
    for decoder in decoders:
        await decoder.start()
    await decode_together(decoders, _WARM_UP_TOKENS)


class _Prefills:
    """Another client's prefills, one after the other. `done` counts them by kind, `ordinary` or `exact`."""

    def __init__(self, client: SwarmClient) -> None:
        self._client = client
        self._seeds = itertools.count()
        self.done = {"ordinary": 0, "exact": 0}

    @asynccontextmanager
    async def running(self, kind: str) -> AsyncIterator[None]:
        """Prefill in the other client's loop as long as the context lasts; inside, the first one is done."""
        is_over, first = threading.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        async def go_on() -> None:
            while not is_over.is_set():
                await self._prefill(kind)
                loop.call_soon_threadsafe(first.set)

        running = asyncio.create_task(asyncio.to_thread(self._client.run, go_on()))
        await first.wait()
        try:
            yield
        finally:
            is_over.set()
            await running

    async def _prefill(self, kind: str) -> None:
        config = replace(self._client.config, exact=kind == "exact")
        session = self._client.new_session(_PREFILL_TOKENS, config=config)
        await session.step(random_states(_PREFILL_TOKENS, 512, torch.float32, seed=next(self._seeds)), 0)
        await session.close()
        self.done[kind] += 1
