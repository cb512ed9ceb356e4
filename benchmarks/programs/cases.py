"""Requests over the surface of OpenAI's client, each with what docs/gateway.md promises: an answer, or a refusal."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import openai

_HELLO: list[Any] = [{"role": "user", "content": "Count from 7 to 18:"}]
_SCHEMA = {
    "type": "object",
    "properties": {"count": {"enum": [7, 18]}, "is_even": {"type": "boolean"}},
    "required": ["count", "is_even"],
    "additionalProperties": False,
}
_NUMBERS = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/digit"}, "b": {"$ref": "#/$defs/digit"}},
    "required": ["a", "b"],
    "additionalProperties": False,
    "$defs": {"digit": {"enum": [1, 2, 3]}},
}
_TOOL = {"type": "function", "function": {"name": "add", "description": "Add two numbers.", "parameters": _NUMBERS}}
_CLOCK = {"type": "function", "function": {"name": "clock"}}
_CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
_CALLED: list[Any] = [
    {"role": "user", "content": "What is 1 + 2?"},
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "3"},
]
TOOL_TEMPLATE = """\
{% if tools %}Tools: {{ tools | tojson }}
Write a call as <tool_call>{"name": NAME, "arguments": ARGUMENTS}</tool_call>.
{% endif %}{% for message in messages %}{{ message.role }}: {{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}

{% endfor %}assistant:"""
_IMAGE = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]
ANSWERED = 200


@dataclass(frozen=True, slots=True)
class Case:
    """A request. `is_right` judges the answer; `status` and `code` are those of the documented refusal."""

    name: str
    ask: Callable[[openai.OpenAI], Any]
    is_right: Callable[[Any], bool] = lambda _: True
    status: int = ANSWERED
    code: str | None = None


def _chat(**more: Any) -> Callable[[openai.OpenAI], Any]:
    fields = {"model": "", "messages": _HELLO, "max_tokens": 12, **more}
    return lambda client: client.chat.completions.create(**fields)


def _completion(**more: Any) -> Callable[[openai.OpenAI], Any]:
    fields = {"model": "", "prompt": "Count from 7 to 18:", "max_tokens": 12, **more}
    return lambda client: client.completions.create(**fields)


def _response(**more: Any) -> Callable[[openai.OpenAI], Any]:
    fields = {"model": "", "input": "Count from 7 to 18:", "max_output_tokens": 12, **more}
    return lambda client: client.responses.create(**fields)


def _embedding(**more: Any) -> Callable[[openai.OpenAI], Any]:
    fields = {"model": "", "input": "a text", **more}
    return lambda client: client.embeddings.create(**fields)


def _named(**more: Any) -> Callable[[openai.OpenAI], str | None]:
    """Return what asks a chat with these fields, and returns which of them are named as without effect."""
    fields = {"model": "", "messages": _HELLO, "max_tokens": 3, **more}
    return lambda client: client.chat.completions.with_raw_response.create(**fields).headers.get("X-Potluck-Ignored")


def _says_something(answer: Any) -> bool:
    choice, usage = answer.choices[0], answer.usage
    text = choice.message.content if hasattr(choice, "message") else choice.text
    return bool(text) and choice.finish_reason in ("stop", "length") and usage.completion_tokens > 0


def _streams(chunks: Any) -> bool:
    """Return whether several parts come, then the reason of the end, then the counts."""
    *parts, last, counts = list(chunks)
    return len(parts) > 2 and last.choices[0].finish_reason in ("stop", "length") and counts.usage.prompt_tokens > 0


def _are_three(answer: Any) -> bool:
    return [choice.index for choice in answer.choices] == [0, 1, 2]


def _streams_three(chunks: Any) -> bool:
    ends = [choice.index for chunk in chunks for choice in chunk.choices if choice.finish_reason]
    return sorted(ends) == [0, 1, 2]


def _has_scores(answer: Any) -> bool:
    choice = answer.choices[0]
    tokens = choice.logprobs.content
    text = b"".join(bytes(one.bytes) for one in tokens).decode()
    return text == choice.message.content and all(len(one.top_logprobs) == 3 for one in tokens)


def _streams_scores(chunks: Any) -> bool:
    parts = [chunk.choices[0] for chunk in chunks]
    tokens = [one.token for part in parts if part.logprobs for one in part.logprobs.content]
    return "".join(tokens) == "".join(part.delta.content or "" for part in parts) != ""


def _calls(*names: str) -> Callable[[Any], bool]:
    """Return whether one of these tools is called, with arguments that fit."""

    def is_right(answer: Any) -> bool:
        choice = answer.choices[0]
        (call,) = choice.message.tool_calls
        arguments = json.loads(call.function.arguments)
        is_fit = (call.function.name == "clock" and not arguments) or set(arguments) == {"a", "b"}
        return call.function.name in names and is_fit and bool(call.id) and choice.finish_reason == "tool_calls"

    return is_right


def _streams_call(chunks: Any) -> bool:
    choices = [chunk.choices[0] for chunk in chunks]
    first, *rest = [call for choice in choices for call in choice.delta.tool_calls or []]
    text = "".join(choice.delta.content or "" for choice in choices)
    is_call = (first.index, first.function.name, text) == (0, "add", "") and not any(call.id for call in rest)
    arguments = "".join(call.function.arguments for call in (first, *rest))
    return is_call and bool(json.loads(arguments)) and choices[-1].finish_reason == "tool_calls"


def _responds_with_call(response: Any) -> bool:
    (item,) = response.output
    is_call = (item.type, item.name, response.status) == ("function_call", "add", "completed")
    return is_call and set(json.loads(item.arguments)) == {"a", "b"} and item.call_id.startswith("call_")


def _streams_call_in_response(events: Any) -> bool:
    events = list(events)
    (written,) = [event.arguments for event in events if event.type == "response.function_call_arguments.done"]
    parts = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    (added,) = [event for event in events if event.type == "response.output_item.added"]
    is_numbered = [event.sequence_number for event in events] == list(range(len(events)))
    final = events[-1].response
    return (
        (added.item.type, added.output_index) == ("function_call", 0)
        and is_numbered
        and "".join(parts) == written == final.output[0].arguments
        and _responds_with_call(final)
    )


def _streams_response(events: Any) -> bool:
    events = list(events)
    kinds = [event.type for event in events]
    if [event.sequence_number for event in events] != list(range(len(events))):
        return False
    return (kinds[0], kinds[-1]) in (
        ("response.created", "response.completed"),
        ("response.created", "response.incomplete"),
    ) and "response.output_text.delta" in kinds


def _scores_only(answer: Any) -> bool:
    """Return whether the prompt alone comes back, with the scores of its tokens."""
    choice = answer.choices[0]
    scores = choice.logprobs.token_logprobs
    is_scored = scores[0] is None and all(score < 0 for score in scores[1:])
    return choice.text == "Count from 7 to 18:" and is_scored and answer.usage.completion_tokens == 0


def _fits_schema(text: str) -> bool:
    return set(json.loads(text)) == {"count", "is_even"}


def _is_object(answer: Any) -> bool:
    choice = answer.choices[0]
    return choice.message.content.lstrip().startswith("{") and (
        choice.finish_reason == "length" or isinstance(json.loads(choice.message.content), dict)
    )


def _twice(client: openai.OpenAI) -> list[str | None]:
    asked = _chat(temperature=1.0, seed=7)
    return [asked(client).choices[0].message.content for _ in range(2)]


_JSON_SCHEMA = {"type": "json_schema", "json_schema": {"name": "count", "schema": _SCHEMA, "strict": True}}
_TEXT_SCHEMA = {"format": {"type": "json_schema", "name": "count", "schema": _SCHEMA, "strict": True}}
_USAGE = {"include_usage": True}
_UNSUPPORTED: Any = {"status": 400, "code": "unsupported_parameter"}
_ABSENT: Any = {"status": 404}

CASES: tuple[Case, ...] = (
    Case("models", lambda client: client.models.list(), lambda found: len(found.data) == 1),
    Case("one model", lambda client: client.models.retrieve(client.models.list().data[0].id)),
    Case("another model", lambda client: client.models.retrieve("gpt-4o"), status=404, code="model_not_found"),
    Case("chat", _chat(), _says_something),
    Case("chat streamed", _chat(stream=True, stream_options=_USAGE), _streams),
    Case("chat with every option", _chat(top_p=0.9, temperature=0.7, presence_penalty=0.5, frequency_penalty=0.5)),
    Case(
        "chat with options of other servers",
        _chat(extra_body={"top_k": 40, "min_p": 0.05, "repetition_penalty": 1.1, "stop_token_ids": [2]}),
        _says_something,
    ),
    Case("chat with a seed", _twice, lambda said: said[0] == said[1]),
    Case("chat with stop", _chat(stop=["9"]), lambda answer: "9" not in answer.choices[0].message.content),
    Case("chat limited", _chat(max_tokens=1), lambda answer: answer.choices[0].finish_reason == "length"),
    Case("chat limited anew", _chat(max_tokens=None, max_completion_tokens=3), _says_something),
    Case("chat of parts", _chat(messages=[{"role": "user", "content": [{"type": "text", "text": "Hello"}]}])),
    Case(
        "chat of roles",
        _chat(messages=[{"role": "developer", "content": "Be brief."}, *_HELLO, {"role": "assistant", "content": "7"}]),
    ),
    Case("chat in JSON", _chat(response_format={"type": "json_object"}, max_tokens=40), _is_object),
    Case(
        "chat by schema",
        _chat(response_format=_JSON_SCHEMA, max_tokens=100),
        lambda answer: _fits_schema(answer.choices[0].message.content),
    ),
    Case("chat by bad schema", _chat(response_format={"type": "json_schema"}), status=400),
    Case("chat for accounts", _chat(user="me", metadata={"a": "b"}, store=False), _says_something),
    Case("chat with a neutral choice", _chat(n=1, logprobs=False, tools=[]), _says_something),
    Case("chat of choices", _chat(n=3, temperature=1.0, seed=7), _are_three),
    Case("chat of choices streamed", _chat(n=3, stream=True), _streams_three),
    Case("chat of too many choices", _chat(n=1000), status=400),
    Case("chat with scores", _chat(logprobs=True, top_logprobs=3), _has_scores),
    Case("chat with scores streamed", _chat(logprobs=True, stream=True), _streams_scores),
    Case("chat with bias", _chat(logit_bias={"7": -100}), _says_something),
    Case("chat with a bias for no token", _chat(logit_bias={"123456": 1}), status=400),
    Case("chat with tools and no template", _chat(tools=[_TOOL]), _says_something),
    Case("chat with calls and no template", _chat(messages=_CALLED), _says_something),
    Case("chat with audio", _chat(modalities=["audio"]), status=400),
    Case("chat with effort", _chat(reasoning_effort="low"), _says_something),
    Case("chat without effort", _chat(reasoning_effort="none", verbosity="low"), _says_something),
    Case("chat with words for the template", _chat(extra_body={"chat_template_kwargs": {"a": 1}}), _says_something),
    Case(
        "chat that goes on",
        _chat(
            messages=[*_HELLO, {"role": "assistant", "content": "7, 8,"}],
            extra_body={"continue_final_message": True},
        ),
        lambda answer: answer.choices[0].message.content.lstrip().startswith("9"),
    ),
    Case("chat that answers nothing", _chat(max_tokens=0), lambda answer: answer.usage.completion_tokens == 0),
    Case(
        "chat with an image",
        _chat(messages=[{"role": "user", "content": _IMAGE}]),
        status=400,
        code="unsupported_content",
    ),
    Case("chat with the unknown", _named(extra_body={"frobnicate": 1}), lambda named: named == "frobnicate"),
    Case("chat with the neutral", _named(extra_body={"top_k": -1, "min_p": 0}), lambda named: named is None),
    Case("chat too hot", _chat(temperature=-1), status=400),
    Case("chat without messages", _chat(messages=[]), status=400),
    Case("chat of another model", _chat(model="gpt-4o"), status=404, code="model_not_found"),
    Case(
        "chat too long",
        _chat(messages=[{"role": "user", "content": "word " * 5000}]),
        status=400,
        code="context_length_exceeded",
    ),
    Case("completion", _completion(), _says_something),
    Case("completion streamed", _completion(stream=True, stream_options=_USAGE), _streams),
    Case("completion of one in a list", _completion(prompt=["Count:"]), _says_something),
    Case("completion of several", _completion(prompt=["a", "b", "c"]), _are_three),
    Case("completion of tokens", _completion(prompt=[5, 6, 7]), lambda answer: answer.usage.prompt_tokens == 3),
    Case("completion of lists of tokens", _completion(prompt=[[5, 6], [7], [8]]), _are_three),
    Case("completion of an empty list", _completion(prompt=[]), status=400),
    Case("completion of choices", _completion(n=3), _are_three),
    Case(
        "completion with scores",
        _completion(logprobs=2),
        lambda answer: "".join(answer.choices[0].logprobs.tokens) == answer.choices[0].text,
    ),
    Case("completion with bias", _completion(logit_bias={"7": -100}), _says_something),
    Case(
        "completion with echo",
        _completion(echo=True),
        lambda answer: answer.choices[0].text.startswith("Count from 7 to 18:") and _says_something(answer),
    ),
    Case("completion of scores", _completion(echo=True, logprobs=1, max_tokens=0), _scores_only),
    Case("completion in the middle", _completion(suffix="end"), **_UNSUPPORTED),
    Case("response", _response(), lambda answer: bool(answer.output_text) and answer.usage.output_tokens > 0),
    Case("response streamed", _response(stream=True), _streams_response),
    Case("response with instructions", _response(instructions="Be brief.", input=_HELLO), lambda got: bool(got.output)),
    Case(
        "response by schema",
        _response(text=_TEXT_SCHEMA, max_output_tokens=100),
        lambda got: _fits_schema(got.output_text),
    ),
    Case("response that goes on", _response(previous_response_id="resp-1"), **_UNSUPPORTED),
    Case("response with tools", _response(tools=[{"type": "web_search"}]), lambda got: bool(got.output_text)),
    Case("response with effort", _response(reasoning={"effort": "low"}), lambda got: bool(got.output)),
    Case("response later", _response(background=True), **_UNSUPPORTED),
    Case("response of before", lambda client: client.responses.retrieve("resp-1"), **_ABSENT),
    Case("embedding", _embedding(), lambda found: len(found.data[0].embedding) > 1),
    Case("embeddings", _embedding(input=["a", "b"], encoding_format="float"), lambda found: len(found.data) == 2),
    Case("embedding of a size", _embedding(dimensions=8), lambda found: len(found.data[0].embedding) == 8),
    Case("embedding of too large a size", _embedding(dimensions=1 << 20), status=400),
    Case("embedding of tokens", _embedding(input=[1, 2]), lambda found: found.usage.prompt_tokens == 2),
    Case("embeddings of tokens", _embedding(input=[[1, 2], [3]]), lambda found: len(found.data) == 2),
    Case("files", lambda client: client.files.list(), **_ABSENT),
    Case("images", lambda client: client.images.generate(prompt="a cat"), **_ABSENT),
    Case("speech", lambda client: client.audio.speech.create(input="a", model="x", voice="alloy"), **_ABSENT),
    Case("moderation", lambda client: client.moderations.create(input="a"), **_ABSENT),
    Case("batches", lambda client: client.batches.list(), **_ABSENT),
    Case("tuning", lambda client: client.fine_tuning.jobs.list(), **_ABSENT),
    Case(
        "wrong key", lambda client: client.with_options(api_key="no").models.list(), status=401, code="invalid_api_key"
    ),
)


_ADD = {"type": "function", "function": {"name": "add"}}
_FLAT_ADD = {"type": "function", "name": "add", "parameters": _NUMBERS, "strict": True}
_FLAT_CHOICE = {"type": "function", "name": "add"}
_FLAT_CLOCK = {"type": "function", "name": "clock"}
_ITEMS: list[Any] = [
    {"role": "user", "content": "What is 1 + 2?"},
    {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": '{"a": 1, "b": 2}'},
    {"type": "function_call_output", "call_id": "call_1", "output": "3"},
]
TOOL_CASES: tuple[Case, ...] = (  # These need a model with `TOOL_TEMPLATE`.
    Case("chat with tools", _chat(tools=[_TOOL, _CLOCK]), _says_something),
    Case("chat without a call", _chat(tools=[_TOOL], tool_choice="none"), _says_something),
    Case("a call", _chat(tools=[_TOOL, _CLOCK], tool_choice="required", max_tokens=200), _calls("add", "clock")),
    Case("a named call", _chat(tools=[_CLOCK, _TOOL], tool_choice=_ADD, max_tokens=200), _calls("add")),
    Case("a call without arguments", _chat(tools=[_CLOCK], tool_choice="required", max_tokens=200), _calls("clock")),
    Case("a call streamed", _chat(tools=[_TOOL], tool_choice="required", max_tokens=200, stream=True), _streams_call),
    Case("a result", _chat(tools=[_TOOL], messages=_CALLED), _says_something),
    Case("a named call of no tool", _chat(tools=[_CLOCK], tool_choice=_ADD), status=400),
    Case(
        "a call and a schema",
        _chat(tools=[_TOOL], tool_choice="required", response_format=_JSON_SCHEMA, max_tokens=200),
        _calls("add"),
    ),
    Case("response with functions", _response(tools=[_FLAT_ADD, _FLAT_CLOCK]), lambda found: bool(found.output)),
    Case(
        "a call in a response",
        _response(
            tools=[_FLAT_CLOCK, _FLAT_ADD], tool_choice={"type": "function", "name": "add"}, max_output_tokens=200
        ),
        _responds_with_call,
    ),
    Case(
        "a call streamed in a response",
        _response(tools=[_FLAT_ADD], tool_choice="required", max_output_tokens=200, stream=True),
        _streams_call_in_response,
    ),
    Case("a result in a response", _response(tools=[_FLAT_ADD], input=_ITEMS), lambda found: bool(found.output_text)),
    Case(
        "a response's call and schema",
        _response(
            tools=[_FLAT_ADD],
            tool_choice="required",
            text={"format": {"type": "json_object"}},
            max_output_tokens=200,
        ),
        _responds_with_call,
    ),
    Case("a result without a text", _response(tools=[_FLAT_ADD], input=[{**_ITEMS[2], "output": 3}])),
    Case("a tool of another type", _named(tools=[{"type": "search"}, _TOOL]), lambda named: named == "tools[0]"),
)


def not_as_documented(url: str, key: str, cases: tuple[Case, ...] = CASES) -> dict[str, str]:
    """Return what happened instead, for each request that neither answers nor refuses as documented."""
    client = openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=60.0)
    found = {case.name: _difference(case, client) for case in cases}
    return {name: difference for name, difference in found.items() if difference}


def _difference(case: Case, client: openai.OpenAI) -> str:
    try:
        answer = case.ask(client)
        is_right = case.is_right(answer)
    except openai.APIStatusError as error:
        is_as_told = (case.status, case.code) == (error.status_code, error.code) and bool(error.message)
        return "" if is_as_told else f"{error.status_code} {error.code}: {error.message[:200]}"
    except Exception as error:
        return repr(error)[:200]
    if case.status != ANSWERED:
        return "answered"
    return "" if is_right else f"a wrong answer: {str(answer)[:200]}"
