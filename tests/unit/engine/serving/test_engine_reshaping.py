"""A span that changes while it is served: who uses blocks that stay never notices, the others are told in time."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator

import pytest
import torch
from helpers.engine_peers import (
    Client,
    Server,
    call,
    hidden_states,
    is_close,
    load,
    local_steps,
    opening,
    refused_with,
    serve,
    until,
)
from helpers.fake_network import FakeNetwork
from potluck_control.processes.launch_spec import ServingLimits
from potluck_engine.compute import passes
from potluck_engine.serving import session_stream

from potluck.blocks.span.reshaping import reshape_span
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import BackwardRequest, ForwardRequest, StepRequest


async def grow(server: Server, block: int) -> None:
    old, new = server.serving.blocks.whole, load(Span(block, block + 1))
    span = Span(min(old.span.start, block), max(old.span.end, block + 1))
    await server.serving.change(reshape_span([new, old] if block < old.span.start else [old, new], span))


async def shrink(server: Server, span: Span, *, patience_s: float = 60.0) -> None:
    old = server.serving.blocks.whole
    await server.serving.hand_over(span, patience_s=patience_s)
    await server.serving.change(reshape_span([old], span))
    for block in old.span:
        if block not in span:
            old.weights.free_blocks(Span(block, block + 1))


@pytest.fixture
async def sliding(network: FakeNetwork) -> AsyncIterator[Server]:
    """Serves blocks 1:3 and may hold one more."""
    async with serve(network, Span(1, 3), max_blocks=3, limits=ServingLimits(cache_tokens=512)) as server:
        yield server


class Stepper:
    """A session over `span` of two rows, and what it was told with the last answer."""

    def __init__(self, client: Client, span: Span) -> None:
        self.client = client
        self.is_leaving = False
        self._span = span

    async def step(self, start: int, end: int) -> torch.Tensor:
        first = opening(self._span) if start == 0 else None
        reply = await self.client.step(StepRequest(hidden_states(2, 30)[:, start:end], opening=first))
        self.is_leaving = reply.timing.is_leaving
        return reply.hidden


async def a_session(network: FakeNetwork, server: Server, span: Span) -> Stepper:
    return Stepper(await Client.open(network.start(), server), span)


async def test_a_session_over_blocks_that_stay_goes_on_through_a_slide(network: FakeNetwork, sliding: Server) -> None:
    session = await a_session(network, sliding, Span(2, 3))
    outputs = [await session.step(0, 20)]
    await grow(sliding, 3)
    outputs.append(await session.step(20, 22))
    await shrink(sliding, Span(2, 4))
    outputs.append(await session.step(22, 30))
    assert not session.is_leaving
    assert is_close(torch.cat(outputs, 1), *local_steps(hidden_states(2, 30), span=Span(2, 3)))
    newcomer = await a_session(network, sliding, Span(2, 4))
    assert is_close(await newcomer.step(0, 30), *local_steps(hidden_states(2, 30), span=Span(2, 4)))
    for each in (session, newcomer):
        await each.client.close()
    await until(lambda: sliding.used_pages == 0)


async def test_a_session_over_blocks_that_go_is_told_and_waited_for(network: FakeNetwork, sliding: Server) -> None:
    goes, stays = await a_session(network, sliding, Span(1, 3)), await a_session(network, sliding, Span(2, 3))
    for session in (goes, stays):
        await session.step(0, 20)
        assert not session.is_leaving
    shrinking = asyncio.create_task(shrink(sliding, Span(2, 3)))
    await until(lambda: sliding.serving.admission.is_leaving(Span(1, 3)))
    for session in (goes, stays):
        await session.step(20, 21)
    assert goes.is_leaving
    assert not stays.is_leaving
    assert not shrinking.done()
    await goes.client.close()
    await shrinking
    await stays.step(21, 22)


async def test_who_does_not_leave_in_time_is_sent_away(network: FakeNetwork, sliding: Server) -> None:
    session = await a_session(network, sliding, Span(1, 3))
    await session.step(0, 20)
    await shrink(sliding, Span(2, 3), patience_s=0.0)
    with pytest.raises(RemoteError) as told:
        await session.client.answer((2, 1, 64))
    assert told.value.code is Code.DRAINING


async def test_a_session_that_waits_for_memory_is_sent_away(network: FakeNetwork, monkeypatch) -> None:
    monkeypatch.setattr(session_stream, "_LAST_STEP_S", 0.05)
    async with serve(network, Span(1, 3), max_blocks=3, limits=ServingLimits(cache_tokens=96)) as server:
        stays, waits = [await Client.open(network.start(), server) for _ in range(2)]
        await stays.step(StepRequest(hidden_states(1, 64), opening(Span(2, 3))))
        await waits.send(StepRequest(hidden_states(1, 60), opening(Span(1, 3), alloc_timeout_s=60.0)))
        await until(lambda: server.serving.compute.num_waiting_for_pages == 1)
        await shrink(server, Span(2, 3), patience_s=0.0)
        assert server.serving.compute.num_waiting_for_pages == 0
        with refused_with(Code.DRAINING):
            await waits.answer((1, 60, 64))
        await stays.step(StepRequest(hidden_states(1, 1), start_from_position=63))


@pytest.mark.parametrize("is_last", [True, False])
async def test_blocks_stay_until_the_running_piece_of_a_call_ends(network, monkeypatch, is_last) -> None:
    entered, released, gradients = threading.Event(), threading.Event(), passes.ForwardPiece.gradients

    def slow(piece: passes.ForwardPiece, grad: torch.Tensor) -> passes.Gradients:
        entered.set()
        assert released.wait(60)
        return gradients(piece, grad)

    monkeypatch.setattr(passes.ForwardPiece, "gradients", slow)
    inputs, limits = ("golden", Span(1, 3), hidden_states(1, 6)), ServingLimits(piece_tokens=512 if is_last else 5)
    async with serve(network, Span(1, 3), max_blocks=3, limits=limits) as server:
        peer, host = server.host.peer_id, network.start()
        await call(host, peer, ForwardRequest(*inputs, is_trained=True))
        calling = asyncio.create_task(call(host, peer, BackwardRequest(*inputs, hidden_states(1, 6, seed=1))))
        await until(entered.is_set)
        shrinking = asyncio.create_task(shrink(server, Span(2, 3), patience_s=0.0))
        await until(lambda: server.serving.blocks.span == Span(2, 3))
        await asyncio.wait({shrinking}, timeout=0.2)
        assert not shrinking.done()
        released.set()
        await shrinking
        with contextlib.nullcontext() if is_last else refused_with(Code.DRAINING):
            await calling


async def test_a_session_that_runs_alone_keeps_its_cache(network: FakeNetwork, sliding: Server) -> None:
    client = await Client.open(network.start(), sliding)
    first = opening(Span(2, 3), exact=True)
    outputs = [(await client.step(StepRequest(hidden_states(1, 9)[:, :5], opening=first))).hidden]
    await grow(sliding, 0)
    await shrink(sliding, Span(2, 3))
    outputs.append((await client.step(StepRequest(hidden_states(1, 9)[:, 5:]))).hidden)
    alone = local_steps(hidden_states(1, 9)[:, :5], hidden_states(1, 9)[:, 5:], span=Span(2, 3))
    assert all(torch.equal(one, other) for one, other in zip(outputs, alone, strict=True))
