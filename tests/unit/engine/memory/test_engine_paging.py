"""Pages of sessions as they are served: shared beginnings, reordered rows, spilled sessions, full disks."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest
import torch
from helpers.engine_peers import Client, Server, hidden_states, is_close, local_steps, opening, serve, until
from helpers.fake_network import FakeHost
from helpers.golden import CHECKPOINT
from msgspec.structs import replace
from potluck_control.processes.launch_spec import ServingLimits
from torch import Tensor

from potluck.blocks.span.block_span import load_span
from potluck.checkpoint.source import open_checkpoint
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepRequest

SPAN = Span(0, 2)


@pytest.fixture
def quickly_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potluck_engine.memory.page_admission.IDLE_S", 0.0)


async def open_session(host: FakeHost, server: Server, hidden: Tensor, **options: float) -> Client:
    client = await Client.open(host, server)
    await client.step(StepRequest(hidden, opening(max_length=256, **options)))
    return client


async def test_a_session_that_begins_as_another_computes_only_what_differs(server, host):
    prompt, other, token = hidden_states(1, 40), hidden_states(1, 30, seed=1), hidden_states(1, 1, seed=2)
    longer = torch.cat([prompt[:, :32], other], dim=1)
    first = await open_session(host, server, prompt)
    await first.close()
    second = await Client.open(host, server)
    reply = await second.step(StepRequest(longer, opening(max_length=256)))
    counted = server.serving.metrics()
    assert (counted.prefill_tokens, counted.shared_tokens) == (40 + 30, 32)
    expected, after = local_steps(longer, token)
    assert is_close(reply.hidden, expected)
    assert is_close((await second.step(StepRequest(token))).hidden, after)
    third = await Client.open(host, server)
    again = await third.step(StepRequest(longer[:, :48], opening(max_length=256)))
    assert torch.equal(again.hidden, reply.hidden[:, :48])
    assert server.serving.metrics().prefill_tokens == counted.prefill_tokens  # nothing at all
    assert is_close((await third.step(StepRequest(token))).hidden, local_steps(longer[:, :48], token)[1])


async def test_a_beginning_that_comes_in_pieces_is_kept_whole(network, blocks):
    prompt = hidden_states(1, 100, seed=9)
    async with serve(network, blocks=blocks) as server:
        host, answers = network.start(), []
        for bounds in ((0, 32, 64, 100), (0, 100)):
            client = await Client.open(host, server)
            pieces = [
                StepRequest(prompt[:, start:end], None if start else opening(max_length=256))
                for start, end in pairwise(bounds)
            ]
            outputs = [(await client.step(piece)).hidden for piece in pieces]
            answers.append(torch.cat(outputs, dim=1))
            await client.close()
        counted = server.serving.metrics()
    assert counted.shared_tokens == 96
    torch.testing.assert_close(answers[0], answers[1], rtol=1e-5, atol=1e-4)  # other rows in a step round otherwise


async def test_beginnings_are_not_shared_with_other_clients_spans_or_prompts(network, server, host):
    prompt = hidden_states(1, 32)
    await open_session(host, server, prompt)
    await open_session(network.start(), server, prompt)
    part = await Client.open(host, server)
    await part.step(StepRequest(prompt, opening(Span(0, 1))))
    tuned = await Client.open(host, server)
    reply = await tuned.step(StepRequest(prompt, opening(), prompts=hidden_states(2, 4, seed=3)[:, None]))
    assert server.serving.metrics().shared_tokens == 0
    assert is_close(reply.hidden, *local_steps(prompt, prompts=hidden_states(2, 4, seed=3)[:, None]))


async def test_beginnings_are_not_shared_between_users_whom_a_client_keeps_apart(server, host):
    prompt, asked = hidden_states(1, 32), []
    for user in ("ana", "ben", "ana"):
        client = await Client.open(host, server)
        await client.step(StepRequest(prompt, replace(opening(max_length=256), sharing=user)))
        await client.close()
        asked.append(server.serving.metrics().shared_tokens)
    assert asked == [0, 0, 32]


async def test_beginnings_go_with_a_client_that_vanishes(server, host):
    client = await open_session(host, server, hidden_states(1, 32))
    assert server.serving.compute.page_counts.kept == 0, "the session still holds them"
    await client.stream.close()
    await until(lambda: server.used_pages == 0)
    assert server.serving.compute.page_counts.kept == 0


async def test_kept_beginnings_count_as_free_and_give_way(network, blocks, host):
    async with serve(network, blocks=blocks, limits=ServingLimits(cache_tokens=160)) as server:
        client = await open_session(host, server, hidden_states(1, 32))
        await client.close()
        await until(lambda: server.used_pages == 0)
        assert server.serving.compute.page_counts.kept == 2
        assert server.serving.compute.free_tokens == 160
        await open_session(host, server, hidden_states(1, 160, seed=1))
        assert server.serving.compute.page_counts.kept == 0


async def test_reordered_rows_share_pages_instead_of_copying_them(network, blocks, host):
    prompt, token = hidden_states(4, 33), hidden_states(4, 1, seed=1)
    async with serve(network, blocks=blocks, limits=ServingLimits(cache_tokens=16 * 40)) as server:
        client = await open_session(host, server, prompt)
        assert server.used_pages == 4 * 3
        order = torch.tensor([1, 1, 1, 1])
        reply = await client.step(StepRequest(token, hypo_ids=order))
        expected = local_steps(prompt[1:2].expand(4, -1, -1), token)[1]
        assert is_close(reply.hidden, expected)
        assert server.used_pages == 2 + 4  # two full ones for all, and the last one for each


@pytest.mark.usefixtures("quickly_idle")
async def test_an_idle_session_makes_room_and_goes_on_where_it_was(network, blocks, tmp_path, host):
    prompt, token = hidden_states(2, 35), hidden_states(2, 1, seed=1)
    async with serve(network, blocks=blocks, limits=ServingLimits(cache_tokens=128), spill_folder=tmp_path) as server:
        idle = await open_session(host, server, prompt)
        busy = await open_session(network.start(), server, hidden_states(1, 60, seed=2))
        counted = server.serving.metrics()
        assert (counted.spills, counted.returns, counted.pages.spilled) == (1, 0, 6)
        await busy.close()
        reply = await idle.step(StepRequest(token))
        assert is_close(reply.hidden, local_steps(prompt, token)[1])
        counted = server.serving.metrics()
        assert (counted.returns, counted.pages.spilled, counted.pages.used) == (1, 0, 6)
        assert list(tmp_path.iterdir()) == []
        await idle.close()
        await until(lambda: server.used_pages == 0)


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can grow beyond 4 KiB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("quickly_idle")
async def test_a_full_disk_costs_the_newcomer_its_place_and_nobody_else_anything(network, blocks, tmp_path, caplog):
    prompt, token = hidden_states(1, 90), hidden_states(1, 1, seed=1)
    async with serve(network, blocks=blocks, limits=ServingLimits(cache_tokens=128), spill_folder=tmp_path) as server:
        idle = await open_session(network.start(), server, prompt)
        newcomer = await Client.open(network.start(), server)
        with full_disk():
            await newcomer.send(StepRequest(hidden_states(1, 60, seed=2), opening(max_length=256, alloc_timeout_s=60)))
            await until(lambda: "cannot be spilled" in caplog.text)
        reply = await idle.step(StepRequest(token))
        assert is_close(reply.hidden, local_steps(prompt, token)[1])
        await idle.close()
        await newcomer.answer((1, 60, 64))


@pytest.mark.usefixtures("quickly_idle")
async def test_a_session_that_runs_alone_counts_and_keeps_its_place(network, blocks, tmp_path, host):
    async with serve(network, blocks=blocks, limits=ServingLimits(cache_tokens=128), spill_folder=tmp_path) as server:
        exact = await Client.open(host, server)
        await exact.step(StepRequest(hidden_states(1, 100), opening(max_length=256, exact=True)))
        assert server.used_pages == 7
        await exact.step(StepRequest(hidden_states(1, 1), start_from_position=20))
        assert server.used_pages == 2
        await exact.close()
        await until(lambda: server.used_pages == 0)


async def test_exact_sessions_are_held_as_computed_where_others_are_held_in_int8(network):
    packed = load_span(open_checkpoint(str(CHECKPOINT)), SPAN, cache_quantization="int8")
    prompt, token = hidden_states(1, 40), hidden_states(1, 1, seed=1)
    wanted = local_steps(prompt, token)[1]
    async with serve(network, blocks=packed) as server:
        errors, pages = {}, {}
        for exact in (True, False):
            client = await Client.open(network.start(), server)
            await client.step(StepRequest(prompt, opening(max_length=64, exact=exact)))
            found = (await client.step(StepRequest(token))).hidden
            errors[exact], pages[exact] = float((found - wanted).norm() / wanted.norm()), server.used_pages
            await client.close()
            await until(lambda: server.used_pages == 0)
        assert errors[True] == 0.0
        assert 1e-4 < errors[False] < 2e-2
        assert pages == {True: 11, False: 3}  # 16 numbers of a head take 64 bytes in float32 and 18 in int8


async def test_a_spare_session_loses_its_memory_to_others_until_it_is_one_no_more(network, blocks, host):
    hidden = hidden_states(1, 80)
    async with serve(network, blocks=blocks, limits=ServingLimits(cache_tokens=160)) as server:
        spare, taken = await Client.open(host, server), await Client.open(host, server)
        for client in (spare, taken):
            await client.step(StepRequest(hidden, opening(max_length=256), is_spare=True))
        await taken.step(StepRequest(hidden_states(1, 1), start_from_position=79))
        newcomer = await open_session(network.start(), server, hidden_states(1, 40, seed=1))
        with pytest.raises(RemoteError) as refused:
            await spare.step(StepRequest(hidden_states(1, 1), is_spare=True))
        assert refused.value.code is Code.ROLLBACK
        await taken.step(StepRequest(hidden_states(1, 1)))
        await newcomer.step(StepRequest(hidden_states(1, 1)))
        assert server.serving.metrics().spills == 0
