"""Inference sessions as a client sees them, on the fake network, and which of them ends when all places are taken."""

import asyncio
import contextlib
import threading
from unittest.mock import Mock

import pytest
import torch
from helpers.engine_peers import Client, Server, hidden_states, is_close, local_steps, opening, serve, settle, until
from helpers.fake_network import FakeHost
from msgspec.structs import replace
from potluck_control.processes.launch_spec import ServingLimits
from potluck_engine.serving import session_stream
from potluck_engine.serving.pushing import TAKES_AHEAD

from potluck.p2p import frames
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Awaited, StepRequest
from potluck.wire.packing import pack
from potluck.wire.sessions import decode_step_reply


async def first_step(host: FakeHost, server: Server, request: StepRequest) -> Client:
    client = await Client.open(host, server)
    await client.step(request)
    return client


async def sent_to(server: Server, host: FakeHost, request: StepRequest) -> Client:
    """The stream to which `request` was sent, without waiting for an answer."""
    client = await Client.open(host, server)
    await client.send(request)
    return client


async def to_the_end(client: Client) -> None:
    while await client.stream.receive(timeout_s=120) is not None:
        pass


async def refusal(client: Client) -> Code:
    with pytest.raises(RemoteError) as refused:
        await to_the_end(client)
    return refused.value.code


async def test_only_as_many_outputs_are_answered_as_were_asked_for(network, server):
    client = await Client.open(network.start(), server)
    hidden = hidden_states(2, 5)
    whole = await client.step(StepRequest(hidden, opening()))
    for asked in (0, 2, 5, 9):
        await client.send(StepRequest(hidden, start_from_position=0, answer_tokens=asked))
        body = await client.stream.receive(timeout_s=120)
        reply = decode_step_reply(body, like=(2, 5, 64), answer_tokens=min(asked, 5))
        torch.testing.assert_close(reply.hidden, whole.hidden[:, 5 - min(asked, 5) :])
    await client.close()


async def test_exact_session_is_bit_equal_to_the_local_blocks_whoever_else_is_served(server, host):
    inputs = [hidden_states(2, 5), *(hidden_states(2, 1, seed=i) for i in range(1, 6))]
    client, other = await Client.open(host, server), await Client.open(host, server)
    for index, (hidden, expected) in enumerate(zip(inputs, local_steps(*inputs), strict=True)):
        ours, theirs = (opening(exact=True), opening()) if index == 0 else (None, None)
        reply, _ = await asyncio.gather(
            client.step(StepRequest(hidden, ours)), other.step(StepRequest(hidden_states(1, 1), theirs))
        )
        assert torch.equal(reply.hidden, expected)
    rolled = await client.step(StepRequest(inputs[1], start_from_position=5))
    fresh = await first_step(host, server, StepRequest(inputs[0], opening(exact=True)))
    assert torch.equal(rolled.hidden, (await fresh.step(StepRequest(inputs[1]))).hidden)
    for each in (client, other, fresh):
        await each.close()
    await until(lambda: server.used_pages == 0)


async def test_end_of_input_ends_a_session_like_the_closing_message_after_what_was_sent(network, server):
    client = await first_step(network.start(), server, StepRequest(hidden_states(1, 3), opening()))
    await client.send(StepRequest(hidden_states(1, 1)))
    await client.stream.end()
    await client.answer((1, 1, 64))
    assert await client.stream.receive(timeout_s=120) is None
    await until(lambda: server.used_pages == 0)


async def test_rollback_gives_what_a_fresh_session_gives(server, host):
    long, other = hidden_states(1, 6), hidden_states(1, 2, seed=5)
    client = await first_step(host, server, StepRequest(long, opening()))
    rolled = await client.step(StepRequest(other, start_from_position=4))
    fresh = await first_step(host, server, StepRequest(long[:, :4], opening()))
    assert is_close(rolled.hidden, (await fresh.step(StepRequest(other))).hidden)


