"""How the model of a swarm answers a request, and what keeps an answer to a schema."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from helpers.client_world import local_model, prompt, world
from helpers.small_model import golden_with_tokenizer
from potluck_control.resources import DEMO_MODEL, resource
from potluck_gateway.answers import swarm_chat
from potluck_gateway.answers.completion import (
    Completion,
    TextTokenizer,
)
from potluck_gateway.answers.follower import Scorer
from potluck_gateway.answers.grammar import Grammars, closed
from potluck_gateway.answers.swarm_chat import SwarmChat
from potluck_gateway.exchange import (
    Answer,
    AnswerBegun,
    AnswerEvent,
    AnswerPart,
    ChatMessage,
    ChatRequest,
    Sampling,
    TokenScore,
)
from tokenizers import decoders
from transformers import (
    GenerationConfig,
    LlamaConfig,
    PreTrainedTokenizerFast,
)

from potluck.client.session.reports import HopReport, RouteReport
from potluck.errors import UsageError
from potluck.protocol.blocks import Span
from potluck.sentences import Sentence

ASKED = (ChatMessage("user", "Hello"),)


class Letters(TextTokenizer):
    """Token n is the letter n; the demo model's tokenizer is behind everything else."""

    def __init__(self) -> None:
        super().__init__(resource(DEMO_MODEL))

    def decode(self, tokens: list[int]) -> str:
        return "".join(map(chr, tokens))


