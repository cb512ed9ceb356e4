"""Stateless calls and questions, on the fake network: values, membership, hostile input."""

import asyncio
import threading
import time
from collections.abc import Generator
from typing import TypeVar
from unittest.mock import Mock

import pytest
import torch
from helpers.engine_peers import Client, Server, call, hidden_states, load, opening, refused_with, serve, until
from helpers.fake_network import FakeHost
from potluck_control.processes.launch_spec import ServingLimits
from potluck_engine.compute.loaded_blocks import LoadedBlocks
from potluck_engine.compute.passes import KEEP_S, CallInputs, Gradients, KeptPasses, PassKey
from potluck_engine.compute.steps import CPU_PIECE_S, Call
from torch import Tensor

from potluck.blocks.span.block_span import BlockSpan
from potluck.protocol.blocks import PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import BackwardRequest, Caller, ForwardRequest, StepRequest, TensorReply
from potluck.wire import protocols
from potluck.wire.calls import CallRequest
from potluck.wire.packing import pack
from potluck.wire.tensors import encode_parts

SPAN = Span(0, 2)
T = TypeVar("T")


async def ask(host: FakeHost, server: Server, request: CallRequest) -> TensorReply:
    return await call(host, server.host.peer_id, request)


def local_gradients(hidden: Tensor, grad: Tensor, prompts: Tensor | None) -> tuple[Tensor, ...]:
    leaves = [hidden.clone().requires_grad_(), *([] if prompts is None else [prompts.clone().requires_grad_()])]
    output = load(SPAN).forward(leaves[0], None, leaves[1] if prompts is not None else None)
    return torch.autograd.grad(output, leaves, grad)


@pytest.mark.parametrize(
    ("piece_tokens", "prompt_rows"), [(1, 1), (6, 4), (10_000, 0)], ids=["row by row", "block by block", "at once"]
)
async def test_pieces_change_no_result(network, blocks, piece_tokens, prompt_rows, host):
    hidden, grad = hidden_states(4, 6), hidden_states(4, 6, seed=1)
    prompts = hidden_states(2 * prompt_rows, 3, seed=2).view(2, prompt_rows, 3, 64) if prompt_rows else None
    with torch.inference_mode():
        expected = load(SPAN).forward(hidden, None, prompts)
    async with serve(network, blocks=blocks, limits=ServingLimits(piece_tokens=piece_tokens)) as server:
        output = await ask(host, server, ForwardRequest("golden", SPAN, hidden, prompts))
        assert torch.allclose(output.tensors[0], expected, rtol=1e-5, atol=1e-4)
        gradients = await ask(host, server, BackwardRequest("golden", SPAN, hidden, grad, prompts))
        for mine, theirs in zip(gradients.tensors, local_gradients(hidden, grad, prompts), strict=True):
            assert torch.allclose(mine, theirs, rtol=1e-5, atol=1e-3)


def _result(pieces: Generator[None, None, Gradients]) -> Gradients:
    while True:
        try:
            next(pieces)
        except StopIteration as done:
            return done.value


def _durations(pieces: Generator[None, None, T], clock: Mock) -> tuple[T, list[float]]:
    """Return the result, and how long each piece took."""
    took_s, begin = [], clock.monotonic()
    while True:
        try:
            next(pieces)
        except StopIteration as done:
            return done.value, took_s
        took_s.append(clock.monotonic() - begin)
        begin = clock.monotonic()


def test_pieces_take_no_longer_than_a_game_may_wait_as_far_as_their_pace_tells(monkeypatch):
    """And gradients belong to the rows that a forward kept, though rows are cut otherwise by then."""
    forward, pace_s, clock = BlockSpan.forward, 0.01, Mock(now=0.0)
    clock.monotonic = lambda: clock.now

    def slow(blocks: BlockSpan, hidden: Tensor, *args: object) -> Tensor:
        clock.now += pace_s * hidden.shape[0] * hidden.shape[1] * len(blocks.span)
        return forward(blocks, hidden, *args)

    monkeypatch.setattr("potluck_engine.compute.loaded_blocks.time", clock)
    monkeypatch.setattr(BlockSpan, "forward", slow)
    span, key = Span(0, 4), PassKey(PersonId("p"), Span(0, 4), None, None)
    hidden, grad = hidden_states(8, 16), hidden_states(8, 16, seed=1)
    blocks, unbound = (LoadedBlocks(load(span), piece_tokens=512) for _ in range(2))
    monkeypatch.setattr(unbound, "_learn", Mock())

    whole, *_ = _durations(blocks.adapted(None, blocks.forward(CallInputs(span, hidden))), clock)
    output, took_s = _durations(blocks.adapted(None, blocks.forward(CallInputs(span, hidden), key)), clock)
    assert max(took_s) <= CPU_PIECE_S
    assert len(took_s) > 4, "it is cut by rows, too, so that the gradients of a piece end in time"
    torch.testing.assert_close(output, whole, rtol=1e-5, atol=1e-5)

    pace_s = 1e-6
    _durations(blocks.adapted(None, blocks.forward(CallInputs(span, hidden))), clock)
    found, took_s = _durations(blocks.adapted(None, blocks.backward(CallInputs(span, hidden), grad, key)), clock)
    wanted, _ = _durations(unbound.adapted(None, unbound.backward(CallInputs(span, hidden), grad)), clock)
    torch.testing.assert_close(found.hidden, wanted.hidden, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("kept_bytes", "forwards"), [(0, 7), (1 << 30, 4), (20_000, 6)], ids=["none", "all", "one"])