async def test_long_prefill_runs_in_pieces_and_deep_prompts_reach_their_positions(network, blocks):
    hidden, prompts = hidden_states(1, 40), hidden_states(2, 7, seed=3)[:, None]
    (expected,) = local_steps(hidden, prompts=prompts)
    async with serve(network, blocks=blocks, limits=ServingLimits(piece_tokens=4)) as server:
        client = await Client.open(network.start(), server)
        reply = await client.step(StepRequest(hidden, opening(), prompts=prompts))
        assert torch.allclose(reply.hidden, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("packs", [False, True])
async def test_empty_steps_open_and_keep_a_session_alive(network, packs, server):
    first = StepRequest(hidden_states(1, 0), replace(opening(), packs=packs))
    client = await first_step(network.start(), server, first)
    assert server.used_pages == 0
    reply = await client.step(StepRequest(hidden_states(1, 3)))
    assert torch.equal(pack(reply.hidden).values, reply.hidden) is packs
    assert (await client.step(StepRequest(hidden_states(1, 0)))).hidden.shape == (1, 0, 64)


@pytest.mark.parametrize("large_bytes", [0, 1 << 20])
async def test_a_session_whose_answer_cannot_be_packed_ends_and_no_other(
    large_bytes, network, host, server, monkeypatch
):
    other = await first_step(host, server, StepRequest(hidden_states(1, 3), opening()))
    monkeypatch.setattr(session_stream, "LARGE_BYTES", large_bytes)
    monkeypatch.setattr(session_stream, "pack", Mock(side_effect=ValueError))
    client = await sent_to(server, network.start(), StepRequest(hidden_states(1, 3), replace(opening(), packs=True)))
    assert await refusal(client) is Code.INTERNAL
    await other.step(StepRequest(hidden_states(1, 1)))
    await other.close()
    await until(lambda: server.used_pages == 0)


async def test_pages_grow_with_the_session_and_each_answer_tells_what_is_left(network, blocks):
    async with serve(network, blocks=blocks, limits=ServingLimits(cache_tokens=160)) as server:
        client = await Client.open(network.start(), server)
        reply = await client.step(StepRequest(hidden_states(2, 17), opening(max_length=5000)))
        assert reply.timing.compute_ms > 0
        assert reply.timing.cache_tokens_left == 160 - 2 * 32, "the length that may come reserves nothing"
        assert server.used_pages == 2 * 2
        await client.step(StepRequest(hidden_states(2, 1), start_from_position=1))
        assert server.used_pages == 2


async def test_full_cache_refuses_at_once_or_waits_as_asked(network, blocks, host):
    async with serve(network, blocks=blocks, limits=ServingLimits(cache_tokens=160)) as server:
        holder = await first_step(host, server, StepRequest(hidden_states(8, 15), opening()))
        impatient = await sent_to(server, host, StepRequest(hidden_states(3, 3), opening()))
        assert await refusal(impatient) is Code.NO_MEMORY
        patient = await sent_to(server, host, StepRequest(hidden_states(3, 3), opening(alloc_timeout_s=60)))
        await until(lambda: server.serving.compute.num_waiting_for_pages == 1)
        await holder.close()
        await patient.answer((3, 3, 64))


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (StepRequest(hidden_states(2, 1)), Code.BAD_REQUEST),
        (StepRequest(hidden_states(1, 1), start_from_position=4), Code.BAD_REQUEST),
        (StepRequest(hidden_states(1, 2), prompts=torch.zeros(3, 1, 1, 64)), Code.BAD_REQUEST),
        (StepRequest(hidden_states(1, 62)), Code.TOO_LONG),
    ],
    ids=["batch", "gap", "prompts", "max_length"],
)
async def test_step_that_does_not_fit_ends_the_session_with_a_code(network, blocks, request_, code):
    async with serve(network, blocks=blocks) as server:
        client = await first_step(network.start(), server, StepRequest(hidden_states(1, 3), opening()))
        await client.send(request_)
        assert await refusal(client) is code
        await until(lambda: server.used_pages == 0 and len(server.serving.sessions) == 0)


@pytest.mark.parametrize(
    ("opening_", "code"),
    [(opening(Span(1, 3)), Code.NOT_SERVED), (opening(max_length=2), Code.TOO_LONG)],
    ids=["half outside", "first step too long"],
)
async def test_session_that_cannot_be_is_refused_with_a_code(network, opening_, code, server):
    assert await refusal(await sent_to(server, network.start(), StepRequest(hidden_states(1, 3), opening_))) is code


async def test_bytes_that_are_no_message_are_refused(server, host):
    unopened = await Client.open(host, server)
    opened = await first_step(host, server, StepRequest(hidden_states(1, 3), opening()))
    for client in (unopened, opened):
        await client.stream.send(b"\xff" * 50)
        assert await refusal(client) is Code.BAD_REQUEST


