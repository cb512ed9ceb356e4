"""How tools are offered to a model, and how its calls are read."""

import json
from typing import Any

import pytest
import torch
from potluck_control.resources import DEMO_MODEL, resource
from potluck_gateway.answers.answer import Answer, Part, ToolCall
from potluck_gateway.answers.completion import Text
from potluck_gateway.answers.grammar import Grammars
from potluck_gateway.answers.tools import CallForm, CallReader, Tools, call_grammar, form_of, parse_tools
from potluck_gateway.formats.chat import ChatFormat
from potluck_gateway.formats.ollama import OllamaFormat
from potluck_gateway.formats.responses import ResponseFormat, parse_response_request
from potluck_gateway.requests import BadRequestError, Tool, ToolsError, parse_message

from benchmarks.gateway_cases import TOOL_TEMPLATE

ADD = {"type": "function", "function": {"name": "add", "parameters": {"properties": {"a": {"enum": [1]}}}}}
TOOLS = parse_tools({"tools": [ADD]})
LLAMA = 'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.'
QWEN = r"<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>"
CODER = "<tool_call>\n<function=example_function_name>"


@pytest.mark.parametrize(
    ("template", "form"),
    [
        (TOOL_TEMPLATE, CallForm.TAGGED),
        (QWEN, CallForm.TAGGED),
        (LLAMA, CallForm.BARE),
        (CODER, None),
        ("{{ messages }}", None),
    ],
)
def test_a_template_shows_how_calls_are_written(template: str, form: CallForm | None) -> None:
    assert form_of(template) == form


@pytest.mark.parametrize(
    ("form", "text", "before", "arguments"),
    [
        (CallForm.TAGGED, 'So: <tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>', "So: ", [{"a": 1}]),
        (CallForm.TAGGED, '<tool_call>{"name": "add", "arguments": {}}</tool_call>\n' * 2, "", [{}, {}]),
        (CallForm.TAGGED, '<tool_call>{"name": "add", "arguments": {"a": 1}}', "", [{"a": 1}]),
        (CallForm.BARE, '{"name": "add", "parameters": {"a": 1}}', "", [{"a": 1}]),
        (CallForm.BARE, '{"name": "add", "parameters": {}}; {"name": "add", "arguments": {}}', "", [{}, {}]),
        (CallForm.BARE, '[{"name": "add", "parameters": {}}]', "", [{}]),
    ],
)
def test_calls_are_told_from_the_text(form: CallForm, text: str, before: str, arguments: list[dict[str, Any]]) -> None:
    said, calls = CallReader(TOOLS, form).split(text)
    assert said == before
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [("add", one) for one in arguments]
    assert len({call.call_id for call in calls}) == len(calls)


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "sub", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "add", "arguments": [1]}</tool_call>',
        '<tool_call>{"name": "add", "argum',
        "<tool_call></tool_call>",
        '<tool_call>{"name": "add", "arguments": {}}</tool_call><tool_call>?</tool_call>',
        "<tool_call>" + "[" * 100_000,
    ],
)
def test_what_is_no_call_of_a_known_tool_stays_text(text: str) -> None:
    assert CallReader(TOOLS, CallForm.TAGGED).split(text) == (text, ())
    bare = text.removeprefix("<tool_call>").removesuffix("</tool_call>")
    assert CallReader(TOOLS, CallForm.BARE).split(bare) == (bare, ())


def test_no_part_of_a_call_is_shown_while_it_is_written() -> None:
    tagged, bare = (CallReader(TOOLS, form) for form in (CallForm.TAGGED, CallForm.BARE))
    text = 'Yes < no <tool_call>{"name": "add"}'
    shown = [tagged.plain(text[:size]) for size in range(len(text) + 1)]
    assert shown[-1] == "Yes < no "
    assert all(text.startswith(part) for part in shown)
    assert shown[5:7] == ["Yes ", "Yes < "]
    assert [bare.plain(part) for part in ("", " ", ' {"name', "Yes {")] == ["", "", "", "Yes {"]


def test_only_one_call_is_taken_if_parallel_ones_are_not_wanted() -> None:
    tools = parse_tools({"tools": [ADD], "parallel_tool_calls": False})
    call = '<tool_call>{"name": "add", "arguments": {}}</tool_call>'
    reader = CallReader(tools, CallForm.TAGGED)
    assert [reader.is_enough(text) for text in ("so", call[:-1], call)] == [False, False, True]
    assert len(reader.split(call * 2)[1]) == 1


@pytest.mark.parametrize("form", CallForm)
def test_a_grammar_lets_through_only_calls_that_fit(form: CallForm) -> None:
    tokenizer = Text(resource(DEMO_MODEL)).tokenizer
    closed = {"type": "object", "additionalProperties": False}
    one = {"properties": {"a": {"$ref": "#/$defs/one"}}, "required": ["a"], "$defs": {"one": {"const": 1}}}
    tools = (Tool("add", closed | one), Tool("clock", closed))
    grammars = Grammars(tokenizer)
    for seed in range(8):
        grammar, random = grammars.of_lark(call_grammar(tools, form)), torch.Generator().manual_seed(seed)
        tokens: list[int] = []
        while not grammar.is_complete:
            scores = grammar(torch.zeros(1, 1), torch.zeros(1, len(tokenizer)))
            tokens.append(int(torch.multinomial(scores.softmax(-1), 1, generator=random)))
            grammar.take(tokens[-1])
        (call,) = CallReader(Tools(tools), form).split(tokenizer.decode(tokens, skip_special_tokens=True))[1]
        assert (call.name, json.loads(call.arguments)) in [("add", {"a": 1}), ("clock", {})]


