"""An engine gives its device back and takes it again: what happens to weights and to sessions meanwhile."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers.engine_peers import local_steps, opening, until
from helpers.lone_engine import INPUTS, SPAN, Machine
from potluck_control.engine_messages import Freed, Online
from potluck_engine.memory import parking
from torch import Tensor

from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepRequest


@pytest.fixture
async def machine(tmp_path: Path):
    made = Machine(tmp_path)
    async with made.engine:
        yield made


def expected(tokens: slice) -> Tensor:
    return local_steps(INPUTS, span=SPAN)[0][:, tokens]


async def offload_and_restore(machine: Machine) -> None:
    await machine.engine.offload()
    await machine.engine.restore()


async def refusal(call: asyncio.Future[object]) -> Code:
    with pytest.raises(RemoteError) as refused:
        await call
    return refused.value.code


@pytest.mark.parametrize("exact", [False, True])
async def test_a_session_goes_on_after_restore_and_nothing_is_computed_again(machine: Machine, exact: bool) -> None:
    client = await machine.begin(exact=exact)
    await machine.engine.offload()
    assert machine.engine.state.stage.paging.counts().spilled == 0, "pages in RAM stay where they are"
    assert await refusal(client.stream.receive(timeout_s=60)) is Code.DRAINING
    await machine.engine.restore()
    output = await machine.resume(slice(8, 12), exact=exact)
    torch.testing.assert_close(output, expected(slice(8, 12)), rtol=1e-4, atol=1e-4)
    assert machine.engine.done_tokens == 2 * 4  # of two rows, since it came back
    kinds = [type(event) for event in machine.events]
    assert kinds.count(Freed) == 1
    assert kinds.count(Online) == 2


async def test_sessions_survive_several_rounds_and_may_go_back(machine: Machine) -> None:
    await machine.begin()
    for position in (8, 9, 6):
        await offload_and_restore(machine)
        stream = await machine.connect()
        again = replace(opening(SPAN, session_id="s"), resume=True)
        step = StepRequest(INPUTS[:, position : position + 1], again, start_from_position=position)
        output = (await stream.step(step)).hidden
        torch.testing.assert_close(output, expected(slice(position, position + 1)), rtol=1e-4, atol=1e-4)


async def test_only_what_fits_what_its_own_peer_left_open_is_gone_on_with(machine: Machine) -> None:
    await machine.begin()
    await (await machine.begin("ended")).close()
    await offload_and_restore(machine)
    changes: list[dict[str, object]] = [
        *({"session_id": name} for name in ("another", "ended", None)),
        {"client": machine.network.start()},
        {"max_length": 32},
        {"exact": True},
        {"span": Span(1, 2)},
    ]
    for change in changes:
        assert await refusal(machine.resume(slice(8, 9), **change)) is Code.ROLLBACK, change
    assert (await machine.resume(slice(8, 9))).shape == (2, 1, 64)


async def test_one_client_keeps_only_its_share_and_not_for_ever(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parking, "MAX_A_PERSON", 2)
    monkeypatch.setattr(parking, "KEEP_S", 0.0)
    for number in range(3):
        await machine.begin(f"session {number}")
    await machine.engine.offload()
    serving = machine.engine.state
    assert len(serving.parking) == len(serving.stage.paging.admission.holders) == 2
    await machine.engine.restore()
    await until(lambda: not serving.stage.paging.admission.holders)
    assert len(serving.parking) == 0


async def test_sessions_leave_a_device_with_memory_of_its_own(machine: Machine) -> None:
    await machine.begin()
    await machine.begin("lost", exact=True)
    paging, whole = machine.engine.state.stage.paging, machine.engine.state.blocks.whole
    whole.device, there = torch.device("cuda"), whole.device
    paging.spill_all({holder.session for holder in paging.admission.holders.values()})
    whole.device = there
    counts = paging.counts()
    assert counts.free == counts.total
    assert counts.spilled > 0
    assert [holder.session.is_alone for holder in paging.admission.holders.values()] == [False]


async def test_weights_without_an_origin_are_loaded_anew_and_sessions_replayed(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "bfloat16")
    async with machine.engine:
        await machine.begin()
        await machine.engine.offload()
        assert not machine.engine.state.blocks.is_restorable
        await machine.engine.restore()
        assert await refusal(machine.resume(slice(8, 9))) is Code.ROLLBACK
        await machine.begin()
