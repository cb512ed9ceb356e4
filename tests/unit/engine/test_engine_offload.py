"""An engine gives its device back and takes it again: what happens to weights and to sessions meanwhile."""

import asyncio
from pathlib import Path

import pytest
import torch
from helpers.engine_peers import local_steps
from helpers.lone_engine import INPUTS, SPAN, Machine
from potluck_control.engine_messages import Freed, Online
from potluck_control.engine_metrics import PageCounts
from torch import Tensor

from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Awaited, StepRequest


@pytest.fixture
async def machine(tmp_path: Path):
    made = Machine(tmp_path)
    async with made.engine:
        yield made


def expected(tokens: slice) -> Tensor:
    return local_steps(INPUTS, span=SPAN)[0][:, tokens]


async def refusal(call: asyncio.Future[object]) -> Code:
    with pytest.raises(RemoteError) as refused:
        await call
    return refused.value.code


@pytest.mark.parametrize("exact", [False, True])
async def test_an_offload_ends_sessions_and_frees_their_memory_and_clients_replay(
    machine: Machine, exact: bool
) -> None:
    client = await machine.begin(exact=exact)
    before = machine.engine.state
    await machine.engine.offload()
    assert await refusal(client.stream.receive(timeout_s=60)) is Code.DRAINING
    assert not before.stage.paging.admission.holders
    assert before.stage.paging.counts() == PageCounts(
        before.stage.paging.admission.num_pages, 0, before.stage.paging.admission.num_pages
    )
    assert len(before.sessions) == 0
    await machine.engine.restore()
    await machine.begin(tokens=12, exact=exact)
    torch.testing.assert_close(machine.output, expected(slice(0, 12)), rtol=1e-4, atol=1e-4)
    kinds = [type(event) for event in machine.events]
    assert kinds.count(Freed) == 1
    assert kinds.count(Online) == 2


async def test_an_offload_ends_what_waits_in_a_session(machine: Machine) -> None:
    client = await machine.begin()
    before = machine.engine.state
    await client.send(StepRequest(None, start_from_position=8, awaited=Awaited(1, 2, 1)))  # nobody will push it
    await machine.engine.offload()
    assert await refusal(client.stream.receive(timeout_s=60)) is Code.DRAINING
    assert not before.stage.paging.admission.holders
    await machine.engine.restore()
    await machine.begin()
    torch.testing.assert_close(machine.output, expected(slice(0, 8)), rtol=1e-4, atol=1e-4)


async def test_weights_without_an_origin_are_loaded_anew(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "bfloat16")
    async with machine.engine:
        await machine.begin()
        await machine.engine.offload()
        assert not machine.engine.state.blocks.is_restorable
        await machine.engine.restore()
        await machine.begin()
