"""An engine gives its device back and takes it again: what happens to memory and to sessions meanwhile."""

import asyncio
import threading
import weakref
from collections.abc import AsyncIterator, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
import torch
from helpers.engine_peers import SWARM, local_steps, settle, until
from helpers.lone_engine import INPUTS, SPAN, Machine
from helpers.tiny_models import FAMILIES, save_config
from potluck_control.processes.engine_messages import Freed, Offline, Online
from potluck_control.processes.launch_spec import ServingLimits
from potluck_engine.compute.failures import MemoryWatch
from potluck_engine.compute.loaded_blocks import LoadedBlocks
from potluck_engine.compute.passes import PassKey
from potluck_engine.life.block_changes import grow
from potluck_engine.serving.service import Service
from potluck_engine.weights import fitting

from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.streaming.weights import SpanWeights
from potluck.errors import CheckpointError
from potluck.protocol.blocks import PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepRequest
from potluck.tasks import cancel_and_wait


class Held:
    """A blocking function that, once called, waits until it may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
        self.calls, self.results = list[tuple[Any, ...]](), list[Any]()
        self.may_go_on, self._began, function = threading.Event(), threading.Event(), getattr(owner, name)

        def held(*args: Any) -> Any:
            self.calls.append(args)
            self._began.set()
            self.may_go_on.wait(60)
            self.results.append(function(*args))
            return self.results[-1]

        monkeypatch.setattr(owner, name, held)

    async def called(self) -> None:
        assert await asyncio.to_thread(self._began.wait, 60)


class Mover:
    """Stands for the rebalancer in the middle of a move."""

    def __init__(self, machine: Machine, move: Coroutine[Any, Any, None]) -> None:
        self.moving = asyncio.create_task(move)
        self.start, self.max_blocks = Mock(), lambda blocks: len(blocks.span)
        machine.engine._rebalancer = self

    async def stop(self) -> None:
        await cancel_and_wait(self.moving)

    close = stop


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
    counted = machine.engine.metrics()
    assert counted.decode_tokens + counted.prefill_tokens == 2 * 12  # of two rows, since it came back
    kinds = [type(event) for event in machine.events]
    assert (kinds.count(Freed), kinds.count(Offline), kinds.count(Online)) == (1, 1, 2)


async def test_freed_is_said_when_nothing_is_held_and_the_memory_went_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even what experts were chosen last: that may lie in the memory of a CUDA graph."""
    config = FAMILIES["mixtral"]()
    config.num_hidden_layers = SWARM.num_blocks
    machine = Machine(tmp_path, checkpoint=save_config(config, tmp_path / "model"))
    async with machine.engine as engine:
        client = await machine.begin("paged")
        await client.step(StepRequest(INPUTS[:, 8:9]))
        await machine.begin("alone", exact=True)
        service = engine.service
        assert service is not None
        kept, pages, weights = service.call_blocks.kept, service.stage.paging, service.blocks.whole.weights
        kept.add(PassKey(PersonId("p"), SPAN, None, None), INPUTS, None, [], num_bytes=1, epoch=kept.epoch)
        alone = [memory for memory in pages.admission.holders if memory.is_alone]
        routers = service.blocks.whole.loop.routers
        forgotten: list[bool] = []
        weights.before_moves.append(lambda: forgotten.append(True))  # as CUDA graphs are

        def held() -> list[object]:
            arenas = [tensor for arena in pages._memory.arenas for tensor in arena.tensors]
            tensors = [*arenas, *(parameter.data for parameter in service.blocks.whole.layers.parameters())]
            caches = [session.alone for session in alone if session.alone is not None]
            others = [*kept._kept, *routers.noted, *service.blocks._parts]
            chosen = [] if routers._chosen is None else [routers._chosen]
            return [*(each for each in tensors if each.untyped_storage().nbytes()), *caches, *chosen, *others]

        assert len(held()) > 6
        happened: list[str] = []
        monkeypatch.setattr(
            "potluck_engine.life.engine.release_memory", lambda _: happened.append("held" if held() else "released")
        )
        engine._on_event = lambda event: happened.append(type(event).__name__)
        await engine.offload()
        assert forgotten == [True]
        assert [what for what in happened if what != "Offline"] == ["released", "Freed"]


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
    free = Held(monkeypatch, Service, "_free")
    offloading = asyncio.create_task(machine.engine.offload())
    await free.called()
    await cancel_and_wait(offloading)
    stopping = asyncio.create_task(machine.engine.stop())
    await settle()
    assert not stopping.done()
    free.may_go_on.set()
    await stopping
    assert free.calls == [(machine.engine.service,)]


