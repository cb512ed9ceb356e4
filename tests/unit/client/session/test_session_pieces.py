"""Long steps in pieces, several in flight at all servers: the local model's tokens, whatever fails."""

import asyncio
from dataclasses import replace

import pytest
import torch
from helpers.block_server import BlockServer
from helpers.client_world import PATIENT, prompt, world
from helpers.misdeeds import Once, kill
from transformers import PreTrainedModel

from potluck.client.calls import StepStream
from potluck.client.session import pieces
from potluck.client.session.history import History, Piece
from potluck.client.session.pieces import Answered, Course, is_long, piece_tokens
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepRequest

GREEDY = {"max_new_tokens": 4, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
LONG = 100  # tokens


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pieces of one page worth it."""
    monkeypatch.setattr(pieces, "_LEAST_TOKENS", 16)


def tokens_of(server: BlockServer) -> list[int]:
    return [step.hidden.shape[1] for step in server.steps if step.hidden is not None]


def test_pieces_are_whole_pages_and_not_too_many() -> None:
    assert [piece_tokens(tokens, 1) for tokens in (10, 200, 1000, 4000)] == [16, 16, 64, 256]
    assert piece_tokens(2000, 4) == 128
    assert [is_long(tokens, 1) for tokens in (1, 24, 25, 4000)] == [False, False, True, True]


async def test_a_course_says_whether_its_inputs_come() -> None:
    history = History()
    course = Course(history, 1, 0, 5, 2, lambda *_: None, grows=True)
    course.add_inputs(answered(0, was_pushed=False))
    course.add_inputs(answered(2, was_pushed=True))
    assert history.length == 4
    assert course.pushed == {2}
    waiting = asyncio.create_task(course.until(lambda: course.is_cut_short))
    await asyncio.sleep(0)
    assert not waiting.done()
    course.stop()
    await waiting


def answered(position: int, *, was_pushed: bool) -> Answered:
    hidden = torch.zeros(1, 2, 4)
    return Answered(Piece(position, position + 2, None, None, 0.0, None, 0), position, hidden, hidden, was_pushed, 0.0)


def test_every_server_gets_the_prompt_in_pieces(local: PreTrainedModel) -> None:
    text = prompt(batch=2, tokens=LONG)
    with world("0:1", "1:2", "2:4") as there:
        assert torch.equal(there.model.generate(text, **GREEDY), local.generate(text, **GREEDY))
        assert [tokens_of(server) for server in there.servers] == [[16] * 6 + [4, 1, 1, 1]] * 3


def test_servers_compute_while_the_one_before_does(local: PreTrainedModel) -> None:
    """The last server begins before the first one has seen the end of the prompt."""
    order: list[int] = []

    def note(server: BlockServer, request: StepRequest) -> None:
        order.append(there.servers.index(server))

    with world("0:2", "2:4") as there:
        for server in there.servers:
            server.on_step = note
            server.delay_s = lambda server: 0.01
        there.model.generate(prompt(tokens=LONG), **GREEDY)
    assert order.index(1) < 6  # of seven pieces


def test_an_exact_session_sends_prompts_whole(local: PreTrainedModel) -> None:
    text = prompt(tokens=LONG)
    with world("0:2", "2:4", config=replace(PATIENT, exact=True)) as there:
        assert torch.equal(there.model.generate(text, **GREEDY), local.generate(text, **GREEDY))
        assert tokens_of(there.servers[0])[0] == LONG


@pytest.mark.parametrize(("place", "at"), [(0, 1), (2, 4)])
def test_a_server_that_dies_in_a_long_prompt_changes_no_token(local: PreTrainedModel, place: int, at: int) -> None:
    text = prompt(tokens=LONG)
    lost = Once(kill, when=lambda server, request: server.blocks.span.start == place and len(server.steps) == at)
    with world("0:1", "1:2", "2:4", "0:1", "1:2", "2:4") as there:
        for server in there.servers:
            server.on_step = lost
        assert torch.equal(there.model.generate(text, **GREEDY), local.generate(text, **GREEDY))
        others = [server for server in there.serving() if server.blocks.span.start != place]
        assert len(there.replaced()) == 1
        assert all(sum(tokens_of(server)) == LONG + 3 for server in others)  # nobody else begins again


def test_a_replay_asks_for_no_outputs_that_are_known(local: PreTrainedModel) -> None:
    text = prompt(tokens=LONG)

    lost = Once(kill, when=lambda server, request: len(server.steps) == 9)
    with world("0:2", "2:4", "2:4", config=replace(PATIENT, audits="off")) as there:
        for server in there.servers[1:]:
            server.on_step = lost
        assert torch.equal(there.model.generate(text, **GREEDY), local.generate(text, **GREEDY))
        (replacement,) = [server for server in there.serving() if server.blocks.span.start == 2]
        asked = [step.answer_tokens for step in replacement.steps]
    assert lost.culprit is not None
    assert asked == [0] * 6 + [1, None]


def test_a_piece_that_is_answered_before_its_last_byte_has_left_is_not_lost_with_the_stream(
    local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, send, broke = prompt(tokens=LONG), StepStream.send, asyncio.Event()

    async def break_off(stream: StepStream, request: StepRequest, *, has_reader: bool = False) -> None:
        await send(stream, request, has_reader=has_reader)
        is_last = stream._peer != there.servers[0].peer_id and request.start_from_position == 96
        if has_reader and is_last and not broke.is_set():
            broke.set()
            await asyncio.sleep(0.2)  # until it is answered
            raise RemoteError(Code.UNREACHABLE, "the connection broke")

    monkeypatch.setattr(StepStream, "send", break_off)
    with world("0:2", "2:4", "2:4") as there:
        assert torch.equal(there.model.generate(text, **GREEDY), local.generate(text, **GREEDY))
    assert broke.is_set()
