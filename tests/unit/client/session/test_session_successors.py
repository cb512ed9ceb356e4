"""Servers that say they will leave are replaced while they still serve."""

import pytest
import torch
from helpers.block_server import BlockServer
from helpers.client_world import World, prompt, world
from helpers.misdeeds import refuse
from transformers import LogitsProcessor, LogitsProcessorList, PreTrainedModel

from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code

ONE = {"max_new_tokens": 1, "do_sample": False}
MANY = 40  # a successor is ready after a few steps; how few is the loop's business


class Alternating(LogitsProcessor):
    """Makes a model write 10 to 14 again and again, with every seventh token another one."""

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        at = input_ids.shape[1]
        scores = scores.clone()
        scores[:, 20 + at // 7 if at % 7 == 0 else 10 + at % 5] += 1000
        return scores


def greedy(tokens: int) -> dict[str, object]:
    return {"max_new_tokens": tokens, "do_sample": False}


def serving_span(there: World, span: str) -> BlockServer:
    return next(server for server in there.serving() if str(server.blocks.span) == span)


def given_to(server: BlockServer) -> torch.Tensor:
    """All that its one session holds, [batch, tokens, hidden_size]."""
    given = torch.empty(1, 0, server.blocks.hidden_size)
    for step in server.steps:
        assert step.hidden is not None
        given = torch.cat([given[:, : step.start_from_position], step.hidden], 1)
    return given


def generate_until_replaced(there: World, session: object, text: torch.Tensor) -> torch.Tensor:
    """One token after another until a successor has taken over."""
    for _ in range(MANY):
        text = there.model.generate(text, session=session, **ONE)
        if there.replaced():
            return text
    raise AssertionError("no successor took over")


def test_a_successor_takes_over_between_two_steps_and_the_tokens_stay_the_same(local: PreTrainedModel) -> None:
    with world("0:2", "2:4", "2:4") as there, there.model.session(max_length=80) as session:
        text = there.model.generate(prompt(), session=session, **greedy(4))
        old = serving_span(there, "2:4")
        old.is_leaving = True
        text = generate_until_replaced(there, session, text)
        given_to_the_old = len(old.steps)
        text = there.model.generate(text, session=session, **greedy(5))
        there.client.run(old.wait_idle())
        new = serving_span(there, "2:4")
    assert torch.equal(text, local.generate(prompt(), **greedy(text.shape[1] - 7)))
    assert new is not old
    starts, lengths = [step.start_from_position for step in new.steps], [step.hidden.shape[1] for step in new.steps]
    assert starts == [sum(lengths[:index]) for index in range(len(lengths))], "each token was given once"
    assert len(old.steps) == given_to_the_old
    assert old.open_sessions == 0


def test_a_span_may_pass_to_several_successors(local: PreTrainedModel) -> None:
    with world("0:4") as there, there.model.session(max_length=80) as session:
        text = there.model.generate(prompt(), session=session, **greedy(2))
        for span in ("0:1", "1:3", "3:4"):
            there.add_server(Span.parse(span))
        there.client.run(there.client.servers.refresh())
        there.servers[0].is_leaving = True
        text = generate_until_replaced(there, session, text)
        text = there.model.generate(text, session=session, **greedy(3))
        assert [str(server.blocks.span) for server in there.serving()] == ["0:1", "1:3", "3:4"]
    assert torch.equal(text, local.generate(prompt(), **greedy(text.shape[1] - 7)))


def test_a_server_that_keeps_some_of_its_blocks_succeeds_itself_with_these(local: PreTrainedModel) -> None:
    with world("0:4") as there, there.model.session(max_length=80) as session:
        text = there.model.generate(prompt(), session=session, **greedy(2))
        other = there.add_server(Span(2, 4))
        there.client.run(there.servers[0].keep(Span(0, 2)))
        text = generate_until_replaced(there, session, text)
        text = there.model.generate(text, session=session, **greedy(3))
        assert there.serving() == [there.servers[0], other]
    assert torch.equal(text, local.generate(prompt(), **greedy(text.shape[1] - 7)))


@pytest.mark.parametrize("spans", [("0:4",), ("0:2", "2:4")], ids=["one", "chain"])
def test_a_half_fed_successor_forgets_what_is_rewound(spans: tuple[str, ...], local: PreTrainedModel) -> None:
    with world("0:4") as there, there.model.session(max_length=120) as session:
        text = there.model.generate(prompt(), session=session, **greedy(4))
        (old,) = there.servers
        new = [there.add_server(Span.parse(span)) for span in spans]
        there.client.run(there.client.servers.refresh())
        old.is_leaving, old.delay_s = True, lambda server: 0.01
        for server in new:
            server.delay_s = lambda server: 0.15 / len(spans)
        there.model.generate(text, session=session, **ONE)
        session.rewind(6)
        start = torch.cat([prompt()[:, :6], prompt(tokens=1, seed=5)], 1)
        text = there.model.generate(start, session=session, **greedy(20))
        text = text if there.replaced() else generate_until_replaced(there, session, text)
        text = there.model.generate(text, session=session, **ONE)
    assert torch.equal(text, local.generate(start, **greedy(text.shape[1] - 7)))
    given = given_to(new[0])
    torch.testing.assert_close(given, local.get_input_embeddings()(text[:, : given.shape[1]]))


def test_drafts_that_are_taken_back_do_not_keep_a_successor_from_taking_over(local: PreTrainedModel) -> None:
    drafts = {"prompt_lookup_num_tokens": 4, "logits_processor": LogitsProcessorList([Alternating()])}
    start = torch.tensor([[10, 11, 12, 13, 14] * 2])
    with world("0:2", "2:4", "2:4") as there, there.model.session(max_length=100) as session:
        text = there.model.generate(start, session=session, **greedy(4), **drafts)
        old = serving_span(there, "2:4")
        new = next(server for server in there.servers if server is not old and server.blocks.span == Span(2, 4))
        old.delay_s, new.delay_s = lambda server: 0.05, lambda server: 0.1  # while many drafts are taken back
        before, old.is_leaving = len(new.steps), True
        text = there.model.generate(text, session=session, **greedy(60), **drafts)
        assert [hop.peer_id for hop in there.replaced()] == [old.peer_id]
        opened = [step for step in new.steps[before:] if step.opening is not None]
        assert len(opened) == 1, "it was called off and prepared again"
    assert torch.equal(text, local.generate(start, **greedy(64), logits_processor=drafts["logits_processor"]))


def test_with_no_successor_the_old_server_is_used_to_its_end_and_then_replayed_elsewhere(
    local: PreTrainedModel,
) -> None:
    with world("0:4") as there, there.model.session(max_length=80) as session:
        text = there.model.generate(prompt(), session=session, **ONE)
        old = there.servers[0]
        old.is_leaving = True
        text = there.model.generate(text, session=session, **greedy(8))
        there.add_server(old.blocks.span)
        old.on_step = refuse(Code.DRAINING)
        text = there.model.generate(text, session=session, **greedy(4))
        assert there.serving()[0] is there.servers[1]
    assert torch.equal(text, local.generate(prompt(), **greedy(13)))


def test_closing_a_session_ends_what_was_prepared_for_it() -> None:
    with world("0:4", "0:4") as there:
        with there.model.session(max_length=80) as session:
            text = there.model.generate(prompt(), session=session, **ONE)
            serving_span(there, "0:4").is_leaving = True
            there.model.generate(text, session=session, **ONE)
        for server in there.servers:
            if server.steps:
                there.client.run(server.wait_idle())
        assert [server.open_sessions for server in there.servers] == [0, 0]
