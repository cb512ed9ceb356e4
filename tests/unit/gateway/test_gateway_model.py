"""How a conversation becomes tokens and tokens become an answer, on a small local model."""

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest
import tokenizers
import torch
from helpers.golden import CHECKPOINT
from helpers.small_model import golden_with_tokenizer
from potluck_control.resources import DEMO_MODEL, resource
from potluck_gateway.answers import completion
from potluck_gateway.answers import swarm_chat as gateway_model
from potluck_gateway.answers.completion import (
    Completion,
    DrawToken,
    Options,
    TextTokenizer,
    TokenDecoder,
    check_length,
    complete,
)
from potluck_gateway.answers.follower import Scorer
from potluck_gateway.answers.grammar import Grammars, closed
from potluck_gateway.answers.prompts import Prompts, plain_prompt
from potluck_gateway.answers.swarm_chat import SwarmChat
from potluck_gateway.answers.templates import BoundedRenderer, TemplateLimits
from potluck_gateway.exchange import (
    Answer,
    AnswerBegun,
    AnswerEvent,
    AnswerPart,
    ChatMessage,
    ChatRequest,
    Sampling,
    TokenScore,
    Tool,
    ToolCall,
    Tools,
)
from tokenizers import decoders, models
from transformers import (
    AutoModelForCausalLM,
    GenerationConfig,
    LlamaConfig,
    PreTrainedTokenizerFast,
    SequenceBiasLogitsProcessor,
)
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from potluck.client.session.reports import HopReport, RouteReport
from potluck.errors import CheckpointError, UsageError
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

    monkeypatch.setattr(gateway_model, "complete", complete)


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


def test_a_prompt_longer_than_the_model_is_refused_before_anything_is_computed() -> None:
    config = LlamaConfig(max_position_embeddings=4)
    check_length(torch.zeros(1, 3), config)
    with pytest.raises(UsageError, match="4 tokens, but this model can take 3 at most"):
        complete(SimpleNamespace(config=config), torch.zeros(1, 4), Options(1), lambda _: None)
    config.rope_parameters = {"rope_type": "longrope", "original_max_position_embeddings": 3}
    with pytest.raises(UsageError, match="this model can take 2 at most"):
        check_length(torch.zeros(1, 3), config)


def test_of_a_conversation_that_is_far_too_long_only_the_beginning_is_read() -> None:
    text = TextTokenizer(resource(DEMO_MODEL))
    text.tokenizer.chat_template = EVERYTHING
    prompts, read = Prompts(text, 100), []
    tokenize = text.tokenizer._encode_plus
    text.tokenizer._encode_plus = lambda text, **more: (read.append(len(text)), tokenize(text, **more))[1]
    for words, is_read in ((20, True), (10_000, False)):
        tokens = prompts.prepare(ChatRequest((ChatMessage("user", "again " * words),))).tokens
        assert (tokens.device.type == "cpu") is is_read
        assert words < tokens.shape[1] < 3 * words
    assert max(read) < 2000


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

    monkeypatch.setattr(gateway_model, "complete", complete)
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


def test_penalties_lower_what_the_answer_has_and_not_what_the_prompt_has() -> None:
    options = Options(1, sampling=Sampling(0.0, presence_penalty=1.0, frequency_penalty=0.5)).generate_options(2, None)
    (penalties,) = options["logits_processor"]
    lowered = penalties(torch.tensor([[0, 1, 2, 3, 3]]), torch.zeros(1, 5))
    assert lowered.tolist() == [[0.0, 0.0, -1.5, -2.0, 0.0]]


@pytest.mark.parametrize(
    ("asked", "limits"),
    [
        (Sampling(), (1.0, 20, 0.8, 0.1)),  # as the checkpoint says
        (Sampling(0.5), (0.5, 20, 0.8, 0.1)),
        (Sampling(1, top_p=1, top_k=0, min_p=0), (1.0, 0, 1.0, 0.0)),  # neutral values
        (Sampling(0), None),
        (Sampling(1e-40), None),  # the quotients would be infinite
    ],
)
def test_what_is_not_asked_for_comes_from_the_checkpoint(asked: Sampling, limits: tuple[float, ...] | None) -> None:
    defaults = GenerationConfig(do_sample=True, temperature=1.0, top_k=20, top_p=0.8, min_p=0.1)
    made = Options(1, sampling=asked).generate_options(1, defaults).get("logits_processor", [])
    assert [step.limits for step in made] == ([] if limits is None else [limits])
    assert "logits_processor" not in Options(1, sampling=Sampling()).generate_options(1, GenerationConfig())


