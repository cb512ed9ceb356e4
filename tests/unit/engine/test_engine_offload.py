"""An engine gives its device back and takes it again: what happens to memory and to sessions meanwhile."""

import asyncio
import threading
from pathlib import Path

import pytest
import torch
from helpers.engine_peers import local_steps, settle, until
from helpers.lone_engine import INPUTS, SPAN, Machine
from potluck_control.engine_messages import EngineEvent, Freed, Offline, Online
from potluck_engine import loaded_blocks
from potluck_engine.kept_passes import PassKey
from potluck_engine.service import Service

from potluck.protocol.blocks import PersonId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepRequest
from potluck.tasks import cancel_and_wait


@pytest.fixture
async def machine(tmp_path: Path):
    made = Machine(tmp_path)
    async with made.engine:
        yield made


async def refusal(call: asyncio.Future[object]) -> Code:
    with pytest.raises(RemoteError) as refused:
        await call
    return refused.value.code


async def test_sessions_end_after_their_step_and_new_ones_are_taken_after_the_return(machine: Machine) -> None:
    client = await machine.begin()
    compute = machine.engine.service.compute
    before = compute.counts.steps
    await client.send(StepRequest(INPUTS[:, 8:9]))
    await until(lambda: compute.queued_steps > 0 or compute.counts.steps > before)
    await machine.engine.offload()
    answer = await client.answer((2, 1, 64))
    expected = local_steps(INPUTS, span=SPAN)[0]
    torch.testing.assert_close(answer.hidden, expected[:, 8:9], rtol=1e-4, atol=1e-4)
    assert await refusal(client.stream.receive(timeout_s=60)) is Code.DRAINING
    assert await refusal(machine.begin()) is Code.DRAINING
    await machine.engine.restore()
    await machine.begin(tokens=12)
    torch.testing.assert_close(machine.output, expected, rtol=1e-4, atol=1e-4)
    assert machine.engine.metrics().done_tokens == 2 * 12  # of two rows, since it came back
    kinds = [type(event) for event in machine.events]
    assert (kinds.count(Freed), kinds.count(Offline), kinds.count(Online)) == (1, 1, 2)


async def test_freed_is_said_when_nothing_is_held_and_the_memory_went_back(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await machine.begin("paged")
    await machine.begin("alone", exact=True)
    service = machine.engine.service
    assert service is not None
    kept, pages, weights = service.call_blocks.kept, service.stage.paging, service.blocks.whole.weights
    kept.add(PassKey(PersonId("p"), SPAN, None, None), INPUTS, None, [], num_bytes=1, epoch=kept.epoch)
    alone = [memory for memory in pages.admission.holders if memory.is_alone]
    forgotten: list[bool] = []
    weights.before_moves.append(lambda: forgotten.append(True))  # as CUDA graphs are

    def held() -> list[object]:
        arenas = [tensor for arena in pages._memory.arenas for tensor in arena.tensors]
        tensors = [*arenas, *(parameter.data for parameter in service.blocks.whole.layers.parameters())]
        caches = [session.alone for session in alone if session.alone is not None]
        return [*(tensor for tensor in tensors if tensor.untyped_storage().nbytes()), *caches, *kept._kept]

    assert len(held()) > 3
    trimmed: list[bool] = []
    monkeypatch.setattr(loaded_blocks, "trim_memory", lambda _: trimmed.append(not held()))
    at_freed: list[bool] = []

    def hear(event: EngineEvent) -> None:
        if isinstance(event, Freed):
            at_freed.append(forgotten[-1] and trimmed[-1])

    machine.engine._on_event = hear
    await machine.engine.offload()
    assert at_freed == [True]


async def test_weights_without_an_origin_are_loaded_anew(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "bfloat16")
    async with machine.engine:
        await machine.engine.offload()
        assert not machine.engine.service.blocks.is_restorable
        await machine.engine.restore()
        await machine.begin()


async def test_an_engine_that_stops_in_the_middle_of_an_offload_frees_its_memory_once(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Service] = []
    may_go_on, free = threading.Event(), Service._free

    def slowly(service: Service) -> None:
        begun.append(service)
        may_go_on.wait(60)
        free(service)

    monkeypatch.setattr(Service, "_free", slowly)
    offloading = asyncio.create_task(machine.engine.offload())
    await until(lambda: bool(begun))
    await cancel_and_wait(offloading)
    stopping = asyncio.create_task(machine.engine.stop())
    await settle()
    assert not stopping.done()
    may_go_on.set()
    await stopping
    assert begun == [machine.engine.service]
