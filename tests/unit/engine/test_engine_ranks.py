"""A span held by this process and another: whatever an engine does with it comes out as from one process."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from helpers.engine_peers import CHECKPOINT, SWARM, hidden_states, load
from helpers.lone_engine import Machine
from potluck_control.engine_messages import (
    Online,
)
from potluck_control.launch_spec import LaunchSpec
from potluck_engine.loaded_blocks import LoadedBlocks
from potluck_engine.ranks.devices import check_devices
from potluck_engine.ranks.processes import RankProcesses
from potluck_engine.ranks.ranked import RankedSpan, loaded_blocks
from potluck_engine.server import Engine
from torch import Tensor

from potluck.blocks.kv import KvMemory, KvSequence
from potluck.blocks.plans import StepRow, plan_step
from potluck.checkpoint import open_checkpoint
from potluck.errors import UsageError
from potluck.membership.membership import Membership
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError

SPAN = Span(0, 2)


@asynccontextmanager
async def two_ranks(folder: Path) -> AsyncIterator[tuple[RankProcesses, RankedSpan]]:
    config = LaunchSpec(Membership(SWARM), str(CHECKPOINT), folder, "0:2", devices=("cpu", "cpu"))
    ranks = await RankProcesses.start(config)
    try:
        own = await asyncio.to_thread(ranks.load, open_checkpoint(str(CHECKPOINT)), SPAN)
        yield ranks, RankedSpan(own, ranks)
    finally:
        await ranks.close()


def close_to(one: Tensor, other: Tensor) -> bool:
    return float((one - other).norm() / other.norm()) < 1e-5


async def test_all_that_an_engine_does_comes_out_as_from_one_process_and_stays_on_this_machine(tmp_path: Path) -> None:
    alone = load(SPAN)
    async with two_ranks(tmp_path) as (ranks, blocks):
        together, one = loaded_blocks(blocks, piece_tokens=512), LoadedBlocks(alone, piece_tokens=512)
        await asyncio.to_thread(_compare_sessions_alone, together, one)
        await asyncio.to_thread(_compare_calls, together, one)
        await asyncio.to_thread(_compare_steps, together, one)
        heard = [psutil.Process(pid).net_connections("inet") for pid in (os.getpid(), *ranks.pids)]
        assert {item.laddr.ip for each in heard for item in each} == {"127.0.0.1"}
    assert not any(_lives(pid) for pid in ranks.pids)


async def test_a_rank_that_hangs_is_killed_in_time_and_every_call_is_refused_with_a_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck_engine.ranks.processes.EXCHANGE_TIMEOUT_S", 0.5)
    async with two_ranks(tmp_path) as (ranks, blocks):
        os.kill(ranks.pids[0], signal.SIGSTOP)
        for _ in range(2):
            with pytest.raises(RemoteError) as refused:
                await asyncio.to_thread(blocks.forward, hidden_states(1, 5))
            assert refused.value.code is Code.DRAINING
            assert refused.value.retry_after_s
        async with asyncio.timeout(60):
            await ranks.wait_lost()
    assert not _lives(ranks.pids[0])


def test_ranks_end_with_an_engine_that_was_killed(tmp_path: Path) -> None:
    engine = subprocess.Popen(
        [sys.executable, "-c", _START_RANKS, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert engine.stdout is not None
    rank = psutil.Process(int(engine.stdout.readline()))
    engine.kill()
    engine.communicate()
    _, alive = psutil.wait_procs([rank], timeout=60)
    assert not alive


_START_RANKS = """
import asyncio, sys
from pathlib import Path
from helpers.engine_peers import CHECKPOINT, SWARM
from potluck_control.launch_spec import LaunchSpec
from potluck_engine.ranks.processes import RankProcesses
from potluck.membership.membership import Membership

async def main():
    spec = LaunchSpec(Membership(SWARM), str(CHECKPOINT), Path(sys.argv[1]), devices=("cpu", "cpu"))
    ranks = await RankProcesses.start(spec)
    print(ranks.pids[0], flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("devices", "words"),
    [
        (("cpu", "cuda:0"), "cpu and cuda:0"),
        (("mps", "mps"), "cannot be spread"),
        (("cuda:0", "cuda"), "which CUDA device"),
        (("cuda:1", "cuda:1"), "more than once"),
        (("cpu",) * 17, "too many"),
    ],
)
def test_devices_that_cannot_work_together_are_refused_with_a_hint(devices: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words) as refused:
        check_devices(devices)
    assert refused.value.hint