def test_a_backward_keeps_what_fits_and_computes_the_rest_again(monkeypatch, kept_bytes, forwards):
    monkeypatch.setattr("potluck_engine.compute.loaded_blocks._KEPT_BYTES", kept_bytes)
    span = Span(0, 4)
    forward, runs = BlockSpan.forward, _noted_runs(monkeypatch)
    hidden, grad = hidden_states(1, 6), hidden_states(1, 6, seed=1)
    prompts = hidden_states(4, 3, seed=2).view(4, 1, 3, 64)
    pieces = LoadedBlocks(load(span), piece_tokens=5).backward(
        CallInputs(span, hidden, prompts), grad
    )  # one block each
    result = _result(pieces)
    assert len(runs) == forwards
    leaves = [hidden.clone().requires_grad_(), prompts.clone().requires_grad_()]
    expected = torch.autograd.grad(forward(load(span), leaves[0], None, leaves[1]), leaves, grad)
    for got, want in zip((result.hidden, result.prompts), expected, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("room", "has_prompts"), [(1 << 30, True), (60_000, False)], ids=["all", "some"])
async def test_a_forward_that_is_trained_is_not_computed_again(monkeypatch, network, blocks, room, has_prompts):
    monkeypatch.setattr("potluck_engine.compute.loaded_blocks._KEPT_BYTES", room)
    hidden, grad = hidden_states(4, 6), hidden_states(4, 6, seed=1)
    prompts = hidden_states(2, 3, seed=2).view(2, 1, 3, 64) if has_prompts else None
    asked = BackwardRequest("golden", SPAN, hidden, grad, prompts)
    async with serve(network, blocks=blocks, limits=ServingLimits(piece_tokens=18)) as server:
        host, calls = network.start(), server.serving.compute
        want = await ask(host, server, asked)
        plain = await ask(host, server, ForwardRequest("golden", SPAN, hidden, prompts))
        kept = server.serving.call_blocks.kept
        assert kept.num_bytes == 0
        output = await ask(host, server, ForwardRequest("golden", SPAN, hidden, prompts, is_trained=True))
        assert torch.equal(output.tensors[0], plain.tensors[0])
        assert 0 < kept.num_bytes <= room
        runs = _noted_runs(monkeypatch)
        got = await ask(host, server, asked)
        assert len(runs) == 0 if room > 60_000 else runs
        assert kept.num_bytes == 0
        for mine, theirs in zip(got.tensors, want.tensors, strict=True):
            assert torch.equal(mine, theirs)
        assert calls.counts.backward_tokens == 48


async def test_only_the_same_inputs_of_the_same_person_find_a_kept_pass(monkeypatch, network, server, host):
    hidden, grad = hidden_states(1, 6), hidden_states(1, 6, seed=1)
    await ask(host, server, ForwardRequest("golden", SPAN, hidden, is_trained=True))
    runs = _noted_runs(monkeypatch)
    for who, inputs in ((network.start(), hidden), (host, hidden + 1e-3)):
        await ask(who, server, BackwardRequest("golden", SPAN, inputs, grad))
        assert runs, "it was given another's pass"
        runs.clear()
    server.serving.call_blocks.kept.forget()
    await ask(host, server, BackwardRequest("golden", SPAN, hidden, grad))
    assert runs


def test_kept_passes_end_with_time_and_with_their_weights() -> None:
    now = [0.0]
    kept = KeptPasses(lambda: now[0])
    key, hidden = PassKey(PersonId("p"), SPAN, None, None), torch.ones(1)
    kept.add(key, hidden, None, [], num_bytes=1, epoch=kept.epoch)
    now[0] = KEEP_S - 1
    kept.forget_old()
    assert kept.num_bytes == 1
    now[0] = KEEP_S
    kept.forget_old()
    assert kept.pop(key, hidden, None) is None
    began = kept.epoch
    kept.forget()
    kept.add(key, hidden, None, [], num_bytes=1, epoch=began)
    assert kept.num_bytes == 0


def _noted_runs(monkeypatch) -> list[Span]:
    runs: list[Span] = []
    run = BlockSpan.forward

    def noted(part: BlockSpan, *args: object) -> Tensor:
        runs.append(part.span)
        return run(part, *args)

    monkeypatch.setattr(BlockSpan, "forward", noted)
    return runs