async def test_of_a_full_server_a_newcomer_gets_the_place_of_one_who_has_several(network, blocks):
    async with serve(network, blocks=blocks, limits=ServingLimits(max_sessions=2)) as server:
        hog = network.start()
        idle = await first_step(hog, server, StepRequest(hidden_states(1, 1), opening()))
        busy = await first_step(hog, server, StepRequest(hidden_states(1, 1), opening()))
        await first_step(network.start(), server, StepRequest(hidden_states(1, 1), opening()))
        assert await refusal(idle) is Code.BUSY
        await busy.step(StepRequest(hidden_states(1, 1)))


async def test_client_that_dies_in_mid_step_frees_its_cache_and_its_place_in_the_queue(held, server, host):
    client = await first_step(host, server, StepRequest(hidden_states(1, 3), opening()))
    async with held(server):
        await client.send(StepRequest(hidden_states(1, 1)))
        await settle()
        assert server.serving.compute.queued_tokens == 1
        host.kill()
        await settle()
        assert server.serving.compute.queued_tokens == 0
        assert len(server.serving.sessions) == 0
    await until(lambda: server.used_pages == 0)


async def test_client_that_dies_with_more_steps_under_way_than_are_read_ahead_frees_everything(held, server, host):
    client = await first_step(host, server, StepRequest(hidden_states(1, 3), opening()))
    async with held(server):
        for _ in range(TAKES_AHEAD + 4):
            await client.send(StepRequest(hidden_states(1, 1)))
        await settle()
        host.kill()
        await settle()
        assert server.serving.compute.queued_tokens == 0
        assert len(server.serving.sessions) == 0
        assert not server.host._tasks
    await until(lambda: server.used_pages == 0)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (StepRequest(None, awaited=Awaited(1, 1, 1)), TAKES_AHEAD),
        (StepRequest(hidden_states(1, 1)), TAKES_AHEAD),
        (StepRequest(hidden_states(1, 300)), 4),
    ],
    ids=["announced", "small", "large"],
)
async def test_only_so_many_steps_wait(request_, expected, held, server, host):
    client = await Client.open(host, server)
    reply = await client.step(StepRequest(hidden_states(1, 3), opening(max_length=1 << 15)))
    assert reply.takes_ahead == TAKES_AHEAD
    (session,) = server.serving.sessions._sessions
    async with held(server):
        await client.send(StepRequest(hidden_states(1, 1)))
        for _ in range(expected + 4):
            await client.send(request_)
        await settle(500)
        assert len(session.waiting) == expected
        host.kill()
    await until(lambda: server.used_pages == 0)


@pytest.mark.parametrize("is_alone", [False, True])
@pytest.mark.parametrize(("back_to", "dropped"), [(5, [2, 3, 4]), (4, [1, 2, 3, 4]), (3, [0, 1, 2, 3, 4])])
async def test_steps_that_are_taken_back_are_answered_in_turn_and_not_computed(
    back_to, dropped, is_alone, held, server, host
):
    client = await first_step(host, server, StepRequest(prompt := hidden_states(1, 3), opening()))
    (session,) = server.serving.sessions._sessions
    starts, sizes = (3, 4, None, 9, None), (1, 3, 2, 2, 1)
    inputs = [hidden_states(1, size, seed=seed) for seed, size in enumerate(sizes)]
    last = hidden_states(1, 2, seed=9)
    async with held(server):
        for start, hidden in zip(starts, inputs, strict=True):
            await client.send(StepRequest(hidden, start_from_position=start, answer_tokens=1))
        await settle()
        if is_alone:
            await client.send(StepRequest(None, start_from_position=back_to))
        await client.send(StepRequest(last, start_from_position=back_to))
        await settle()
    for index, size in enumerate(sizes):
        body = await client.stream.receive(timeout_s=120)
        reply = decode_step_reply(body, like=(1, size, 64), answer_tokens=1)
        assert reply.is_dropped is (index in dropped)
    reply = await client.answer((1, 2, 64))
    assert session.position == back_to + 2
    fresh = await first_step(host, server, StepRequest(torch.cat([prompt, *inputs], 1)[:, :back_to], opening()))
    assert is_close(reply.hidden, (await fresh.step(StepRequest(last))).hidden)


