"""Blocks that do not fit, and a device that is given back in mid-generation: real engines on loopback."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
from helpers.golden import CHECKPOINT
from helpers.streamers import At
from helpers.tiny_models import save_llama
from potluck_control.launch_spec import LaunchSpec, ServingLimits
from potluck_engine.server import Engine
from transformers import AutoModelForCausalLM, PreTrainedModel

from benchmarks.local_swarm import LocalEngine, LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.protocol.blocks import Span

MIB = 1 << 20
GREEDY = {"max_new_tokens": 16, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
T = TypeVar("T")


@pytest.fixture(scope="module")
def heavy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve blocks of 12 MiB in float32."""
    return save_llama(tmp_path_factory.mktemp("heavy"), 12, 1365, dtype=torch.float32, initializer_range=0.06)


def prompt() -> torch.Tensor:
    return torch.randint(3, 256, (1, 7), generator=torch.Generator().manual_seed(0))


def local_model(folder: Path) -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


class Memory:
    """The highest of many looks at the memory that a process has for itself."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.num_bytes = 0

    def look(self) -> None:
        for line in Path(f"/proc/{self._pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                self.num_bytes = max(self.num_bytes, int(line.split()[1]) * 1024)


def generate_and_look(swarm: LocalSwarm, engine: LocalEngine, folder: Path) -> tuple[torch.Tensor, Memory]:
    engine.wait_online()
    memory = Memory(engine.pid)
    looks = [At(nth, memory.look) for nth in range(1, 16)]
    with AutoDistributedModelForCausalLM.from_pretrained(str(folder), swarm=swarm.membership) as model:
        return model.generate(prompt(), streamer=_All(looks), **GREEDY), memory


class _All(At):
    def __init__(self, streamers: list[At]) -> None:
        super().__init__(0, lambda: None)
        self._streamers = streamers

    def put(self, value: torch.Tensor) -> None:
        for streamer in self._streamers:
            streamer.put(value)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_model_four_times_the_limit_is_served_within_it(heavy: Path) -> None:
    """144 MiB of weights, of which 36 MiB may be there at a time, in the blocks' own format and in another."""
    expected = local_model(heavy).generate(prompt(), **GREEDY)
    sessions_mib = 12 * 2 * 512 * 4 * 256 / MIB  # 256 tokens, keys and values
    limit = f"cpu={(36 + sessions_mib) / 0.9:.0f}MiB"
    limited = ("--cache-tokens", "256", "--max-memory", limit)
    with LocalSwarm(heavy, []) as swarm:
        looks = []
        for options in (("--cache-tokens", "256"), limited, (*limited, "--dtype", "bfloat16")):
            engine = swarm.add_engine(Span(0, 12), options=options)
            tokens, memory = generate_and_look(swarm, engine, heavy)
            assert torch.equal(tokens, expected) or "bfloat16" in options
            looks.append(memory.num_bytes)
            engine.ask_to_stop()
    whole, streamed, converted = looks
    assert streamed <= whole - (144 - 36 - 12) * MIB  # what `whole` has and it has not, but for a block that is loaded
    assert converted <= streamed + 36 * MIB


@contextmanager
def served_here(config: LaunchSpec) -> Iterator[tuple[Engine, Callable[[Coroutine[Any, Any, T]], Future[T]]]]:
    """An engine in a thread of this process, and a way to have it do something."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, loop)

    async def make() -> Engine:
        return Engine(config, lambda _: None)

    engine = submit(make()).result()
    try:
        submit(engine.start()).result(timeout=120)
        yield engine, submit
    finally:
        submit(engine.stop()).result(timeout=60)
        submit(_cancel_the_rest()).result(timeout=60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _cancel_the_rest() -> None:
    """As `asyncio.run` does before it closes its loop."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_generation_through_the_only_server_survives_that_it_steps_aside(tmp_path: Path, rounds: int) -> None:
    """The tokens are the same, and none is computed twice."""
    expected = local_model(CHECKPOINT).generate(prompt(), **GREEDY)
    with LocalSwarm(CHECKPOINT, [Span(0, 2)]) as swarm:
        config = LaunchSpec(
            membership=swarm.membership.for_client(),
            checkpoint=str(CHECKPOINT),
            runtime_dir=tmp_path,
            blocks="2:4",
            listen=("/ip4/127.0.0.1/tcp/0",),
            limits=ServingLimits(cache_tokens=1000),
        )
        with served_here(config) as (engine, submit):
            done: list[int] = []

            async def step_aside() -> None:
                done.append(engine.done_tokens)
                await engine.offload()
                await engine.restore()

            asides = [At(nth, lambda: submit(step_aside()).result(timeout=60)) for nth in (5, 10)[:rounds]]
            with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=swarm.membership) as model:
                tokens = model.generate(prompt(), streamer=_All(asides), **GREEDY)
                (route,) = model.last_route()
            assert torch.equal(tokens, expected)
            assert [hop.replayed_tokens for hop in route.hops] == [0, 0]
            assert len(route.replaced) == rounds
            assert sum(done) + engine.done_tokens == 7 + 15
