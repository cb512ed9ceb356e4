"""Blocks that do not fit, and a device that is given back in mid-generation: real engines on loopback."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from helpers.golden import CHECKPOINT
from helpers.launches import launch_of
from helpers.streamers import At
from helpers.tiny_models import save_llama, save_random
from potluck_control.processes.launch_spec import LaunchSpec, ServingLimits
from potluck_engine.life.engine import Engine
from potluck_engine.weights import fitting
from transformers import AutoModelForCausalLM, PreTrainedModel

from benchmarks.setup.local_swarm import LocalEngine, LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.protocol.blocks import Span

MIB = 1 << 20
GREEDY = {"max_new_tokens": 16, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
FEW = GREEDY | {"max_new_tokens": 6}  # each of them streams all weights
PROMPT = torch.randint(3, 256, (1, 7), generator=torch.Generator().manual_seed(0))


@contextmanager
def served_here(config: LaunchSpec) -> Iterator[tuple[Engine, asyncio.AbstractEventLoop]]:
    """An engine in a thread of this process, and the loop in which it runs."""
    online: Future[tuple[Engine, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        engine, is_over = Engine(config, lambda _: None), asyncio.Event()
        await engine.start()
        online.set_result((engine, asyncio.get_running_loop(), is_over))
        await is_over.wait()
        await engine.stop()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    engine, loop, is_over = online.result(timeout=120)
    try:
        yield engine, loop
    finally:
        loop.call_soon_threadsafe(is_over.set)
        thread.join()


def test_a_generation_through_the_only_server_goes_on_when_it_comes_back_from_a_game_twice(
    tmp_path: Path, local: PreTrainedModel
) -> None:
    """The tokens are the same: the client replays what it gave the server before."""
    with LocalSwarm(CHECKPOINT, [Span(0, 2)]) as swarm:
        config = launch_of(
            CHECKPOINT,
            tmp_path,
            swarm.membership.for_client(),
            blocks="2:4",
            listen=("/ip4/127.0.0.1/tcp/0",),
            limits=ServingLimits(cache_tokens=1000),
        )
        with served_here(config) as (engine, loop):

            async def step_aside() -> None:
                await engine.offload()
                await engine.restore()

            asides = At((5, 10), lambda: asyncio.run_coroutine_threadsafe(step_aside(), loop).result(60))
            with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=swarm.membership) as model:
                tokens = model.generate(PROMPT, streamer=asides, **GREEDY)
                (route,) = model.last_route()
            assert torch.equal(tokens, local.generate(PROMPT, **GREEDY))
            assert [hop.replayed_tokens for hop in route.hops] == [0, 7 + 10]
            assert [hop.replayed_tokens for hop in route.replaced] == [0, 7 + 5]


def test_a_session_through_experts_in_ram_decodes_the_model_s_tokens_also_after_a_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine offers all blocks; the processor stands for a device with memory of its own that holds four whole."""
    monkeypatch.setattr(fitting, "takes_experts", lambda device, dtype: True)
    folder = save_random("qwen3_moe", tmp_path / "model")
    local = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    prompt = PROMPT % local.config.vocab_size
    with LocalSwarm(folder, []) as swarm:
        config = launch_of(
            folder,
            tmp_path,
            swarm.membership.for_client(),
            listen=("/ip4/127.0.0.1/tcp/0",),
            limits=ServingLimits(cache_tokens=64),
            max_memory="cpu=760KiB",
        )
        with served_here(config) as (engine, loop):

            async def step_aside() -> None:
                await engine.offload()
                await engine.restore()

            placement = engine.service.blocks.whole.weights.placement
            assert (len(placement.homes), len(placement.split), placement.num_streamed) == (6, 2, 0)  # four are dense
            aside = At((5,), lambda: asyncio.run_coroutine_threadsafe(step_aside(), loop).result(60))
            with AutoDistributedModelForCausalLM.from_pretrained(str(folder), swarm=swarm.membership) as model:
                tokens = model.generate(prompt, streamer=aside, **GREEDY)
            assert torch.equal(tokens, local.generate(prompt, **GREEDY))


def own_bytes(pid: int) -> int:
    """Return the memory that a process has for itself, with the same share of a forked one's parent in each of them."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def generate_and_look(swarm: LocalSwarm, engine: LocalEngine) -> tuple[torch.Tensor, int]:
    """Return tokens of the swarm, and the most memory that the engine had meanwhile."""
    engine.wait_online()
    looks: list[int] = []
    look = At(range(1, 6), lambda: looks.append(own_bytes(engine.pid)))
    with AutoDistributedModelForCausalLM.from_pretrained(str(swarm.checkpoint), swarm=swarm.membership) as model:
        return model.generate(PROMPT, streamer=look, **FEW), max(looks)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_model_four_times_the_limit_is_served_within_it(tmp_path: Path) -> None:
    """144 MiB of weights, of which 36 MiB may be there at a time, in the blocks' own format and in another."""
    heavy = save_llama(tmp_path, 12, 1365, dtype=torch.float32, initializer_range=0.06)  # 12 blocks of 12 MiB
    local = AutoModelForCausalLM.from_pretrained(heavy, dtype=torch.float32).eval()
    expected = local.generate(PROMPT, **FEW)
    sessions_mib = 12 * 2 * 512 * 4 * 256 / MIB  # 256 tokens, keys and values
    limit = f"cpu={(36 + sessions_mib) / 0.9:.0f}MiB"
    limited = ("--cache-tokens", "256", "--max-memory", limit)
    with LocalSwarm(heavy, []) as swarm:
        most = []
        for options in (("--cache-tokens", "256"), limited, (*limited, "--dtype", "bfloat16")):
            engine = swarm.add_engine(Span(0, 12), options=options)
            tokens, num_bytes = generate_and_look(swarm, engine)
            assert torch.equal(tokens, expected) or "bfloat16" in options
            most.append(num_bytes)
            engine.ask_to_stop()
    whole, streamed, converted = most
    assert streamed <= whole - (144 - 36 - 12) * MIB  # what `whole` has and it has not, but for a block that is loaded
    assert converted <= streamed + 36 * MIB
