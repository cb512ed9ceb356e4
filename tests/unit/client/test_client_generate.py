"""What servers are sent while text is generated; test_client_arguments compares all ways of generating."""

import pytest
import torch
from helpers.client_world import prompt, world
from transformers import PreTrainedModel

from potluck.errors import UsageError

GREEDY = {"max_new_tokens": 8, "do_sample": False}


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


def test_long_prompts_go_in_pieces_that_servers_take(local: PreTrainedModel) -> None:
    text = prompt(batch=2, tokens=30)
    with world("0:2", "2:4", max_batch_tokens=16) as there:
        assert torch.equal(there.model.generate(text, **GREEDY), local.generate(text, **GREEDY))
        assert [step.hidden.shape[1] for step in there.servers[0].steps][:4] == [8, 8, 8, 6]


def test_a_step_of_no_tokens_gives_no_tokens_and_a_row_of_padding_alone_is_refused() -> None:
    with world("0:4") as there, torch.no_grad():
        cache = there.model.new_cache(10)
        there.model(prompt(), past_key_values=cache)
        assert there.model.blocks(torch.zeros(1, 0, 64), past_key_values=cache).shape == (1, 0, 64)
        with pytest.raises(UsageError, match="no tok"):
            there.model.generate(prompt(), **GREEDY, attention_mask=torch.zeros(1, 7).long(), pad_token_id=0)