@pytest.mark.parametrize(
    "asked",
    [
        {"tools": {"a": 1}},
        {"tools": [ADD] * 129},
        {"tools": [{"type": "custom"}]},
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        {"tools": [{"type": "function", "function": {"name": "a", "parameters": [1]}}]},
        {"tools": [ADD], "tool_choice": "any"},
        {"tools": [], "tool_choice": "required"},
        {"tools": [ADD], "tool_choice": {"type": "function", "function": {"name": "sub"}}},
        {"tools": [ADD], "tool_choice": "required", "response_format": {"type": "json_object"}},
    ],
)
def test_tools_that_make_no_sense_are_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(BadRequestError):
        parse_tools(asked)


def test_tools_that_may_not_be_called_are_not_offered() -> None:
    assert parse_tools({"tools": [ADD], "tool_choice": "none"}) is None
    assert parse_tools({}) is None


@pytest.mark.parametrize(
    "call",
    [
        5,
        {},
        {"function": {"name": 5}},
        {"function": {"name": "a", "arguments": "{"}},
        {"function": {"name": "a", "arguments": "[]"}},
    ],
)
def test_a_call_in_a_message_that_makes_no_sense_is_refused(call: object) -> None:
    with pytest.raises(BadRequestError):
        parse_message({"role": "assistant", "tool_calls": [call]})


def test_a_template_is_given_tools_calls_and_results() -> None:
    text = Text(resource(DEMO_MODEL))
    text.tokenizer.chat_template = TOOL_TEMPLATE
    definitions = [tool.definition for tool in TOOLS.offered]
    called = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]}
    tokens = text.encode_chat([called, {"role": "tool", "content": "3"}], definitions)
    written = text.decode(tokens[0].tolist())
    assert '{"name": "add", "arguments": {"a": 1}}' in written
    assert '"enum": [1]' in written
    text.tokenizer.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    with pytest.raises(ToolsError, match="no place for tools"):
        text.encode_chat([{"role": "user", "content": "x"}], definitions)
    with pytest.raises(ToolsError, match="no place for tools"):
        text.encode_chat([called])


def test_calls_are_written_in_both_formats() -> None:
    answer = Answer("", "tool_calls", 1, 2, calls=(ToolCall("call_1", "add", '{"a": 1}'),))
    choice = ChatFormat("m", with_usage=False).whole((answer,))["choices"][0]
    function = {"name": "add", "arguments": '{"a": 1}'}
    assert choice["message"]["content"] is None
    assert choice["message"]["tool_calls"] == [{"id": "call_1", "type": "function", "function": function}]
    message = OllamaFormat("m", is_chat=True).whole((answer,))["message"]
    assert message["tool_calls"] == [{"function": {"name": "add", "arguments": {"a": 1}}}]


def test_items_of_a_response_become_the_messages_of_a_chat() -> None:
    call = {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": "{}"}
    items = [
        {"role": "user", "content": "Add."},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So: "}]},
        call,
        call | {"call_id": "call_2"},
        {"type": "function_call_output", "call_id": "call_1", "output": "1"},
        {"type": "function_call_output", "call_id": "call_2", "output": [{"type": "input_text", "text": "2"}]},
    ]
    tools = [{"type": "function", "name": "add", "parameters": {"properties": {"a": {}}}, "strict": False}]
    body = json.dumps({"input": items, "tools": tools, "tool_choice": {"type": "function", "name": "add"}})
    asked = parse_response_request(body.encode(), 10)
    user, assistant, *results = asked.messages
    assert (user.content, assistant.content) == ("Add.", "So: ")
    assert [one.call_id for one in assistant.calls] == ["call_1", "call_2"]
    wanted = [("tool", "1", "call_1"), ("tool", "2", "call_2")]
    assert [(one.role, one.content, one.call_id) for one in results] == wanted
    assert [tool.name for tool in asked.tools.must_call] == ["add"]
    for bad in ({"tools": [{"type": "web_search"}]}, {"tools": 5}, {"input": [{"type": "function_call", "name": 5}]}):
        with pytest.raises(BadRequestError):
            parse_response_request(json.dumps({"input": "a", **bad}).encode(), 10)


def test_a_streamed_response_has_the_text_before_its_calls() -> None:
    calls = (ToolCall("call_1", "add", '{"a": 1}'), ToolCall("call_2", "add", "{}"))
    written = ResponseFormat("model", TOOLS)
    stream = (
        written.begin() + written.part(Part("So: ")) + written.end((Answer("So: ", "tool_calls", 3, 9, calls=calls),))
    )
    events = [json.loads(line[6:]) for line in stream.decode().splitlines() if line.startswith("data: ")]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert [item["type"] for item in items] == ["message", "function_call", "function_call"]
    assert [event["output_index"] for event in events if event["type"] == "response.output_item.added"] == [0, 1, 2]
    assert events[-1]["response"]["output"] == items
    assert [tool["name"] for tool in events[-1]["response"]["tools"]] == ["add"]
