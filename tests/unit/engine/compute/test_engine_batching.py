"""Steps of many sessions together: what they share, what they do not, and what if one of them cannot be done."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

import pytest
import torch
from helpers.engine_peers import Client, Server, hidden_states, is_close, local_steps, opening, serve, until
from helpers.fake_network import FakeHost
from potluck_control.processes.launch_spec import ServingLimits
from potluck_engine.compute.executor import SpanExecutor
from potluck_engine.memory.paging import Paging
from potluck_engine.memory.session_memory import SessionStep
from torch import Tensor

from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepReply, StepRequest

SPAN = Span(0, 2)
Parts = Sequence[tuple[SessionStep, int]]


async def open_session(host: FakeHost, server: Server, hidden: Tensor, span: Span = SPAN) -> Client:
    client = await Client.open(host, server)
    await client.step(StepRequest(hidden, opening(span)))
    return client


async def steps_at_once(
    held: Callable[[Server], AbstractAsyncContextManager[None]],
    server: Server,
    clients: list[Client],
    tokens: list[Tensor],
) -> list[StepReply | BaseException]:
    """All are in the queue before the first one runs."""
    requests = zip(clients, map(StepRequest, tokens), strict=True)
    async with held(server):
        tasks = [asyncio.create_task(client.step(request)) for client, request in requests]
        await until(lambda: server.serving.compute.queued_steps == len(clients))
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_sessions_that_are_ready_share_a_step_and_each_gets_what_it_would_alone(network, held, server):
    prompts = [hidden_states(1, 3 + 9 * i, seed=i) for i in range(6)]
    tokens = [hidden_states(1, 1 if i else 20, seed=100 + i) for i in range(6)]  # one still prefills
    clients = [await open_session(network.start(), server, prompt) for prompt in prompts]
    before = server.serving.metrics()
    replies = await steps_at_once(held, server, clients, tokens)
    after = server.serving.metrics()
    for reply, prompt, token in zip(replies, prompts, tokens, strict=True):
        assert is_close(reply.hidden, local_steps(prompt, token)[1])
    assert after.steps - before.steps <= 3  # the prefill may take that many
    assert after.decode_tokens - before.decode_tokens == 5
    assert after.prefill_tokens - before.prefill_tokens == 20
    assert sum(after.step_times) == after.steps


async def test_sessions_over_different_blocks_share_a_step(network, held, server):
    spans = [SPAN, Span(0, 1), Span(1, 2)]
    prompt = hidden_states(1, 5)
    clients = [await open_session(network.start(), server, prompt, span) for span in spans]
    before = server.serving.metrics().steps
    replies = await steps_at_once(held, server, clients, [hidden_states(1, 1, seed=9)] * 3)
    assert server.serving.metrics().steps - before == 1
    for reply, span in zip(replies, spans, strict=True):
        assert is_close(reply.hidden, local_steps(prompt, hidden_states(1, 1, seed=9), span=span)[1])


async def test_a_session_that_fails_does_not_take_the_others_with_it(network, monkeypatch, held, server):
    own_run = SpanExecutor.run

    def run(self: SpanExecutor, parts: Parts) -> None:
        if any(bool((step.hidden == 7.0).all()) for step, _ in parts):
            raise ZeroDivisionError("a secret")
        own_run(self, parts)

    clients = [await open_session(network.start(), server, hidden_states(1, 4)) for _ in range(5)]
    monkeypatch.setattr(SpanExecutor, "run", run)
    tokens = [hidden_states(1, 1, seed=9)] * 4 + [torch.full((1, 1, 64), 7.0)]
    *good, bad = await steps_at_once(held, server, clients, tokens)
    assert isinstance(bad, RemoteError)
    assert bad.code is Code.INTERNAL
    _, expected = local_steps(hidden_states(1, 4), hidden_states(1, 1, seed=9))
    for reply in good:
        assert is_close(reply.hidden, expected)


async def test_a_step_that_memory_is_too_short_for_is_done_in_halves(network, blocks, monkeypatch, caplog):
    own_run = SpanExecutor.run
    sizes: list[int] = []

    def run(self: SpanExecutor, parts: Parts) -> None:
        sizes.append(sum(count for _, count in parts))
        if sizes[-1] > 4:
            torch.empty(1 << 60, dtype=torch.uint8)  # raises what the allocator raises
        own_run(self, parts)

    hidden = hidden_states(4, 8)
    async with serve(network, blocks=blocks) as server:
        client = await Client.open(network.start(), server)
        server.serving.compute.learn(512, 0.01)  # else it begins with a small piece
        monkeypatch.setattr(SpanExecutor, "run", run)
        reply = await client.step(StepRequest(hidden, opening()))
        assert sizes == [8, 4, 4]
        assert "out of memory in a step of 32 tokens" in caplog.text
    assert is_close(reply.hidden, *local_steps(hidden))


async def test_a_step_that_no_memory_can_be_had_for_is_refused_and_its_pages_come_back(monkeypatch, server, host):
    def run(self: SpanExecutor, parts: Parts) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    client = await open_session(host, server, hidden_states(1, 4))
    with monkeypatch.context() as short:
        short.setattr(SpanExecutor, "run", run)
        await client.send(StepRequest(hidden_states(1, 40)))
        with pytest.raises(RemoteError) as refused:
            await client.stream.receive(timeout_s=120)
    assert refused.value.code is Code.NO_MEMORY
    await until(lambda: server.used_pages == 0)
    await open_session(host, server, hidden_states(1, 3))
    assert server.serving.metrics().refused_memory == 1


async def test_a_step_whose_beginning_fails_does_not_take_the_others_with_it(network, monkeypatch, held, server):
    own_ask = Paging.request_pages

    def ask(self: Paging, step: SessionStep) -> bool:
        if bool((step.hidden == 7.0).all()):
            raise ZeroDivisionError("a secret")
        return own_ask(self, step)

    clients = [await open_session(network.start(), server, hidden_states(1, 4)) for _ in range(3)]
    monkeypatch.setattr(Paging, "request_pages", ask)
    tokens = [torch.full((1, 20, 64), 7.0), *[hidden_states(1, 1, seed=9)] * 2]
    bad, *good = await steps_at_once(held, server, clients, tokens)
    assert isinstance(bad, RemoteError)
    assert bad.code is Code.INTERNAL
    assert all(isinstance(reply, StepReply) for reply in good)


async def test_a_prefill_whose_session_closes_ends_after_the_piece_that_runs(network, blocks, monkeypatch, held):
    pieces: list[int] = []
    own_run = SpanExecutor.run

    async with serve(network, blocks=blocks, limits=ServingLimits(piece_tokens=8)) as server:
        compute = server.serving.compute

        def run(self: SpanExecutor, parts: Parts) -> None:
            step, count = parts[0]
            pieces.append(count)
            compute.close(step.memory, step)
            own_run(self, parts)

        client = await Client.open(network.start(), server)
        monkeypatch.setattr(SpanExecutor, "run", run)
        await client.send(StepRequest(hidden_states(1, 40), opening()))
        await until(lambda: bool(pieces))
        async with held(server):
            assert (pieces, compute.queued_tokens, server.used_pages) == ([8], 0, 0)
