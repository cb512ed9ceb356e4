"""What servers are sent while text is generated; test_client_arguments compares all ways of generating."""

import pytest
import torch
from helpers.client_world import prompt, world
from transformers import PreTrainedModel

from potluck.errors import UsageError

GREEDY = {"max_new_tokens": 8, "do_sample": False}


def test_beam_search_reorders_the_servers_caches(local: PreTrainedModel) -> None:
    options = {"max_new_tokens": 8, "num_beams": 3, "num_return_sequences": 3, "do_sample": False}
    with world("0:2", "2:4") as there:
        got = there.model.generate(prompt(batch=2), **options)
        assert torch.equal(got, local.generate(prompt(batch=2), **options))
        assert any(step.hypo_ids is not None for step in there.servers[0].steps)


def test_generation_without_a_cache_runs_everything_each_time(local: PreTrainedModel) -> None:
    with world("0:2", "2:4") as there:
        got = there.model.generate(prompt(), **GREEDY, use_cache=False)
        assert torch.equal(got, local.generate(prompt(), **GREEDY))
        assert not there.servers[0].steps


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


def test_a_step_of_no_tokens_gives_no_tokens() -> None:
    with world("0:4") as there, torch.no_grad():
        cache = there.model.new_cache(10)
        there.model(prompt(), past_key_values=cache)
        assert there.model.blocks(torch.zeros(1, 0, 64), past_key_values=cache).shape == (1, 0, 64)
