"""Sessions over one or several calls, and what they send to servers."""

import pytest
import torch
from helpers.client_world import prompt, world
from transformers import PreTrainedModel

from potluck.errors import NetworkError, UsageError
from potluck.protocol.codes import Code, RemoteError

GREEDY = {"max_new_tokens": 5, "do_sample": False}


def test_a_second_call_sends_only_new_tokens(local: PreTrainedModel) -> None:
    question = prompt(tokens=3, seed=1)
    with world("0:2", "2:4") as there, there.model.session(max_length=40) as session:
        first = there.model.generate(prompt(), session=session, **GREEDY)
        assert session.position == 7 + 4
        text = torch.cat([first, question], dim=1)
        second = there.model.generate(text, session=session, **GREEDY)
        assert torch.equal(second, local.generate(text, **GREEDY))
        tokens = [step.hidden.shape[1] for step in there.servers[0].steps]
        assert tokens == [7, 1, 1, 1, 1, 1 + 3, 1, 1, 1, 1]


def test_a_session_can_be_rewound_and_starts_anew_at_its_beginning(local: PreTrainedModel) -> None:
    with world("0:2", "2:4") as there, there.model.session(max_length=40) as session:
        there.model.generate(prompt(), session=session, **GREEDY)
        session.rewind(5)
        text = torch.cat([prompt()[:, :5], prompt(tokens=4, seed=2)], dim=1)
        assert torch.equal(there.model.generate(text, session=session, **GREEDY), local.generate(text, **GREEDY))
        assert there.servers[0].steps[5].start_from_position == 5
        session.rewind(0)
        text = prompt(batch=2, seed=3)
        assert torch.equal(there.model.generate(text, session=session, **GREEDY), local.generate(text, **GREEDY))


def test_an_exact_session_asks_every_server_to_run_it_alone(local: PreTrainedModel) -> None:
    with world("0:2", "2:4") as there:
        for exact in (True, None):
            with there.model.session(max_length=40, exact=exact) as session:
                assert torch.equal(
                    there.model.generate(prompt(), session=session, **GREEDY), local.generate(prompt(), **GREEDY)
                )
        for server in there.servers:
            assert [step.opening.exact for step in server.steps if step.opening is not None] == [True, False]


def test_what_a_session_or_model_cannot_take_is_refused_before_anything_is_sent() -> None:
    with world("0:4") as there:
        with there.model.session(max_length=16) as session:
            with pytest.raises(UsageError, match="at most 16 tokens"):
                there.model.generate(prompt(tokens=17), session=session, **GREEDY)
            assert not there.servers[0].steps
            there.model.generate(prompt(), session=session, **GREEDY)
            with pytest.raises(UsageError, match="has seen 11 tokens"):
                there.model.generate(prompt(tokens=3), session=session, **GREEDY)
            with pytest.raises(UsageError, match="1 rows, not 2"):
                there.model(prompt(batch=2), past_key_values=session.cache)
        with pytest.raises(UsageError, match="closed"):
            there.model(prompt(tokens=1), past_key_values=session.cache)
        there.model.close()
        with pytest.raises(NetworkError, match="closed"):
            there.model.generate(prompt(), **GREEDY)


def test_a_step_that_failed_can_be_tried_again(local: PreTrainedModel) -> None:
    def fail_once(server: object, request: object) -> None:
        there.servers[0].on_step = lambda server, request: None
        raise RemoteError(Code.BAD_REQUEST, "no")

    with world("0:2", "2:4") as there, there.model.session(max_length=40) as session, torch.no_grad():
        there.model(prompt(), past_key_values=session.cache)
        there.servers[1].on_step = fail_once
        there.servers[0].on_step = fail_once
        more = prompt(tokens=2, seed=4)
        with pytest.raises(RemoteError, match="no"):
            there.model(more, past_key_values=session.cache)
        there.servers[1].on_step = lambda server, request: None
        got = there.model(more, past_key_values=session.cache).logits
        want = local(torch.cat([prompt(), more], dim=1)).logits[:, -2:]
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


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