class Silent:
    """A model that never waits for servers."""

    waited_s: float | None = None
    config, generation_config = LlamaConfig(max_position_embeddings=4096), GenerationConfig()

    def tell_waits(self, on_wait: Callable[[tuple[Span, ...]], None]) -> None:
        self.on_wait = on_wait

    def longest_session(self) -> int:
        return 4096

    @contextmanager
    def session(
        self, *, max_length: int, max_wait_s: float | None, together: bool, sharing: str = ""
    ) -> Iterator[SimpleNamespace]:
        self.waited_s = max_wait_s
        hop = HopReport("12D3KooW", Span(0, 4), "ana")
        yield SimpleNamespace(position=0, rewind=lambda _: None, route=lambda: (RouteReport([hop]),))


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked, the model says `one END two`, letter by letter."""

    def complete(
        model: object, prompt: torch.Tensor, options: object, on_token: object, *, session: object
    ) -> Completion:
        so_far = Completion()
        for letter in "one END two":
            so_far.tokens.append(ord(letter))
            so_far.times_s.append(float(len(so_far.tokens)))
            on_token(so_far)  # type: ignore[operator]
        return so_far

    monkeypatch.setattr(swarm_chat, "complete", complete)


def chat(model: Silent | None = None) -> SwarmChat:
    return SwarmChat(model or Silent(), Letters(), max_tokens=100)


def answer_to(max_tokens: int = 100, **asked: Any) -> tuple[Answer, list[AnswerPart]]:
    """Return the answer to a request, and the parts in which it came."""
    told: list[AnswerEvent] = []
    answer = chat().answer(ChatRequest(ASKED, max_tokens=max_tokens, **asked), told.append)
    assert told.pop(0) == AnswerBegun(answer.prompt_tokens)
    return answer, [part for part in told if isinstance(part, AnswerPart)]


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize(
    ("stop", "text", "reason", "tokens"),
    [
        ((), "one END two", "stop", 11),
        (("END",), "one ", "stop", 7),  # no part of it is shown
        (("ENDE",), "one END two", "stop", 11),  # its start is shown once it is none
    ],
)
def test_letters_are_shown_as_they_come_up_to_a_stop_text(
    stop: tuple[str, ...], text: str, reason: str, tokens: int
) -> None:
    answer, parts = answer_to(stop=stop)
    assert (answer.text, answer.reason, answer.answer_tokens) == (text, reason, tokens)
    shown = [part.text for part in parts]
    assert "".join(shown) == text
    assert shown == list(text) or "END " in shown


def test_a_request_says_how_long_to_wait_for_missing_blocks(answered: None) -> None:
    model = Silent()
    chat(model).answer(ChatRequest(ASKED, max_wait_s=7.0), lambda _: None)
    assert model.waited_s == 7.0


def test_details_name_the_tokens_and_the_servers(answered: None) -> None:
    details = answer_to(stop=("END",), with_details=True)[0].details
    assert details["tokens"] == list(map(ord, "one END"))
    assert details["route"] == [{"peer_id": "12D3KooW", "name": "ana", "blocks": "0:4"}]


def test_an_answer_that_was_cut_says_so(answered: None) -> None:
    assert answer_to(11)[0].reason == "length"


@pytest.mark.parametrize(
    ("asked", "positions", "served", "room"),
    [
        (None, 4096, 4096, 100),
        (5000, 8192, 8192, 5000),
        (5000, 4096, 9000, 4091),
        (5000, 9000, 3000, 2995),
        (0, 9, 9, 0),
    ],
)
def test_an_answer_may_be_as_long_as_was_asked_within_the_models_positions_and_what_servers_take(
    asked: int | None, positions: int, served: int, room: int
) -> None:
    model = Silent()
    model.config = LlamaConfig(max_position_embeddings=positions)
    model.longest_session = lambda: served  # type: ignore[method-assign]
    assert chat(model)._room(ChatRequest(ASKED, max_tokens=asked), torch.zeros(1, 5)) == room


def test_an_answer_ends_at_the_end_tokens_of_every_file_and_not_at_its_limit_then(answered: None) -> None:
    model = Silent()
    model.config = LlamaConfig(eos_token_id=[ord("o"), 7])
    model.generation_config = GenerationConfig(eos_token_id=9)
    made = chat(model)
    assert made._ends == (ord("o"), 7, 9, made._text.tokenizer.eos_token_id)
    answer = made.answer(ChatRequest(ASKED, max_tokens=11), lambda _: None)  # its last letter is an o
    assert (answer.reason, answer.answer_tokens) == ("stop", 11)


def test_what_a_listener_raises_ends_the_generation_and_the_next_one_has_its_turn(answered: None) -> None:
    asked, made = ChatRequest(ASKED), chat()

    def gone(_: AnswerEvent) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        made.answer(asked, gone)
    assert made.answer(asked, lambda _: None).text == "one END two"


def test_answers_are_made_at_once_and_a_wait_is_told_to_all_but_those_who_are_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, all_three = Silent(), Barrier(3)

    def complete(*_: object, **__: object) -> Completion:
        all_three.wait(60)  # raises unless both answers get here
        all_three.wait(60)
        return Completion()

    def gone(told: AnswerEvent) -> None:
        if isinstance(told, Sentence):
            raise BrokenPipeError

    monkeypatch.setattr(swarm_chat, "complete", complete)
    told: list[AnswerEvent] = []
    made = chat(model)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(made.answer, ChatRequest(ASKED), gone)
        second = pool.submit(made.answer, ChatRequest(ASKED), told.append)
        all_three.wait(60)
        model.on_wait((Span(3, 4),))
        all_three.wait(60)
        assert first.result().text == second.result().text == ""
    assert [type(one) for one in told] == [AnswerBegun, Sentence]


def test_scores_cover_the_text_that_is_shown(answered: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scorer, "score", lambda _, token, offset: TokenScore(bytes([token]), -1.0, offset))
    answer, parts = answer_to(stop=("END",), num_top=0)
    assert b"".join(score.token for score in answer.scores).decode() == answer.text == "one "
    assert [score for part in parts for score in part.scores] == list(answer.scores)


@pytest.mark.parametrize("max_tokens", [0, 1])
def test_each_token_of_an_echo_is_scored_as_by_the_local_model_also_one_without_a_text(
    tmp_path: Path, max_tokens: int
) -> None:
    given = prompt()[0].tolist()
    logprobs = local_model()(torch.tensor([given])).logits[0].detach().log_softmax(-1)  # [tokens, vocabulary]
    last = int(logprobs[-1].argmax())
    folder = golden_with_tokenizer(tmp_path / "model")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    tokenizer.backend_tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens({"eos_token": tokenizer.convert_ids_to_tokens(last)})
    tokenizer.save_pretrained(folder)
    tokens = tuple(given) if max_tokens else (*given, last)  # the answer's only token, or the prompt's last one
    request = ChatRequest(prompts=(tokens,), echoes=True, num_top=1, max_tokens=max_tokens)
    with world("0:2", "2:4") as there:
        answer = SwarmChat(there.model, TextTokenizer(folder), max_tokens=1).answer(request, lambda told: None)
    first, *scores = answer.scores
    assert first.logprob is None
    wanted = [float(logprobs[place, token]) for place, token in enumerate([*given[1:], last])]
    assert [score.logprob for score in scores] == pytest.approx(wanted, abs=1e-4)
    assert [score.top[0].logprob for score in scores] == pytest.approx(logprobs.max(-1).values.tolist(), abs=1e-4)


def test_a_bias_for_a_token_that_the_model_lacks_is_refused(answered: None) -> None:
    with pytest.raises(UsageError, match="token 40000, but this model has 32000"):
        answer_to(sampling=Sampling(logit_bias={40000: 1.0}))


SCHEMA = {"type": "object", "properties": {"a": {"type": "array", "items": {"properties": {"b": {}}}}, "c": {}}}


def test_objects_have_the_keys_that_a_schema_lists_unless_it_says_otherwise() -> None:
    made = closed(SCHEMA)
    assert made["additionalProperties"] is made["properties"]["a"]["items"]["additionalProperties"] is False
    kept = [{"type": "object"}, {"properties": {}, "additionalProperties": {"type": "string"}}, {"allOf": [SCHEMA]}]
    assert [closed(one) for one in kept] == kept


def test_a_grammar_that_gives_up_is_over_and_not_whole() -> None:
    text = TextTokenizer(resource(DEMO_MODEL))
    grammars = Grammars(text.tokenizer, [text.tokenizer.eos_token_id])
    for said, is_over, is_whole in (("true", True, True), ("tr", False, False), ("x", True, False)):
        grammar = grammars.of_text('{"type": "boolean"}')
        for token in text.tokenizer.encode(said, add_special_tokens=False):
            grammar.consume(token)
        assert (grammar.is_over, grammar.is_whole) == (is_over, is_whole)
    with pytest.raises(UsageError, match="schema"):
        grammars.of_text('{"type": "frog"}')