@pytest.mark.parametrize("spread", [0.01, 3.0])
@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p", "min_p"),
    [
        *((1.0, 0, 1.0, 0.0), (0.7, 20, 0.8, 0.0), (1.3, 0, 0.9, 0.0), (0.8, 0, 1.0, 0.05), (0.6, 2000, 0.95, 0.02)),
        (1.0, 0, 0.0, 0.0),
    ],
)
def test_a_draw_leaves_what_the_warpers_of_transformers_leave(
    spread: float, temperature: float, top_k: int, top_p: float, min_p: float
) -> None:
    scores = spread * torch.randn(1, 5000, generator=torch.Generator().manual_seed(3))
    scores[0, 100:200] = -torch.inf  # as a grammar forbids tokens
    warped: torch.Tensor = TemperatureLogitsWarper(temperature)(None, scores)
    for warper in (
        *([TopKLogitsWarper(top_k)] if top_k else []),
        *([TopPLogitsWarper(max(top_p, 1e-6))] if top_p < 1 else []),
        *([MinPLogitsWarper(min_p)] if min_p else []),
    ):
        warped = warper(None, warped)
    want = warped[0].softmax(0)
    draw = DrawToken(1, temperature, top_k, top_p, min_p)
    tokens, chances = draw._left(scores[0])
    got = torch.zeros(5000).index_add(0, torch.arange(5000) if tokens is None else tokens, chances / chances.sum())
    assert float((got - want).abs().sum()) < 1e-3
    assert all(want[int(draw(torch.zeros(1, 1), scores).argmax())] > 0 for _ in range(50))


def test_a_seed_draws_the_same_whatever_other_threads_draw() -> None:
    def drawn() -> list[int]:
        steps = Options(1, sampling=Sampling(1.0, seed=5)).generate_options(1, None)["logits_processor"]
        torch.rand(3)
        return [int(steps(torch.zeros(1, at, dtype=torch.int64), torch.zeros(1, 40)).argmax()) for at in range(9)]

    first = drawn()
    assert drawn() == first
    assert len(set(first)) > 2


def test_a_scorer_sees_the_scores_before_anything_changes_them() -> None:
    scorer, bias = Scorer(2, lambda token: bytes([65 + token])), SequenceBiasLogitsProcessor({(1,): 100.0})
    scores = torch.tensor([[1.0, 0.0, 3.0]])
    steps = Options(1, sampling=Sampling(2.0, seed=1), steps=(scorer, bias)).generate_options(1, None)[
        "logits_processor"
    ]
    assert int(steps(torch.zeros(1, 1, dtype=torch.int64), scores).argmax()) == 1
    wanted = scores[0].log_softmax(-1).tolist()
    found = scorer.score(1, 7)
    assert (found.token, found.logprob, found.offset) == (b"B", pytest.approx(wanted[1]), 7)
    assert [(one.token, one.logprob) for one in found.top] == [
        (b"C", pytest.approx(wanted[2])),
        (b"A", pytest.approx(wanted[0])),
    ]


def test_scores_cover_the_text_that_is_shown(answered: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scorer, "score", lambda _, token, offset: TokenScore(bytes([token]), -1.0, offset))
    answer, parts = answer_to(stop=("END",), num_top=0)
    assert b"".join(score.token for score in answer.scores).decode() == answer.text == "one "
    assert [score for part in parts for score in part.scores] == list(answer.scores)


def test_a_bias_for_a_token_that_the_model_lacks_is_refused(answered: None) -> None:
    with pytest.raises(UsageError, match="token 40000, but this model has 32000"):
        answer_to(sampling=Sampling(logit_bias={40000: 1.0}))


