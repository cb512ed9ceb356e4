"""How tools are offered to a model, and how its calls are read."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from potluck_control.resources import DEMO_MODEL, resource
from potluck_gateway.answers.completion import Text
from potluck_gateway.answers.grammar import Grammars
from potluck_gateway.answers.tools import CallForm, CallReader, call_grammar, form_of
from potluck_gateway.requests import Tool, Tools, ToolsError

from benchmarks.gateway_cases import TOOL_TEMPLATE

TOOLS = Tools((Tool("add", {"type": "object", "properties": {"a": {"enum": [1]}}}),))
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
    tools = replace(TOOLS, is_parallel=False)
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
