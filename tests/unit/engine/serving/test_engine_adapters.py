"""Adapters of a server and those that callers bring: who computes with them, what room they get, what is refused."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.adapters import save_adapter
from helpers.engine_peers import HIDDEN, Client, Server, call, hidden_states, load, opening, refused_with, serve
from helpers.fake_network import FakeHost, FakeNetwork
from helpers.golden import CHECKPOINT
from msgspec.structs import replace
from potluck_engine.memory.private_adapters import PrivateAdapters
from potluck_engine.serving.handlers import Handlers
from torch import Tensor

from potluck.blocks.adapters import Adapters, PrivateAdapter
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.checkpoint.adapter_files import AdapterFile, open_adapter
from potluck.checkpoint.source import open_checkpoint
from potluck.protocol.adapters import AdapterLayout, AdapterPlace, PrefixPlace, PrivateId
from potluck.protocol.blocks import PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import AdapterUpload, BackwardRequest, Caller, ForwardRequest, StepRequest
from potluck.wire import protocols
from potluck.wire.calls import digest_of
from potluck.wire.tensors import encode_parts, values_of

SPAN = Span(0, 2)
ANNA, BOB = PersonId("anna"), PersonId("bob")
RANK = 2
LAYOUT = AdapterLayout(
    tuple(AdapterPlace(block, "self_attn.q_proj", RANK, HIDDEN, HIDDEN, 2.0) for block in range(SPAN.start, SPAN.end))
)


def named(layout: AdapterLayout, values: Tensor) -> PrivateId:
    return PrivateId(digest_of(layout, values_of(values)), layout.num_values)


def some_values(seed: int = 0) -> Tensor:
    return 0.2 * torch.randn(LAYOUT.num_values, generator=torch.Generator().manual_seed(seed))


async def bring(host: FakeHost, server: Server, values: Tensor, layout: AdapterLayout = LAYOUT) -> PrivateId:
    """Raises RemoteError."""
    name = named(layout, values)
    stream = await host.open_stream(server.host.peer_id, protocols.ADAPTER, timeout_s=120, max_frame_bytes=1 << 26)
    for frame in encode_parts(AdapterUpload("golden", SPAN, layout, values, Caller(private=name))):
        await stream.send(*frame)
    assert await stream.receive(timeout_s=120) is not None
    return name


async def test_calls_and_sessions_compute_with_the_adapter_and_give_its_gradient() -> None:
    network, values, hidden, grad = FakeNetwork(), some_values(), hidden_states(2, 6), hidden_states(2, 6, seed=1)
    blocks = load(SPAN)
    blocks.adapters.open(blocks.layers, SPAN.start)
    leaves = [hidden.clone().requires_grad_(), values.clone().requires_grad_()]
    with blocks.adapters.using(PrivateAdapter(LAYOUT, leaves[1])):
        wanted = blocks.forward(leaves[0])
    wanted_grads = torch.autograd.grad(wanted, leaves, grad)
    with torch.no_grad():
        plain = load(SPAN).forward(hidden)
    assert not torch.allclose(plain, wanted, atol=1e-2)
    async with serve(network, SPAN, private_adapter_bytes=1 << 20) as server:
        host, peer = network.start(), server.host.peer_id
        name = await bring(host, server, values)
        caller = Caller(private=name)
        (found,) = (await call(host, peer, ForwardRequest("golden", SPAN, hidden, caller=caller))).tensors
        assert torch.equal(found, wanted)
        reply = await call(host, peer, BackwardRequest("golden", SPAN, hidden, grad, caller=caller))
        assert torch.equal(reply.tensors[0], wanted_grads[0])
        assert torch.equal(reply.adapter_grad, wanted_grads[1])
        client = await Client.open(host, server)
        first = await client.step(StepRequest(hidden[:, :4], opening(caller=caller)))
        second = await client.step(StepRequest(hidden[:, 4:]))
        torch.testing.assert_close(torch.cat((first.hidden, second.hidden), dim=1), wanted, rtol=1e-3, atol=1e-4)
        await client.close()
        (without,) = (await call(host, peer, ForwardRequest("golden", SPAN, hidden))).tensors
        assert torch.equal(without, plain)


async def test_nobody_else_computes_with_an_adapter_even_if_they_know_its_name(network: FakeNetwork) -> None:
    async with serve(network, SPAN, private_adapter_bytes=1 << 20) as server:
        owner, other = network.start(), network.start()
        name = await bring(owner, server, some_values())
        request = ForwardRequest("golden", SPAN, hidden_states(1, 3), caller=Caller(private=name))
        await call(owner, server.host.peer_id, request)
        with refused_with(Code.NO_ADAPTER):
            await call(other, server.host.peer_id, request)


def used_bytes(store: PrivateAdapters) -> int:
    return sum(held.nbytes for held in store._held.values())


def linear(**changed: object) -> AdapterLayout:
    return AdapterLayout((replace(LAYOUT.places[0], **changed),))


def prefix(**changed: int) -> AdapterLayout:
    return AdapterLayout(tuple(replace(PrefixPlace(block, 2, 2, 16, 16), **changed) for block in SPAN))


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        pytest.param(linear(name="self_attn.nowhere"), "no linear layer", id="an unknown layer"),
        pytest.param(linear(name="self_attn"), "no linear layer", id="no layer"),
        pytest.param(linear(out_features=HIDDEN + 1), "not", id="another size"),
        pytest.param(prefix(heads=3), "remembers other things", id="more heads"),
        pytest.param(prefix(key_size=8), "remembers other things", id="smaller keys"),
        pytest.param(prefix(), None, id="it fits"),
    ],
)
async def test_another_models_adapter_is_refused(layout: AdapterLayout, said: str | None, network: FakeNetwork) -> None:
    async with serve(network, SPAN, private_adapter_bytes=1 << 20) as server:
        with pytest.raises(RemoteError, match=said) if said else nullcontext() as refusal:
            await bring(network.start(), server, torch.ones(layout.num_values), layout)
        assert refusal is None or refusal.value.code is Code.BAD_REQUEST
        assert bool(used_bytes(server.serving.private)) is (said is None)


async def test_an_adapter_that_never_fits_is_refused_before_it_is_sent(network: FakeNetwork) -> None:
    for room in (0, 4 * LAYOUT.num_values):  # half of it is for one person
        async with serve(network, SPAN, private_adapter_bytes=room) as server:
            with refused_with(Code.TOO_LONG):
                await bring(network.start(), server, some_values())


def take(store: PrivateAdapters, person: PersonId, digest: bytes, nbytes: int) -> None:
    with store.reserving(person, digest, SPAN, nbytes) as held:
        held.adapter = PrivateAdapter(LAYOUT, torch.empty(0))


def has(store: PrivateAdapters, person: PersonId, digest: bytes) -> bool:
    with suppress(RemoteError), store.using(person, PrivateId(digest, LAYOUT.num_values), SPAN):
        return True
    return False


def test_the_least_used_adapter_of_who_has_most_makes_room() -> None:
    store = PrivateAdapters(100)
    for digest in (b"1", b"2"):
        take(store, ANNA, digest, 25)
    take(store, BOB, b"3", 40)
    assert has(store, ANNA, b"1")  # and used later than the other
    take(store, BOB, b"4", 10)
    assert used_bytes(store) == 100
    take(store, PersonId("carla"), b"5", 20)
    brought = ((ANNA, b"1"), (ANNA, b"2"), (BOB, b"3"), (BOB, b"4"))
    left = [digest for person, digest in brought if has(store, person, digest)]
    assert left == [b"1", b"3", b"4"]


async def test_an_adapter_that_comes_when_the_device_was_given_back_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    came, may_go_on, take = asyncio.Event(), asyncio.Event(), Handlers.in_thread_if_large

    async def slowly(handlers: Handlers, num_bytes: int, work: Callable[[], Any]) -> Any:
        came.set()
        await may_go_on.wait()
        return await take(handlers, num_bytes, work)

    network = FakeNetwork()
    async with serve(network, SPAN, private_adapter_bytes=1 << 20) as server:
        monkeypatch.setattr(Handlers, "in_thread_if_large", slowly)
        bringing = asyncio.create_task(bring(network.start(), server, some_values()))
        await came.wait()
        await server.serving.end()
        may_go_on.set()
        with refused_with(Code.DRAINING):
            await bringing
        assert used_bytes(server.serving.private) == 0


def test_one_person_gets_half_of_the_room_and_their_own_adapters_go_first() -> None:
    store = PrivateAdapters(100)
    take(store, BOB, b"3", 10)
    for digest in (b"1", b"2"):
        take(store, ANNA, digest, 40)
    assert [has(store, ANNA, b"1"), has(store, ANNA, b"2"), has(store, BOB, b"3")] == [False, True, True]
    with refused_with(Code.TOO_LONG):
        take(store, ANNA, b"4", 51)


def test_what_is_in_use_stays_and_an_upload_that_fails_leaves_nothing() -> None:
    store = PrivateAdapters(100)
    take(store, ANNA, b"1", 50)
    with ExitStack() as stack:
        stack.enter_context(store.using(ANNA, PrivateId(b"1", LAYOUT.num_values), SPAN))
        with refused_with(Code.NO_MEMORY):
            take(store, ANNA, b"2", 50)
        assert has(store, ANNA, b"1")
        store.forget()
        assert not has(store, ANNA, b"1")
    with pytest.raises(ZeroDivisionError), store.reserving(ANNA, b"2", SPAN, 50):
        raise ZeroDivisionError
    assert used_bytes(store) == 0
    assert not has(store, ANNA, b"1")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[AdapterFile]:
    folder = tmp_path_factory.mktemp("adapters")
    return [open_adapter(str(save_adapter(folder / name, seed)), num_blocks=4) for seed, name in enumerate("ab")]


def load_with(files: list[AdapterFile]) -> BlockSpan:
    return load_span(open_checkpoint(str(CHECKPOINT)), SPAN, dtype=torch.float32, adapters=Adapters(files))


def alone(files: list[AdapterFile], adapter: str | None, hidden: Tensor) -> Tensor:
    blocks = load_with(files)
    with torch.inference_mode(), blocks.adapters.using(adapter):
        return blocks.forward(hidden)


@pytest.mark.parametrize("exact", [False, True], ids=["together", "exact"])
async def test_sessions_that_begin_alike_compute_with_their_adapters(files: list[AdapterFile], exact: bool) -> None:
    network, hidden = FakeNetwork(), hidden_states(2, 40)
    async with serve(network, blocks=load_with(files)) as server:
        host = network.start()
        for wanted, adapter in (("a", files[0].id), (files[1].id.partition("@")[2], files[1].id), (None, None)) * 2:
            client = await Client.open(host, server)
            opened = opening(caller=Caller(adapter=wanted), exact=exact)
            first = await client.step(StepRequest(hidden[:, :39], opened))
            second = await client.step(StepRequest(hidden[:, 39:]))
            found = torch.cat((first.hidden, second.hidden), dim=1)
            torch.testing.assert_close(found, alone(files, adapter, hidden), rtol=1e-3, atol=1e-4)
            await client.close()


async def test_forward_and_backward_go_through_the_adapter(files: list[AdapterFile]) -> None:
    network, hidden, grad = FakeNetwork(), hidden_states(2, 6), hidden_states(2, 6, seed=1)
    blocks, caller = load_with(files), Caller(adapter="b")
    leaf = hidden.clone().requires_grad_()
    with blocks.adapters.using(files[1].id):
        wanted = blocks.forward(leaf)
        (wanted_grad,) = torch.autograd.grad(wanted, [leaf], grad)
    async with serve(network, blocks=load_with(files)) as server:
        host, peer = network.start(), server.host.peer_id
        forward = ForwardRequest("golden", SPAN, hidden, caller=caller)
        (found,) = (await call(host, peer, forward)).tensors
        torch.testing.assert_close(found, wanted.detach(), rtol=1e-3, atol=1e-4)
        backward = BackwardRequest("golden", SPAN, hidden, grad, caller=caller)
        (found,) = (await call(host, peer, backward)).tensors
        torch.testing.assert_close(found, wanted_grad, rtol=1e-3, atol=1e-4)


async def test_a_missing_or_broken_adapter_ends_only_its_own_session(files: list[AdapterFile], tmp_path: Path) -> None:
    broken = open_adapter(str(save_adapter(tmp_path / "broken", 7, factor=float("inf"))), num_blocks=4)
    network, hidden = FakeNetwork(), hidden_states(1, 3)
    async with serve(network, blocks=load_with([*files, broken])) as server:
        host = network.start()
        honest = await Client.open(host, server)
        await honest.step(StepRequest(hidden, opening(caller=Caller(adapter="a"))))
        for wanted, code in (("c", Code.NOT_SERVED), ("broken", Code.INTERNAL)):
            client = await Client.open(host, server)
            with refused_with(code):
                await client.step(StepRequest(hidden, opening(caller=Caller(adapter=wanted))))
        await honest.step(StepRequest(hidden))
        await honest.close()
