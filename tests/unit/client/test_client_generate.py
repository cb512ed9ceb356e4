"""A model in a swarm generates what the local one does, whatever way of generating is asked for."""

from __future__ import annotations

import pytest
import torch
from helpers.client_world import prompt, world
from transformers import PreTrainedModel, StoppingCriteria, StoppingCriteriaList
from transformers.generation.streamers import BaseStreamer

from potluck.errors import UsageError

GREEDY = {"max_new_tokens": 8, "do_sample": False}


class Collected(BaseStreamer):
    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.is_ended = False

    def put(self, value: torch.Tensor) -> None:
        self.tokens += value.flatten().tolist()

    def end(self) -> None:
        self.is_ended = True


def test_greedy_tokens_equal_the_local_model(local: PreTrainedModel) -> None:
    with world("0:2", "2:3", "3:4") as there:
        assert torch.equal(there.model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))


def test_sampling_draws_the_same_with_the_same_seed(local: PreTrainedModel) -> None:
    options = {"max_new_tokens": 8, "do_sample": True, "top_k": 20, "temperature": 1.5}
    with world("0:4") as there:
        torch.manual_seed(5)
        got = there.model.generate(prompt(), **options)
        torch.manual_seed(5)
        assert torch.equal(got, local.generate(prompt(), **options))


@pytest.mark.parametrize("beams", [2, 3])
def test_beam_search_reorders_the_servers_caches(local: PreTrainedModel, beams: int) -> None:
    options = {"max_new_tokens": 8, "num_beams": beams, "num_return_sequences": beams, "do_sample": False}
    with world("0:2", "2:4") as there:
        got = there.model.generate(prompt(batch=2), **options)
        assert torch.equal(got, local.generate(prompt(batch=2), **options))
        assert any(step.hypo_ids is not None for step in there.servers[0].steps)


def test_streamers_and_stopping_criteria_work(local: PreTrainedModel) -> None:
    class AfterThree(StoppingCriteria):
        def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **kwargs: object) -> torch.Tensor:
            return torch.full((len(input_ids),), input_ids.shape[1] >= 10)

    streamer = Collected()
    with world("0:4") as there:
        criteria = StoppingCriteriaList([AfterThree()])
        got = there.model.generate(prompt(), **GREEDY, streamer=streamer, stopping_criteria=criteria)
    assert got.shape[1] == 10
    assert streamer.tokens == got.flatten().tolist()
    assert streamer.is_ended


def test_generation_without_a_cache_runs_everything_each_time(local: PreTrainedModel) -> None:
    with world("0:2", "2:4") as there:
        got = there.model.generate(prompt(), **GREEDY, use_cache=False)
        assert torch.equal(got, local.generate(prompt(), **GREEDY))
        assert not there.servers[0].steps


def test_inputs_may_be_embeddings(local: PreTrainedModel) -> None:
    with world("0:4") as there, torch.no_grad():
        embeddings = there.model.get_input_embeddings()(prompt())
        got = there.model.generate(inputs_embeds=embeddings, **GREEDY)
        assert torch.equal(got, local.generate(inputs_embeds=embeddings, **GREEDY))


def test_rows_padded_on_the_left_equal_the_local_model_and_padding_is_never_sent(local: PreTrainedModel) -> None:
    text = prompt(batch=4, tokens=9)
    mask = torch.ones_like(text)
    for row, pads in enumerate([0, 4, 2, 4]):
        text[row, :pads], mask[row, :pads] = 0, 0
    options = {**GREEDY, "attention_mask": mask, "pad_token_id": 0}
    with world("0:2", "2:4") as there:
        assert torch.equal(there.model.generate(text, **options), local.generate(text, **options))
        sent = sorted(tuple(step.hidden.shape[:2]) for step in there.servers[0].steps if step.opening)
        assert sent == [(1, 7), (1, 9), (2, 5)]


def test_beams_of_rows_with_different_padding_stay_apart(local: PreTrainedModel) -> None:
    text = prompt(batch=2, tokens=6)
    mask = torch.ones_like(text)
    text[1, :3], mask[1, :3] = 0, 0
    options = {"max_new_tokens": 6, "num_beams": 2, "do_sample": False, "attention_mask": mask, "pad_token_id": 0}
    with world("0:4") as there:
        assert torch.equal(there.model.generate(text, **options), local.generate(text, **options))


@pytest.mark.parametrize(
    ("mask", "says"), [([[1, 1, 1, 0]], "right"), ([[1, 0, 1, 1]], "holes"), ([[0, 0, 0, 0]], "no tok")]
)
def test_padding_that_the_wire_cannot_express_is_refused(mask: list[list[int]], says: str) -> None:
    with world("0:4") as there, pytest.raises(UsageError, match=says):
        there.model.generate(prompt(tokens=4), **GREEDY, attention_mask=torch.tensor(mask), pad_token_id=0)


def test_long_prompts_go_in_pieces_that_servers_take(local: PreTrainedModel) -> None:
    text = prompt(batch=2, tokens=30)
    with world("0:2", "2:4", max_batch_tokens=16) as there:
        assert torch.equal(there.model.generate(text, **GREEDY), local.generate(text, **GREEDY))
        assert [step.hidden.shape[1] for step in there.servers[0].steps][:4] == [8, 8, 8, 6]


def test_prompts_may_be_prefilled_in_chunks_by_transformers(local: PreTrainedModel) -> None:
    text, mask = prompt(batch=2, tokens=11), torch.ones(2, 11, dtype=torch.int64)
    text[1, :2], mask[1, :2] = 0, 0
    options = {**GREEDY, "attention_mask": mask, "pad_token_id": 0}
    with world("0:2", "2:4") as there:
        got = there.model.generate(text, **options, prefill_chunk_size=4)
        assert torch.equal(got, local.generate(text, **options))


def test_a_step_of_no_tokens_gives_no_tokens() -> None:
    with world("0:4") as there, torch.no_grad():
        cache = there.model.new_cache(10)
        there.model(prompt(), past_key_values=cache)
        assert there.model.blocks(torch.zeros(1, 0, 64), past_key_values=cache).shape == (1, 0, 64)


def test_logits_equal_the_local_model_within_rounding(local: PreTrainedModel) -> None:
    with world("0:2", "2:4") as there, torch.no_grad():
        got, want = there.model(prompt(batch=3)).logits, local(prompt(batch=3)).logits
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


def test_a_cache_of_another_kind_is_refused() -> None:
    from transformers import DynamicCache

    with world("0:4") as there, pytest.raises(UsageError, match="DynamicCache"):
        there.model.generate(prompt(), **GREEDY, past_key_values=DynamicCache())
