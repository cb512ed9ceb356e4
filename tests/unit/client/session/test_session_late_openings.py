"""A session whose first answer is late is opened at another server, too; whoever answers first has it."""

import asyncio
from collections.abc import Callable

import pytest
import torch
from helpers.block_server import BlockServer
from helpers.client_world import World, prompt, world
from helpers.misdeeds import Misdeed, Once, freeze, refuse
from transformers import PreTrainedModel

from potluck.client import PromptTuning
from potluck.client.session import hop
from potluck.protocol.codes import Code
from potluck.protocol.messages import StepRequest

GREEDY = {"max_new_tokens": 5, "do_sample": False}


def first_is_late(there: World, span: str, on_rival: Callable[[BlockServer], object] = lambda late: None) -> Once:
    """Freeze the first server of `span` that gets a step, and call `on_rival` with it at the steps of the others."""
    late = Once(freeze)

    def on_step(server: BlockServer, request: StepRequest) -> None:
        late(server, request)
        if late.culprit is not None and server is not late.culprit:
            on_rival(late.culprit)

    for server in there.servers:
        if str(server.blocks.span) == span:
            server.on_step = on_step
    return late


@pytest.fixture(autouse=True)
def calm() -> None:
    """Let servers be late here."""


@pytest.mark.parametrize(("span", "tokens"), [("0:2", 400), ("2:4", 7)])
def test_another_server_that_answers_first_takes_the_session(local: PreTrainedModel, span: str, tokens: int) -> None:
    with world("0:2", "0:2", "2:4", "2:4", max_batch_tokens=512) as there:
        late = first_is_late(there, span)
        text = prompt(tokens=tokens)
        assert torch.equal(there.model.generate(text, **GREEDY), local.generate(text, **GREEDY))
        assert late.culprit is not None
        assert late.culprit.peer_id in [hop.peer_id for hop in there.replaced()]
        assert late.culprit not in there.serving()
        (rival,) = [server for server in there.serving() if str(server.blocks.span) == span]
        first, second = rival.steps[:2]
        assert (first.hidden.shape[1], second.start_from_position) == (1, 0), "one token, which is taken back"


def test_all_servers_of_a_chain_that_answers_first_have_the_deep_prompts() -> None:
    with world("0:4", "0:1", "1:2", "2:3", "3:4", inference_tps=1.0) as there:
        tuning = PromptTuning(there.model, 4, deep=True)
        torch.nn.init.normal_(tuning.deep_prompts, std=3.0, generator=torch.Generator().manual_seed(0))
        want = tuning.generate(prompt(), **GREEDY)
        (whole,) = there.serving()
        late = first_is_late(there, "0:4")
        assert torch.equal(tuning.generate(prompt(), **GREEDY), want)
        assert late.culprit is whole
        assert len(there.serving()) == 4


async def thawed_until_idle(late: BlockServer) -> None:
    late.host.thaw()
    await late.wait_idle()


def test_the_session_at_the_late_server_is_closed() -> None:
    with world("0:4", "0:4") as there:
        late = first_is_late(there, "0:4")
        there.model.generate(prompt(), **GREEDY)
        assert late.culprit is not None
        there.client.run(thawed_until_idle(late.culprit))
        assert len(late.culprit.steps) == 1


@pytest.mark.parametrize("misdeed", [freeze, refuse(Code.NO_MEMORY)], ids=["silent", "full"])
def test_a_late_server_keeps_the_session_if_the_other_does_no_better(local: PreTrainedModel, misdeed: Misdeed) -> None:
    def answer_after_the_rival(late: BlockServer) -> None:
        late.host.thaw()
        (rival,) = [server for server in there.servers if server is not late]
        misdeed(rival, None)

    with world("0:4", "0:4") as there:
        late = first_is_late(there, "0:4", answer_after_the_rival)
        assert torch.equal(there.model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))
        assert there.serving() == [late.culprit]
        assert not there.replaced()
        assert sorted(len(server.steps) > 1 for server in there.servers) == [False, True]


def test_a_server_that_is_in_time_has_no_rival(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hop, "opening_silence_s", lambda *_: 600.0)
    with world("0:4", "0:4") as there:
        there.model.generate(prompt(), **GREEDY)
        assert sorted(bool(server.steps) for server in there.servers) == [False, True]


def test_a_successor_that_is_prepared_in_the_background_has_no_rival(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "potluck.client.audits.auditing.audit_chance", lambda *_: 0.0
    )  # an audit may open a session, too
    one = {"max_new_tokens": 1, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    with world("0:4", "0:4", "0:4") as there, there.model.session(max_length=200) as session:
        text = there.model.generate(prompt(), session=session, **one)
        (leaving,) = there.serving()
        others = [server for server in there.servers if server is not leaving]
        for server in others:
            server.delay_s = lambda server: 1.0 if len(server.steps) == 1 else 0.0
        leaving.is_leaving = True
        for _ in range(100):
            if there.replaced():
                break
            text = there.model.generate(text, session=session, **one)
            there.client.run(asyncio.sleep(0.05))
        openings = [step for server in there.servers for step in server.steps if step.opening is not None]
        assert len(openings) == 2