async def test_a_step_that_runs_when_it_is_taken_back_is_answered_as_any(server, host, monkeypatch):
    client = await first_step(host, server, StepRequest(prompt := hidden_states(1, 3), opening()))
    executor = server.serving.stage.executor
    entered, released, run = threading.Event(), threading.Event(), executor.run

    def wait(parts):
        entered.set()
        assert released.wait(120)
        run(parts)

    monkeypatch.setattr(executor, "run", wait)
    one, other = hidden_states(1, 2, seed=1), hidden_states(1, 1, seed=2)
    await client.send(StepRequest(one))
    await asyncio.to_thread(entered.wait)
    await client.send(StepRequest(other, start_from_position=3))
    await settle()
    released.set()
    answers = [(await client.answer((1, tokens, 64))).hidden for tokens in (2, 1)]
    for hidden, answer in zip((one, other), answers, strict=True):
        fresh = await first_step(host, server, StepRequest(prompt, opening()))
        assert is_close(answer, (await fresh.step(StepRequest(hidden))).hidden)


async def test_closing_a_session_waits_for_no_push_though_no_more_steps_would_be_read(server, host):
    client = await first_step(host, server, StepRequest(hidden_states(1, 3), opening()))
    for number in range(4):
        await client.send(StepRequest(None, awaited=Awaited(number, 1, 1)))
    await client.close()


async def test_stream_that_never_sends_is_closed_without_a_word(network, blocks):
    async with serve(network, blocks=blocks, limits=ServingLimits(opening_timeout_s=0.01)) as server:
        mute = await Client.open(network.start(), server)
        assert await mute.stream.receive(timeout_s=120) is None


async def test_session_that_falls_silent_is_closed_without_a_word(network, blocks):
    async with serve(network, blocks=blocks, limits=ServingLimits(step_timeout_s=0.01)) as server:
        client = await sent_to(server, network.start(), StepRequest(hidden_states(1, 3), opening()))
        await to_the_end(client)
        await until(lambda: server.used_pages == 0)


async def test_session_that_is_too_old_is_told_to_replay_elsewhere(network, blocks):
    async with serve(network, blocks=blocks, limits=ServingLimits(session_timeout_s=0.01)) as server:
        client = await sent_to(server, network.start(), StepRequest(hidden_states(1, 3), opening()))
        assert await refusal(client) is Code.ROLLBACK


async def test_session_that_was_told_to_end_does_not_wait_for_an_answer_that_never_leaves(server, host, monkeypatch):
    monkeypatch.setattr(session_stream, "_LAST_STEP_S", 0.05)
    client = await first_step(host, server, StepRequest(hidden_states(1, 3), opening()))
    (session,) = server.serving.sessions._sessions
    monkeypatch.setattr(session.stream, "send_now", Mock(return_value=False))
    monkeypatch.setattr(session.stream, "send", lambda *pieces, timeout_s: asyncio.Event().wait())
    await client.send(StepRequest(hidden_states(1, 1)))
    await until(lambda: session._answers.waiting)
    session.end(RemoteError(Code.ROLLBACK, "it is too old"))
    assert await refusal(client) is Code.ROLLBACK
    await until(lambda: server.used_pages == 0 and len(server.serving.sessions) == 0)


async def test_client_that_does_not_read_is_dropped_and_blocks_nobody(network, blocks, host, monkeypatch):
    monkeypatch.setattr(frames, "UNREAD_S", 0.5)
    async with serve(network, blocks=blocks) as server:
        deaf = await first_step(host, server, StepRequest(hidden_states(1, 1), opening()))
        server_end = asyncio.create_task(flood(deaf))
        other = await first_step(network.start(), server, StepRequest(hidden_states(1, 1), opening()))
        await other.step(StepRequest(hidden_states(1, 1)))
        await server_end
        await until(lambda: len(server.serving.sessions) == 1)
        await other.step(StepRequest(hidden_states(1, 1)))
        await until(lambda: server.used_pages == 1)


async def flood(deaf: Client) -> None:
    """Send steps and never read an answer, until the server hangs up."""
    with contextlib.suppress(RemoteError):
        while True:
            await deaf.send(StepRequest(hidden_states(1, 1), start_from_position=0))