def test_a_model_without_a_template_goes_on_from_a_script() -> None:
    assert plain_prompt(ASKED) == "Hello"
    turns = (("system", "Be kind."), ("user", "Hi"), ("assistant", "Yes?"), ("user", "Bye"))
    talk = tuple(ChatMessage(role, text) for role, text in turns)
    assert plain_prompt(talk) == "System: Be kind.\nUser: Hi\nAssistant: Yes?\nUser: Bye\nAssistant:"


def prompt_by(template: str | None, *messages: ChatMessage, **asked: Any) -> str:
    """Return the prompt that a template makes, with the demo model's tokenizer."""
    text = TextTokenizer(resource(DEMO_MODEL))
    text.tokenizer.chat_template = template
    tokens = Prompts(text).prepare(ChatRequest(messages or ASKED, **asked)).tokens
    return text.decode(tokens[0].tolist())


EVERYTHING = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
NO_SYSTEM = "{% for m in messages %}{{ m.content if m.role != 'system' }}\n{% endfor %}"
FIRST_ONLY = """{% for m in messages %}
{%- if m.role == 'system' and loop.index0 %}{{ raise_exception('a system message must be the first') }}{% endif %}
{%- if loop.index0 and m.role == loop.previtem.role %}{{ raise_exception('roles must alternate') }}{% endif %}
{{- m.role }}: {{ m.content }}
{% endfor %}"""
TALK = (
    ChatMessage("system", "Be kind."),
    ChatMessage("user", "Hi"),
    ChatMessage("assistant", "Yes?"),
    ChatMessage("system", "Be brief."),
    ChatMessage("user", "Bye"),
)


@pytest.mark.parametrize(
    ("template", "prompt"),
    [
        (EVERYTHING, "system: Be kind.\nuser: Hi\nassistant: Yes?\nsystem: Be brief.\nuser: Bye\n"),
        (FIRST_ONLY, "system: Be kind.\nuser: Hi\nassistant: Yes?\nuser: Be brief.\n\nBye\n"),
        (NO_SYSTEM, "Be kind.\n\nHi\nYes?\nBe brief.\n\nBye\n"),
    ],
)
def test_system_messages_without_a_place_join_the_next_message_of_the_user(template: str, prompt: str) -> None:
    assert prompt_by(template, *TALK) == prompt


TOOLS = Tools((Tool("add", {"type": "object", "properties": {}}, "Adds."),))
CALLED = (
    ChatMessage("system", "Be kind."),
    ChatMessage("user", "1 + 2?"),
    ChatMessage("assistant", "", (ToolCall("call_1", "add", '{"a": 1}'),), thinking="Easy."),
    ChatMessage("tool", "3", call_id="call_1"),
)


@pytest.mark.parametrize("template", [None, EVERYTHING, FIRST_ONLY, NO_SYSTEM])
def test_tools_calls_and_results_are_texts_where_a_template_knows_none(template: str | None) -> None:
    prompt = prompt_by(template, *CALLED, tools=TOOLS)
    for said in ("Be kind.", "1 + 2?", '"description": "Adds."', '{"name": "add", "arguments": {"a": 1}}', "3"):
        assert said in prompt
    assert "call_1" not in prompt


def test_a_template_gets_tools_results_with_their_names_thoughts_and_ids_as_it_takes_them() -> None:
    template = """{{ tools | tojson }}{% for m in messages %}
{{ m.role }}: {{ m.reasoning_content }} {{ m.content }} {{ m.name }} {{ m.tool_call_id }}
{%- for call in m.tool_calls or [] %}<tool_call>{"name": "{{ call.function.name }}", "arguments": {{
call.function.arguments | tojson }}}</tool_call>{% if call.id | length != 9 %}{{ raise_exception('id') }}{% endif %}
{%- endfor %}{% endfor %}"""
    prompt = prompt_by(template, *CALLED, tools=TOOLS)
    assert '"name": "add", "arguments": {"a": 1}' in prompt
    assert "assistant: Easy." in prompt
    assert "tool:  3 add" in prompt
    assert '[{"type": "function"' in prompt


