"""A session whose first answer is late is opened at another server, too; whoever answers first has it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import torch
from helpers.block_server import BlockServer
from helpers.client_world import World, prompt, world
from transformers import PreTrainedModel

from potluck.client import hop
from potluck.protocol.codes import Code, RemoteError
from potluck.routing import opening_silence_s

GREEDY = {"max_new_tokens": 5, "do_sample": False}
NEVER_S = 600.0
Delay = Callable[[BlockServer], float]


def first_is_late(there: World, span: str, late_s: float, other: Delay = lambda server: 0.0) -> list[BlockServer]:
    """Let the first server of `span` that gets a step answer after `late_s`; return a list that will hold it."""
    found: list[BlockServer] = []

    def delay_s(server: BlockServer) -> float:
        if not found:
            found.append(server)
            return late_s
        return 0.0 if server is found[0] else other(server)

    for server in there.servers:
        if str(server.blocks.span) == span:
            server.delay_s = delay_s
    return found


@pytest.fixture(autouse=True)
def calm() -> None:
    """Let servers be late here."""


@pytest.mark.parametrize(("span", "tokens"), [("0:2", 400), ("2:4", 7)])
def test_another_server_that_answers_first_takes_the_session(local: PreTrainedModel, span: str, tokens: int) -> None:
    with world("0:2", "0:2", "2:4", "2:4", max_batch_tokens=512) as there:
        late = first_is_late(there, span, NEVER_S)
        text = prompt(tokens=tokens)
        assert torch.equal(there.model.generate(text, **GREEDY), local.generate(text, **GREEDY))
        (route,) = there.model.last_route()
        assert [hop.peer_id for hop in route.replaced] == [late[0].peer_id]
        assert late[0].peer_id not in [hop.peer_id for hop in route.hops]
        (rival,) = [server for server in there.serving() if str(server.blocks.span) == span]
        first, second = rival.steps[:2]
        assert (first.hidden.shape[1], second.start_from_position) == (1, 0), "one token, which is taken back"


def test_the_session_at_the_late_server_is_closed() -> None:
    with world("0:4", "0:4") as there:
        late = first_is_late(there, "0:4", 3.0)
        there.model.generate(prompt(), **GREEDY)
        assert late[0] not in there.serving()
        there.client.run(late[0].wait_idle())
        assert len(late[0].steps) == 1


def refusing(server: BlockServer) -> float:
    raise RemoteError(Code.NO_MEMORY, "full")


@pytest.mark.parametrize("other", [lambda server: NEVER_S, refusing])
def test_a_late_server_keeps_the_session_if_the_other_does_no_better(local: PreTrainedModel, other: Delay) -> None:
    with world("0:4", "0:4") as there:
        late = first_is_late(there, "0:4", 1.5, other)
        assert torch.equal(there.model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))
        assert there.serving() == late
        assert not there.model.last_route()[0].replaced
        (rival,) = [server for server in there.servers if server is not late[0]]
        assert len(rival.steps) == 1


def test_a_server_that_is_in_time_has_no_rival(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hop, "opening_silence_s", lambda *_: 600.0)
    with world("0:4", "0:4") as there:
        there.model.generate(prompt(), **GREEDY)
        assert sorted(bool(server.steps) for server in there.servers) == [False, True]


def test_the_time_follows_from_the_way_the_work_and_the_bytes() -> None:
    near = opening_silence_s(0.01, 0.0, 10_000)
    assert near == opening_silence_s(0.001, 0.0, 10_000) < 0.5
    assert opening_silence_s(0.3, 0.0, 10_000) > 1.2
    assert opening_silence_s(0.01, 2.0, 10_000) > 8
    assert opening_silence_s(0.01, 0.0, 5_000_000) > 8


def test_a_successor_that_is_prepared_in_the_background_has_no_rival() -> None:
    one = {"max_new_tokens": 1, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    with world("0:4", "0:4", "0:4") as there, there.model.session(max_length=200) as session:
        text = there.model.generate(prompt(), session=session, **one)
        (leaving,) = there.serving()
        others = [server for server in there.servers if server is not leaving]
        for server in others:
            server.delay_s = lambda server: 1.0 if len(server.steps) == 1 else 0.0
        leaving.is_leaving = True
        for _ in range(100):
            if there.model.last_route()[0].replaced:
                break
            text = there.model.generate(text, session=session, **one)
            threading.Event().wait(0.05)
        openings = [step for server in there.servers for step in server.steps if step.opening is not None]
        assert len(openings) == 2
