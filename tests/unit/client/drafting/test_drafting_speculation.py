"""Drafted tokens save round trips and change nothing else, whatever way of generating is asked for."""

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from helpers.block_server import BlockServer
from helpers.client_world import PATIENT, World, prompt, world
from helpers.misdeeds import Once, freeze
from helpers.streamers import At
from helpers.tiny_models import FAMILIES
from transformers import LogitsProcessor, LogitsProcessorList, PreTrainedModel

from potluck.blocks.cache.session_cache import rolls_back
from potluck.client.drafting.payoff import DraftCost, StepTimes
from potluck.protocol.messages import StepRequest
from potluck.routing.experience import Pace

DRAFTS = {"prompt_lookup_num_tokens": 8}
the_pace_of_servers = Pace.patience
START = [10, 11, 12, 13, 14, 15, 16, 17, 20]


class Scripted(LogitsProcessor):
    """Makes a model write these tokens after the prompt, and then what it likes."""

    def __init__(self, tokens: Sequence[int], prompt_tokens: int) -> None:
        self._tokens, self._prompt_tokens = tokens, prompt_tokens

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        at = input_ids.shape[1] - self._prompt_tokens
        if at < len(self._tokens):
            scores = scores.clone()
            scores[:, self._tokens[at]] += 1000
        return scores


# Copies the prompt's beginning, leaves it, copies again: right drafts, half right ones and wrong ones.
SCRIPT = [10, 11, 12, 13, 14, 15, 16, 17, 20, 10, 11, 30, 13, 14, 15, 40, 10, 11, 12, 13, 14, 41, 42, 43]


def options(**more: object) -> dict[str, object]:
    script = LogitsProcessorList([Scripted(SCRIPT, len(START))])
    return {"max_new_tokens": 30, "do_sample": False, "logits_processor": script, "eos_token_id": None} | more


def sent(there: World) -> list[tuple[int, int]]:
    """Where each step of the first server began, and its tokens."""
    return [(step.start_from_position, step.hidden.shape[1]) for step in there.servers[0].steps]


def text() -> torch.Tensor:
    return torch.tensor([START])


def test_drafts_take_fewer_steps_and_give_the_same_tokens(local: PreTrainedModel) -> None:
    streamer = At()
    with world("0:2", "2:4") as there:
        got = there.model.generate(text(), **options(**DRAFTS, streamer=streamer))
        assert torch.equal(got, local.generate(text(), **options()))
        assert streamer.tokens == got[0].tolist()
        steps = sent(there)
        assert len(steps) <= 22, "30 tokens took as many steps as without drafts"
        ends = [start + count for start, count in steps]
        assert any(start < end for (start, _), end in zip(steps[1:], ends, strict=False)), "nothing was taken back"
        assert max(ends) < len(START) + 30, "no server has to hold more than the text"
        assert len(there.servers[0].steps) == len(there.servers[1].steps)


def test_a_streamer_that_ends_a_generation_leaves_a_session_that_goes_on(local: PreTrainedModel) -> None:
    def fail() -> None:
        raise InterruptedError

    streamer = At(7, fail)
    with world("0:4") as there, there.model.session(max_length=60) as session:
        with pytest.raises(InterruptedError):
            there.model.generate(text(), session=session, **options(**DRAFTS, streamer=streamer))
        so_far = torch.tensor([streamer.tokens])
        assert session.position < so_far.shape[1]
        got = there.model.generate(so_far, session=session, max_new_tokens=5, do_sample=False)
    assert torch.equal(got, local.generate(so_far, max_new_tokens=5, do_sample=False))


def test_scores_are_those_of_plain_decoding(local: PreTrainedModel) -> None:
    told = {"return_dict_in_generate": True, "output_scores": True, "output_logits": True}
    with world("0:4") as there:
        got = there.model.generate(text(), **options(**DRAFTS, **told))
    want = local.generate(text(), **options(**told))
    assert torch.equal(got.sequences, want.sequences)
    torch.testing.assert_close(torch.stack(got.scores), torch.stack(want.scores), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(torch.stack(got.logits), torch.stack(want.logits), rtol=1e-4, atol=1e-4)


def test_exact_clients_never_speculate() -> None:
    with world("0:4", config=replace(PATIENT, exact=True)) as there:
        there.model.generate(text(), **options(**DRAFTS))
        assert [count for _, count in sent(there)][1:] == [1] * 29


def test_a_small_model_may_draft(local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepTimes, "estimate", lambda _: DraftCost(1.0, 0.0, 0.001))  # far away
    with world("0:2", "2:4") as there:
        got = there.model.generate(prompt(), max_new_tokens=20, do_sample=False, assistant_model=local)
        assert torch.equal(got, local.generate(prompt(), max_new_tokens=20, do_sample=False))
        assert max(tokens for _, tokens in sent(there)[1:]) > 1
        torch.manual_seed(3)
        drawn = {"max_new_tokens": 20, "do_sample": True, "top_k": 3, "temperature": 0.2}
        got = there.model.generate(prompt(), assistant_model=local, **drawn)
        torch.manual_seed(3)
        assert torch.equal(got, local.generate(prompt(), **drawn))


def test_a_small_model_is_not_asked_where_servers_are_as_fast(
    local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StepTimes, "estimate", lambda _: DraftCost(0.01, 0.0, 0.001))
    with world("0:4") as there:
        asked = []
        slowly = local.register_forward_pre_hook(lambda *_: asked.append(time.sleep(0.05)))
        got = there.model.generate(prompt(), max_new_tokens=20, do_sample=False, assistant_model=local)
        slowly.remove()
        steps = len(sent(there))
    assert len(asked) < 20
    assert steps > 10
    assert torch.equal(got, local.generate(prompt(), max_new_tokens=20, do_sample=False))


@pytest.mark.parametrize(("family", "drafts"), [("llama", True), ("mistral_sliding", True), ("qwen3_next", False)])
def test_models_that_cannot_go_back_cheaply_are_known(family: str, drafts: bool) -> None:
    assert rolls_back(FAMILIES[family]()) == drafts


def test_a_server_that_freezes_at_a_draft_is_replaced_as_fast_as_at_a_token(
    local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_draft(server: BlockServer, request: StepRequest) -> bool:
        is_draft = request.hidden is not None and request.opening is None and request.hidden.shape[1] > 1
        return is_draft and len(server.steps) > 6

    frozen = Once(freeze, when=is_draft)
    monkeypatch.setattr(Pace, "patience", the_pace_of_servers)
    longest = dict.fromkeys(("request_timeout_s", "max_wait_s", "silence_before_ping_s", "ping_timeout_s"), 3600.0)
    with world("0:4", "0:4", config=replace(PATIENT, **longest)) as there:  # nothing but its pace tells
        for server in there.servers:
            server.on_step = frozen
        got = there.model.generate(text(), **options(**DRAFTS))
    assert frozen.culprit is not None
    assert torch.equal(got, local.generate(text(), **options()))
