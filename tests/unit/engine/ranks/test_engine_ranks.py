"""A span held by this process and another: whatever an engine does with it comes out as from one process."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from helpers.engine_peers import CHECKPOINT, SWARM, hidden_states, load
from helpers.launches import launch_of
from helpers.lone_engine import Machine
from potluck_control.setting_values import check_devices
from potluck_engine.compute.loaded_blocks import LoadedBlocks
from potluck_engine.compute.passes import CallInputs
from potluck_engine.life.engine import Engine
from potluck_engine.ranks import processes
from potluck_engine.ranks.processes import Mailbox, RankInbox, RankProcesses
from potluck_engine.ranks.ranked import make_loaded_blocks
from torch import Tensor

from potluck.blocks.cache.kv_memory import KvMemory, KvSequence
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.errors import PotluckError, UsageError
from potluck.membership.membership import Membership
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError

SPAN = Span(0, 2)


def close_to(one: Tensor, other: Tensor) -> bool:
    return float((one - other).norm() / other.norm()) < 1e-5


async def test_a_span_on_two_devices_computes_as_on_one_and_the_engine_ends_when_a_device_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path, span=SPAN, devices=("cpu", "cpu"))
    async with machine.engine as engine:
        pid = engine.loader.ranks.pids[0]
        await asyncio.to_thread(_compare_all, _blocks(engine))
        heard = [psutil.Process(each).net_connections("inet") for each in (os.getpid(), pid)]
        assert {item.laddr.ip for each in heard for item in each} == {"127.0.0.1"}, "it stays on this machine"
        await engine.offload()
        monkeypatch.setattr(processes, "EXCHANGE_TIMEOUT_S", 5.0)
        await engine.restore()
        await asyncio.to_thread(_compare_forward, _blocks(engine))
        os.kill(pid, signal.SIGSTOP)
        for _ in range(2):
            with pytest.raises(RemoteError) as refused:
                await asyncio.to_thread(_compare_forward, _blocks(engine))
            assert refused.value.code is Code.DRAINING
        async with asyncio.timeout(120):
            with pytest.raises(PotluckError, match="a device failed"):
                await engine.wait_lost()
    assert not _lives(pid)


def test_calls_reach_a_rank_in_order_with_their_tensors_and_fail_when_it_reads_nothing() -> None:
    ours, theirs = socket.socketpair()
    mailbox, inbox = Mailbox(), RankInbox(theirs)
    mailbox.add(ours, timeout_s=1)
    tensor = torch.randn(2, 3).to(torch.bfloat16)
    mailbox.post("copy", 1)
    mailbox.send("forward", tensor[:, 1:], None, (0, 1))
    assert inbox.next() == ("copy", (1,))
    name, (received, *rest) = inbox.next()
    assert (name, rest) == ("forward", [None, (0, 1)])
    assert torch.equal(received, tensor[:, 1:])
    with pytest.raises(OSError):  # noqa: PT011 (the kernel's words differ)
        mailbox.send("forward", torch.empty(64 << 20))


def test_a_rank_ends_with_the_process_that_started_it_even_if_its_pipe_stays_open() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        handle = theirs.fileno()
        command = ["/bin/sh", "-c", '"$@" $$ & echo $!; wait', "sh", sys.executable, "-m", "potluck_engine.ranks.rank"]
        engine = subprocess.Popen([*command, "1", str(handle)], stdout=subprocess.PIPE, pass_fds=[handle])
        process = psutil.Process(int(engine.stdout.readline()))
        engine.kill()
        engine.communicate()
        _, alive = psutil.wait_procs([process], timeout=60)
        assert not alive


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
    config = launch_of(
        CHECKPOINT, tmp_path, Membership(SWARM), blocks="0:2", device="cuda:0", devices=("cuda:0", "cuda:99")
    )
    with pytest.raises(UsageError, match="no device"):
        await RankProcesses.start(config)


def _blocks(engine: Engine) -> BlockSpan:
    return engine.service.blocks.whole


def _compare_all(blocks: BlockSpan) -> None:
    together, one = make_loaded_blocks(blocks, piece_tokens=512), LoadedBlocks(load(SPAN), piece_tokens=512)
    for compare in (_compare_sessions_alone, _compare_calls, _compare_steps):
        compare(together, one)


def _compare_forward(blocks: BlockSpan) -> None:
    with torch.inference_mode():
        assert close_to(blocks.forward(hidden_states(1, 5)), load(SPAN).forward(hidden_states(1, 5)))


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
                cache.reorder_cache(torch.tensor([1, 0]))
                outputs.append(blocks.forward(hidden_states(2, 1, seed=1), cache))
            results.append(outputs)
        for ours, theirs in zip(*results, strict=True):
            assert close_to(ours, theirs)


def _compare_calls(together: LoadedBlocks, one: LoadedBlocks) -> None:
    hidden, grad = hidden_states(2, 7), hidden_states(2, 7, seed=1)
    prompts = torch.randn((2, 1, 3, 64), generator=torch.Generator().manual_seed(2))
    results = []
    for blocks in (together, one):
        output = _finish(blocks.forward(CallInputs(SPAN, hidden, prompts)))
        gradients = _finish(blocks.backward(CallInputs(SPAN, hidden, prompts), grad))
        results.append((output, gradients.hidden, gradients.prompts))
    for ours, theirs in zip(*results, strict=True):
        assert close_to(ours, theirs)


def _compare_steps(together: LoadedBlocks, one: LoadedBlocks) -> None:
    """Rows of different lengths and spans in one step; forks that write; a row freed and another one cropped."""
    for ours, theirs in zip(_steps(together), _steps(one), strict=True):
        assert close_to(ours, theirs)


def _steps(blocks: LoadedBlocks) -> list[Tensor]:
    memory = blocks.whole.new_memory(256)
    first, second = memory.new_sequence(), memory.new_sequence(Span(1, 2))
    outputs = [_step(blocks, memory, [(first, 21), (second, 3)], 0, {0: hidden_states(2, 4, seed=9)})]
    fork = memory.fork(first)
    outputs.append(_step(blocks, memory, [(first, 1), (fork, 2), (second, 1)], 1))
    memory.free(first)
    memory.crop(fork, 18)
    outputs.append(_step(blocks, memory, [(second, 1), (fork, 1)], 2))
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