async def test_answers_come_in_the_blocks_dtype(network, host):
    async with serve(network, blocks=load(SPAN, torch.bfloat16)) as server:
        request = ForwardRequest("golden", SPAN, hidden_states(1, 3))
        assert (await ask(host, server, request)).tensors[0].dtype is torch.bfloat16
        client = await Client.open(host, server)
        assert (await client.step(StepRequest(hidden_states(1, 3), opening()))).hidden.dtype is torch.bfloat16


async def test_sessions_go_on_while_a_call_computes_and_a_cancelled_call_leaves_the_queue(network, server):
    entered, released = threading.Event(), threading.Event()

    def wait() -> Generator[None, None, None]:
        entered.set()
        assert released.wait(120)
        yield

    host, calls = network.start(), server.serving.compute
    call = Call(None, PersonId("trainer"), 1, 0, 0.0, time.monotonic() + 100.0, pieces=wait(), is_backward=True)
    training = asyncio.create_task(calls.call(call))
    await asyncio.to_thread(entered.wait)
    client = await Client.open(host, server)
    await client.step(StepRequest(hidden_states(1, 2), opening()))
    request = ForwardRequest("golden", SPAN, hidden_states(2, 3))
    cancelled = asyncio.create_task(ask(host, server, request))
    await until(lambda: calls.queued_tokens == 6)
    cancelled.cancel()
    await until(lambda: calls.queued_tokens == 0)
    assert not training.done()
    released.set()
    await training


async def test_large_calls_come_and_go_in_parts(network, blocks, monkeypatch):
    monkeypatch.setattr("potluck.wire.message.PART_BYTES", 10_000)
    hidden, grad = hidden_states(10, 4), hidden_states(10, 4, seed=1)
    async with serve(network, blocks=blocks) as server:
        request = BackwardRequest("golden", SPAN, hidden, grad)
        assert len(list(encode_parts(request))) == 3
        reply = await ask(network.start(), server, request)
        (expected,) = local_gradients(hidden, grad, None)
        assert torch.allclose(reply.tensors[0], expected, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (ForwardRequest("golden", Span(1, 3), hidden_states(1, 2)), Code.NOT_SERVED),
        (ForwardRequest("golden", SPAN, torch.full((1, 2, 64), torch.nan)), Code.BAD_REQUEST),
        (ForwardRequest("golden", SPAN, torch.zeros(1, 300, 64)), Code.TOO_LONG),
        (ForwardRequest("golden", SPAN, hidden_states(1, 2), torch.zeros(3, 1, 1, 64)), Code.BAD_REQUEST),
        (ForwardRequest("golden", SPAN, hidden_states(1, 2), caller=Caller(revision_digest="00")), Code.NOT_SERVED),
    ],
)
async def test_request_that_makes_no_sense_is_refused_before_compute(network, blocks, request_, code, host):
    async with serve(network, blocks=blocks, limits=ServingLimits(max_batch_tokens=256)) as server:
        with refused_with(code):
            await ask(host, server, request_)
        assert (await ask(host, server, ForwardRequest("golden", SPAN, hidden_states(1, 2)))).tensors


async def test_bytes_that_are_no_message_are_refused_by_every_call(server, host):
    for protocol in (protocols.QUOTE, protocols.SETTLE):
        with pytest.raises(RemoteError) as refused:
            await host.call(server.host.peer_id, protocol, b"\x02" * 40, timeout_s=120)
        assert refused.value.code in (Code.BAD_REQUEST, Code.NOT_SERVED)


async def test_stream_call_that_stands_still_is_ended(network, blocks, host):
    async with serve(network, blocks=blocks, limits=ServingLimits(request_timeout_s=0.01)) as server:
        for protocol in (protocols.FORWARD, protocols.BACKWARD):
            stream = await host.open_stream(server.host.peer_id, protocol, timeout_s=120, max_frame_bytes=1 << 20)
            with refused_with(Code.BAD_REQUEST):
                await stream.receive(timeout_s=120)


async def test_hidden_states_travel_packed_there_and_back_for_who_asks_for_it(server, host):
    hidden, packed = pack(hidden_states(4, 6))
    plain = await ask(host, server, ForwardRequest("golden", SPAN, hidden))
    answer = await ask(host, server, ForwardRequest("golden", SPAN, hidden, packed=(packed,), packs=True))
    assert torch.equal(answer.tensors[0], pack(plain.tensors[0]).values)
    assert not torch.equal(answer.tensors[0], plain.tensors[0])


async def test_a_gradient_is_rounded_and_packed_for_who_asks_for_it(server, host):
    hidden, grad = hidden_states(4, 6), hidden_states(4, 6, seed=1) / 8
    (want,) = local_gradients(hidden, grad, None)
    for packs in (False, True):
        reply = await ask(host, server, BackwardRequest("golden", SPAN, hidden, grad, packs=packs))
        error = float((reply.tensors[0] - want).norm() / want.norm())
        assert 1e-4 < error < 0.02 if packs else error < 1e-4