def test_a_models_own_template_is_used_and_may_refuse() -> None:
    text = TextTokenizer(resource(DEMO_MODEL))
    assert prompt_by(text.tokenizer.chat_template) == "User: Hello\nAssistant:"
    assert prompt_by(None) == "Hello"
    assert prompt_by("{{ mood }} {{ messages[0].content }}", template_kwargs={"mood": "calm"}) == "calm Hello"
    with pytest.raises(UsageError, match="roles must alternate"):
        prompt_by("{{ raise_exception('roles must alternate') }}")
    with pytest.raises(UsageError, match="cannot set tokenize"):
        prompt_by(EVERYTHING, template_kwargs={"tokenize": True})


@pytest.mark.parametrize(
    "template",
    [
        "{% set n = namespace(t='x') %}{% for a in range(60) %}{% set n.t = n.t + n.t %}{% endfor %}{{ n.t }}",
        "{{ 9 ** (9 ** 9) }}",
    ],
    ids=["huge text", "huge number"],
)
def test_a_template_that_needs_too_much_is_refused(template: str) -> None:
    text = TextTokenizer(resource(DEMO_MODEL))
    text.tokenizer.chat_template = template
    told = [{"role": "user", "content": "Hello"}]
    limits = TemplateLimits(compute_s=0, more_bytes=1 << 26)
    with pytest.raises(UsageError, match="too much time or memory"):
        BoundedRenderer(lambda: text.tokenizer.apply_chat_template(told, tokenize=False), limits)()


def test_a_text_may_be_long_but_not_endless() -> None:
    write = BoundedRenderer("ä".__mul__)
    assert write(500_000) == "ä" * 500_000
    bounded = BoundedRenderer("x".__mul__, TemplateLimits(text_bytes=1000))
    with pytest.raises(UsageError, match="too much"):
        bounded(100_000)
    assert bounded(1000) == "x" * 1000


def test_templates_are_rendered_in_two_processes_that_are_replaced_when_they_end() -> None:
    def render(number: int) -> str:
        if number < 0:
            raise ValueError("below zero")
        return f"{os.getpid()} {number}"

    renderer = BoundedRenderer(render)
    (process,) = {int(renderer(1).split()[0]) for _ in range(3)}  # one is enough until several ask
    with ThreadPoolExecutor(8) as threads:
        said = [text.split() for text in threads.map(renderer, range(40))]
    assert [int(number) for _, number in said] == list(range(40))
    processes = {process, *(int(pid) for pid, _ in said)}
    assert len(processes) <= 2
    assert os.getpid() not in processes
    with pytest.raises(UsageError, match="below zero"):
        renderer(-1)
    for pid in processes:
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert int(renderer(1).split()[0]) not in (*processes, os.getpid())


def test_a_conversation_does_not_wait_for_the_template_of_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()  # the child closes what it inherits

        def render(waits: bool) -> str:
            if waits:
                with socket.create_connection(address) as held:
                    held.recv(1)
            return "done"

        renderer = BoundedRenderer(render)
        with ThreadPoolExecutor(1) as thread:
            slow = thread.submit(renderer, True)
            held, _ = server.accept()
            with held:
                assert (renderer(False), slow.done()) == ("done", False)
            assert slow.result() == "done"


def test_the_process_of_templates_keeps_nothing_of_its_parent_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        renderer = BoundedRenderer(lambda: " ".join(sorted(os.listdir("/proc/self/fd"))))
        open_files = renderer().split()
        assert str(server.fileno()) not in open_files
    assert len(open_files) == 5, "standard streams, the connection, and the folder that is listed"


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
            grammar.take(token)
        assert (grammar.is_over, grammar.is_whole) == (is_over, is_whole)
    with pytest.raises(UsageError, match="schema"):
        grammars.of_text('{"type": "frog"}')


# -- generation, on a small local model --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> object:
    return AutoModelForCausalLM.from_pretrained(CHECKPOINT, dtype=torch.float32).eval()


PROMPT = torch.tensor([[5, 6, 7]])


