"""Adapters that callers bring: who sees them, what room they get, and what is refused."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext, suppress

import pytest
import torch
from helpers.engine_peers import HIDDEN, Client, Server, call, hidden_states, load, opening, serve
from helpers.fake_network import FakeHost, FakeNetwork
from potluck_engine.memory.private_adapters import PrivateAdapters
from torch import Tensor

from potluck.blocks.adapters import PrivateAdapter
from potluck.protocol.adapters import AdapterLayout, AdapterPlace, PrefixPlace, PrivateId
from potluck.protocol.blocks import PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import AdapterUpload, BackwardRequest, Caller, ForwardRequest, StepRequest
from potluck.wire import protocols
from potluck.wire.adapters import digest_of, encode_upload
from potluck.wire.tensors import values_of

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
    for frame in encode_upload(AdapterUpload("golden", SPAN, layout, values, Caller(private=name))):
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
        assert reply.adapter_grad is not None
        assert torch.equal(reply.adapter_grad, wanted_grads[1])
        client = await Client.open(host, server)
        first = await client.step(StepRequest(hidden[:, :4], opening(caller=caller)))
        second = await client.step(StepRequest(hidden[:, 4:]))
        torch.testing.assert_close(torch.cat((first.hidden, second.hidden), dim=1), wanted, rtol=1e-3, atol=1e-4)
        await client.close()
        (without,) = (await call(host, peer, ForwardRequest("golden", SPAN, hidden))).tensors
        assert torch.equal(without, plain)


async def test_nobody_else_computes_with_an_adapter_even_if_they_know_its_name() -> None:
    network = FakeNetwork()
    async with serve(network, SPAN, private_adapter_bytes=1 << 20) as server:
        owner, other = network.start(), network.start()
        name = await bring(owner, server, some_values())
        request = ForwardRequest("golden", SPAN, hidden_states(1, 3), caller=Caller(private=name))
        await call(owner, server.host.peer_id, request)
        with pytest.raises(RemoteError) as refusal:
            await call(other, server.host.peer_id, request)
        assert refusal.value.code is Code.NO_ADAPTER


@pytest.mark.parametrize("changed", [{}, {"heads": 3}, {"key_size": 8}], ids=["fits", "heads", "sizes"])
async def test_keys_and_values_of_other_shapes_than_the_blocks_are_refused(changed: dict[str, int]) -> None:
    network, blocks = FakeNetwork(), load(SPAN)
    kind = blocks.remembered[0]
    assert kind is not None
    layout = AdapterLayout(tuple(PrefixPlace(block, 2, *kind)._replace(**changed) for block in SPAN))
    async with serve(network, blocks=blocks, private_adapter_bytes=1 << 20) as server:
        with pytest.raises(RemoteError, match="remembers other things") if changed else nullcontext():
            await bring(network.start(), server, torch.ones(layout.num_values), layout)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ({"name": "self_attn.nowhere"}, "no linear layer"),
        ({"name": "self_attn"}, "no linear layer"),
        ({"out_features": HIDDEN + 1}, "not"),
    ],
    ids=["unknown layer", "no layer", "another size"],
)
async def test_an_adapter_for_another_model_is_refused(place: dict[str, object], said: str) -> None:
    network = FakeNetwork()
    layout = AdapterLayout((LAYOUT.places[0]._replace(**place),))
    async with serve(network, SPAN, private_adapter_bytes=1 << 20) as server:
        with pytest.raises(RemoteError, match=said) as refusal:
            await bring(network.start(), server, torch.ones(layout.num_values), layout)
        assert refusal.value.code is Code.BAD_REQUEST
        assert not server.serving.private.used_bytes


async def test_an_adapter_that_never_fits_is_refused_before_it_is_sent() -> None:
    network = FakeNetwork()
    for room in (0, 4 * LAYOUT.num_values):  # half of it is for one person
        async with serve(network, SPAN, private_adapter_bytes=room) as server:
            with pytest.raises(RemoteError) as refusal:
                await bring(network.start(), server, some_values())
            assert refusal.value.code is Code.TOO_LONG


def take(store: PrivateAdapters, person: PersonId, digest: bytes, nbytes: int) -> None:
    with store.taking(person, digest, SPAN, nbytes) as held:
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
    assert store.used_bytes == 100
    take(store, PersonId("carla"), b"5", 20)
    assert [has(store, *each) for each in ((ANNA, b"1"), (ANNA, b"2"), (BOB, b"3"), (BOB, b"4"))] == [
        True,
        False,
        True,
        True,
    ]


def test_one_person_gets_half_of_the_room_and_their_own_adapters_go_first() -> None:
    store = PrivateAdapters(100)
    take(store, BOB, b"3", 10)
    for digest in (b"1", b"2"):
        take(store, ANNA, digest, 40)
    assert [has(store, ANNA, b"1"), has(store, ANNA, b"2"), has(store, BOB, b"3")] == [False, True, True]
    with pytest.raises(RemoteError) as refusal:
        take(store, ANNA, b"4", 51)
    assert refusal.value.code is Code.TOO_LONG


def test_what_is_in_use_stays_and_an_upload_that_fails_leaves_nothing() -> None:
    store = PrivateAdapters(100)
    take(store, ANNA, b"1", 50)
    with ExitStack() as stack:
        stack.enter_context(store.using(ANNA, PrivateId(b"1", LAYOUT.num_values), SPAN))
        with pytest.raises(RemoteError) as refusal:
            take(store, ANNA, b"2", 50)
        assert refusal.value.code is Code.NO_MEMORY
        store.forget()
        assert has(store, ANNA, b"1")
    with pytest.raises(ZeroDivisionError), store.taking(ANNA, b"2", SPAN, 50):
        raise ZeroDivisionError
    assert store.used_bytes == 0
    assert not has(store, ANNA, b"1")