async def test_a_device_that_is_not_there_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    config = LaunchSpec(
        Membership(SWARM), str(CHECKPOINT), tmp_path, "0:2", device="cuda:0", devices=("cuda:0", "cuda:99")
    )
    with pytest.raises(UsageError, match="no device"):
        await RankProcesses.start(config)


async def test_an_engine_gives_its_devices_back_loses_one_meanwhile_and_serves_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path, span=SPAN, devices=("cpu", "cpu"))
    async with machine.engine as engine:
        first = _rank_pid(engine)
        await engine.offload()
        os.kill(first, signal.SIGKILL)
        async with asyncio.timeout(60):
            while _rank_pid(engine) == first:  # noqa: ASYNC110 (a process is noticed, another started)
                await asyncio.sleep(0.05)
        second = _rank_pid(engine)
        await engine.restore()
        assert engine.state is not None
        blocks = engine.state.blocks.whole
        with torch.inference_mode():
            output = await asyncio.to_thread(blocks.forward, hidden_states(1, 5))
            assert close_to(output, load(SPAN)(hidden_states(1, 5)))
    assert not _lives(first)
    assert not _lives(second)
    assert [type(event) for event in machine.events].count(Online) == 2


def _rank_pid(engine: Engine) -> int:
    assert engine.loader.ranks is not None
    return engine.loader.ranks.pids[0]


def _compare_sessions_alone(together: LoadedBlocks, one: LoadedBlocks) -> None:
    """Prefill, decode, a step back, rows in another order; through all blocks and through a part."""
    for span in (SPAN, Span(1, 2)):
        results = []
        for served_blocks in (together, one):
            blocks = served_blocks.part(span)
            cache = blocks.new_cache()
            with torch.inference_mode():
                outputs = [blocks.forward(hidden_states(2, 9), cache)]
                cache.crop(6)
                cache.reorder(torch.tensor([1, 0]))
                outputs.append(blocks.forward(hidden_states(2, 1, seed=1), cache))
            results.append(outputs)
        for ours, theirs in zip(*results, strict=True):
            assert close_to(ours, theirs)


def _compare_calls(together: LoadedBlocks, one: LoadedBlocks) -> None:
    hidden, grad = hidden_states(2, 7), hidden_states(2, 7, seed=1)
    prompts = torch.randn((2, 1, 3, 64), generator=torch.Generator().manual_seed(2))
    results = []
    for blocks in (together, one):
        output = _finish(blocks.forward(SPAN, hidden, prompts))
        gradients = _finish(blocks.backward(SPAN, hidden, grad, prompts))
        results.append((output, gradients.hidden, gradients.prompts))
    for ours, theirs in zip(*results, strict=True):
        assert close_to(ours, theirs)


def _compare_steps(together: LoadedBlocks, one: LoadedBlocks) -> None:
    """Rows of different lengths and spans in one step; forks that write; a row saved, freed and brought back."""
    for ours, theirs in zip(_steps(together), _steps(one), strict=True):
        assert close_to(ours, theirs)


def _steps(blocks: LoadedBlocks) -> list[Tensor]:
    memory = blocks.whole.new_memory(256)
    first, second = memory.new_sequence(), memory.new_sequence(Span(1, 2))
    outputs = [_step(blocks, memory, [(first, 21), (second, 3)], 0, {0: hidden_states(2, 4, seed=9)})]
    fork = memory.fork(first)
    outputs.append(_step(blocks, memory, [(first, 1), (fork, 2), (second, 1)], 1))
    saved = memory.save(first)
    memory.free(first)
    memory.crop(fork, 18)
    back = memory.load(saved)
    outputs.append(_step(blocks, memory, [(back, 1), (fork, 1)], 2))
    return outputs


def _step(
    blocks: LoadedBlocks,
    memory: KvMemory,
    rows: list[tuple[KvSequence, int]],
    seed: int,
    prompts: dict[int, Tensor] | None = None,
) -> Tensor:
    for sequence, tokens in rows:
        memory.reserve(sequence, sequence.length + tokens)
    plan = plan_step(memory, [StepRow(sequence, tokens) for sequence, tokens in rows])
    output = blocks.whole.run_step(plan, hidden_states(1, plan.num_tokens, seed=seed)[0], memory, prompts)
    for sequence, tokens in rows:
        memory.advance(sequence, tokens)
    return output


def _finish(pieces: Generator[None, None, Any]) -> Any:
    try:
        while True:
            next(pieces)
    except StopIteration as done:
        return done.value


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