def test_greedy_is_what_generate_returns_without_the_prompt_and_each_token_is_told(model: object) -> None:
    seen: list[int] = []
    completion = complete(model, PROMPT, Options(6, min_new_tokens=6), lambda so_far: seen.append(so_far.tokens[-1]))
    whole = model.generate(PROMPT, max_new_tokens=6, min_new_tokens=6, do_sample=False)  # type: ignore[attr-defined]
    assert completion.tokens == seen == whole[0, 3:].tolist()
    assert completion.times_s == sorted(completion.times_s)


def test_speed_leaves_the_prefill_out() -> None:
    assert Completion([1, 2, 3], [10.0, 10.5, 11.0]).tokens_per_s == 2.0
    assert Completion([1], [10.0]).tokens_per_s == 0.0


@pytest.mark.parametrize("said", [None, {"auto_map": {"AutoTokenizer": ["own.Tokenizer", None]}, "eos_token": "Z"}])
def test_tokenizer_json_is_enough_and_a_checkpoints_own_code_is_never_run(tmp_path: Path, said: object) -> None:
    folder = golden_with_tokenizer(tmp_path / "model")
    (folder / "own.py").write_text("raise SystemExit")
    (folder / "tokenizer_config.json").unlink()
    if said is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(said))
    text = TextTokenizer(folder)
    assert text.decode(text.encode("Hello")[0].tolist()) == "Hello"
    assert said is None or text.tokenizer.eos_token == "Z"


@pytest.mark.parametrize("decoder", ["bytes", "pieces"])
def test_a_text_and_how_it_goes_on_are_the_decode_of_all_tokens(tmp_path: Path, decoder: str) -> None:
    text = TextTokenizer(resource(DEMO_MODEL))
    if decoder == "pieces":  # as SentencePiece: a space at the beginning of a text is not written
        vocabulary = {"▁Once": 0, "▁upon": 1, "▁a": 2, "<0xC3>": 3, "<0xA4>": 4, "▁time": 5, "s": 6}
        made = tokenizers.Tokenizer(models.BPE(vocabulary, [], byte_fallback=True))
        steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        made.decoder = decoders.Sequence(steps)
        text.tokenizer = PreTrainedTokenizerFast(tokenizer_object=made)
        tokens = [0, 1, 2, 5, 6, 3, 4, 1]
    else:
        tokens = text.encode("Once upon a time, ä 日本 🎉 so")[0].tolist()
    for cut in range(1, len(tokens)):
        taken = TokenDecoder(text, tokens[:cut])
        said = "".join([*map(taken.take, tokens[cut:]), taken.rest()])
        if not text.decode(tokens[:cut]).endswith("\N{REPLACEMENT CHARACTER}"):
            assert text.decode(tokens[:cut]) + said == text.decode(tokens)
    assert "".join(text.pieces(tokens)) == text.decode(tokens)


def test_a_checkpoint_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no usable tokenizer"):
        TextTokenizer(tmp_path)


@pytest.mark.parametrize("few", [3, 1024])
def test_tokens_are_drawn_as_often_as_their_chances_say(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without tokens that count together."""
    monkeypatch.setattr(completion, "_SORTED", few)
    scores, draw = torch.tensor([0.5, -1.0, 1.5, 0.0, -0.5, 2.0]), DrawToken(11, 0.8, 0, 1.0, 0.0)
    drawn = torch.bincount(torch.tensor([draw.draw(scores, at) for at in range(6000)]), minlength=6)
    expected = 6000 * (scores / 0.8).softmax(0)
    assert float(((drawn - expected) ** 2 / expected).sum()) < 20.5  # one draw in a thousand would be further off


def test_a_drafter_that_is_nearly_right_draws_what_the_model_draws() -> None:
    scores = torch.randn(200, generator=torch.Generator().manual_seed(3))
    other = scores + 0.1 * torch.randn(200, generator=torch.Generator().manual_seed(4))
    draw = DrawToken(5, 1.0, 0, 0.9, 0.0)
    same = [draw.draw(scores, at) == draw.draw(other, at) for at in range(200)]
    assert sum(same) > 160
    assert len({draw.draw(scores, at) for at in range(200)}) > 30