@pytest.mark.parametrize("is_whole", [True, False])
async def test_freed_is_said_when_a_load_that_a_move_had_begun_is_over_and_freed(
    is_whole: bool, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, load = machine.engine, Held(monkeypatch, machine.engine.loader, "load")

    async def move() -> None:
        if is_whole:
            await engine._reload(Span(1, 4), Span(1, 4), 0.0)
        else:
            async with engine._changing:
                await grow(engine.service, 3, engine.loader.load_tried)

    Mover(machine, move())
    await load.called()
    offloading = asyncio.create_task(engine.offload())
    await until(lambda: engine.service.is_over and engine.service._ending.done())
    await settle()
    assert Freed() not in machine.events
    load.may_go_on.set()
    await offloading
    assert Freed() in machine.events
    assert not any(parameter.data.untyped_storage().nbytes() for parameter in load.results[0].layers.parameters())


async def test_a_return_loads_nothing_beside_what_a_move_had_begun_to_load(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, load = machine.engine, Held(monkeypatch, machine.engine.loader, "load")
    restored = Held(monkeypatch, LoadedBlocks, "restored")
    Mover(machine, engine._reload(Span(1, 4), Span(1, 4), 0.0))
    await load.called()
    await engine.drain()
    returning = asyncio.create_task(engine.restore())
    await settle()
    assert not restored.calls
    load.may_go_on.set()
    await restored.called()
    assert len(load.results) == 1
    restored.may_go_on.set()
    await returning
    assert (len(load.results), len(restored.results)) == (1, 1)


async def test_a_new_block_that_cannot_be_joined_to_the_others_is_freed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = Mock(span=Span(3, 4))
    monkeypatch.setattr("potluck_engine.life.block_changes.reshape_span", Mock(side_effect=torch.OutOfMemoryError))

    async def load(_: Span) -> Mock:
        return new

    with pytest.raises(torch.OutOfMemoryError):
        await grow(machine.engine.service, 3, load)
    new.free.assert_called_once()


async def test_a_return_while_a_move_still_frees_the_span_waits_for_that_and_serves(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, free = machine.engine, Held(monkeypatch, Service, "_free")
    Mover(machine, engine._reload(SPAN, SPAN, 0.0))
    await free.called()
    await engine.drain()
    returning = asyncio.create_task(engine.restore())
    await settle()
    assert not returning.done()
    free.may_go_on.set()
    await returning
    await machine.begin(tokens=12)
    torch.testing.assert_close(machine.output, local_steps(INPUTS, span=SPAN)[0], rtol=1e-4, atol=1e-4)


async def test_an_offload_does_not_wait_for_an_examination(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = machine.engine
    monkeypatch.setattr(engine, "_others_cover", AsyncMock(return_value=True))
    await machine.begin()
    engine._examiner.examination = asyncio.create_task(engine._examine())
    await until(lambda: engine.service.admission.leaving)  # it waits for the session to leave
    await engine.offload()
    assert engine.service._ending.done()
    assert engine._examiner.examination.cancelled()
    await engine.restore()
    assert isinstance(machine.events[-1], Online)


async def test_a_share_of_the_time_holds_until_the_return_and_there_is_one_heartbeat(machine: Machine) -> None:
    engine, first = machine.engine, machine.engine._announcements._beating
    engine.throttle(0.3)
    await engine._reload(SPAN, SPAN, 0.0)
    assert engine.service.compute.duty == 0.3
    second = engine._announcements._beating
    await engine.restore()
    assert engine.service.compute.duty == 1.0
    assert first.done()
    assert second.done()


async def test_a_load_that_fails_in_the_middle_keeps_nothing_while_somebody_handles_its_error(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[weakref.ref[torch.UntypedStorage]] = []
    place_block = SpanWeights.place_block

    def place_two(weights: SpanWeights, index: int, *args: Any) -> None:
        if index == 2:
            raise CheckpointError("the disk is full") from ValueError("with what was read")
        place_block(weights, index, *args)
        taken.extend(weakref.ref(each.untyped_storage()) for each in weights._layers[index].parameters())

    monkeypatch.setattr(SpanWeights, "place_block", place_two)
    loader = machine.engine.loader
    with pytest.raises(CheckpointError) as failed:
        await loader.run(lambda: loader.load(Span(0, 3)))
    assert failed.value.__cause__ is not None
    assert taken
    assert not [each for each in taken if each() is not None]


@pytest.fixture
async def beside_ram(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Machine]:
    """An engine with experts in RAM; the processor stands for a small device with memory of its own."""
    monkeypatch.setattr(fitting, "takes_experts", lambda device, dtype: True)
    config = FAMILIES["mixtral"]()
    config.num_hidden_layers = SWARM.num_blocks
    folder = save_config(config, tmp_path / "model")
    made = Machine(tmp_path, checkpoint=folder, memory="cpu=200KiB", limits=ServingLimits(cache_tokens=64))
    async with made.engine:
        yield made


def experts_of(machine: Machine) -> list[torch.nn.Parameter]:
    named = machine.engine.service.blocks.whole.decoder.named_parameters()
    return [parameter for name, parameter in named if ".experts." in name]


async def test_experts_in_ram_stay_there_for_the_return_and_are_not_there_twice_when_loaded_anew(
    beside_ram: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, loader = beside_ram.engine, beside_ram.engine.loader
    await beside_ram.begin()
    output, before = beside_ram.output, experts_of(beside_ram)
    placement = engine.service.blocks.whole.weights.placement
    assert len(placement.split) == len(SPAN)
    assert "experts in RAM" in str(placement)
    await engine.offload()
    assert sum(parameter.nbytes for parameter in before) == placement.ram_experts
    await engine.restore()
    await beside_ram.begin("again")
    assert torch.equal(beside_ram.output, output)
    assert [id(each) for each in experts_of(beside_ram)] == [id(each) for each in before]
    held, load = list[int](), loader.load

    def loaded(span: Span) -> BlockSpan:
        held.append(sum(parameter.nbytes for parameter in before))
        return load(span)

    monkeypatch.setattr(loader, "load", loaded)
    async with engine._changing:
        service = engine.service
        await engine._give_up(service)
        await engine._bring_back(service, loads=True)
    await beside_ram.begin("anew")
    assert torch.equal(beside_ram.output, output)
    before = experts_of(beside_ram)
    await engine._reload(SPAN, SPAN, 0.0)
    assert held == [0, 0]


async def test_experts_in_ram_that_no_return_could_use_are_given_back_at_once(beside_ram: Machine) -> None:
    weights, before = beside_ram.engine.service.blocks.whole.weights, experts_of(beside_ram)
    weights._kept = [replace(kept, arena=None, parts=None) for kept in weights._kept]  # as if it had been converted
    await beside_ram.engine.offload()
    assert sum(parameter.nbytes for parameter in before) == 0
    await beside_ram.engine.restore()
    await beside_ram.begin()


async def test_a_flipped_bit_of_an_expert_in_ram_is_noticed(beside_ram: Machine) -> None:
    service, expert = beside_ram.engine.service, experts_of(beside_ram)[0]
    watch, module = MemoryWatch(beside_ram.engine.device), service.blocks.whole.decoder
    num_looks = len(list(module.parameters())) + 1
    assert [await watch.check_next(module) for _ in range(num_looks)] == [""] * num_looks
    expert.data.view(-1).view(torch.uint8)[11] ^= 1
    found = [await watch.check_next(module) for _ in range(num_looks)]
    assert [".experts." in name for name in found if name] == [True]
