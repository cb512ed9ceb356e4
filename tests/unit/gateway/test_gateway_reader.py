"""How an answer is read into thinking, text and calls, and kept to a call."""

import json
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace

import pytest
import torch
from potluck_control.resources import DEMO_MODEL, resource
from potluck_gateway.answers.completion import TextTokenizer
from potluck_gateway.answers.grammar import Grammars
from potluck_gateway.answers.prompts import Prompts
from potluck_gateway.answers.reader import AnswerReader
from potluck_gateway.answers.syntax import GENERIC, AnswerSyntax, call_grammar, opens_thinking, syntax_of
from potluck_gateway.exchange import ChatMessage, ChatRequest, PartKind, Tool, Tools

TOOLS = Tools((Tool("add", {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}),))
HERMES = syntax_of('<think> <tool_call> "arguments": ', ())
LLAMA = syntax_of('Respond in the format {"name": function name, "parameters": dictionary}.', ())
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
READ = ("add", {"a": 1})


def _loaded(arguments: str) -> object:
    """Return arguments, or their text if they are broken."""
    with suppress(ValueError):
        return json.loads(arguments)
    return arguments


def read(
    form: AnswerSyntax,
    written: str,
    tools: Tools | None = TOOLS,
    *,
    special: Collection[str] = (),
    thinks: bool = False,
    is_cut: bool = False,
) -> tuple[str, str, list[tuple[str, object]]]:
    """Return the text, the thinking and the calls of an answer, which is the same in pieces of any size."""
    found = []
    for size in (1, 2, 5, 1000):
        reader = AnswerReader(form, tools, special=special, thinks=thinks)
        parts = []
        for run in re.split(f"({'|'.join(map(re.escape, special))})", written) if special else [written]:
            pieces = [run] if run in special else [run[at : at + size] for at in range(0, len(run), size)]
            for piece in pieces:
                parts += reader.feed(piece, is_special=piece in special)
        parts += reader.finish(is_cut=is_cut)
        said = {kind: "".join(part.text for part in parts if part.kind is kind) for kind in PartKind}
        calls = [(call.name, _loaded(call.arguments)) for call in reader.calls]
        streamed: dict[str, str] = {}
        for part in parts:
            if part.call is not None:
                streamed[part.call.call_id] = streamed.get(part.call.call_id, "") + part.text
        assert {call.call_id: call.arguments for call in reader.calls}.items() <= streamed.items()
        assert len({call.call_id for call in reader.calls}) == len(calls)
        found.append((said[PartKind.TEXT], said[PartKind.THINKING], calls))
    assert all(one == found[0] for one in found)
    return found[0]


@pytest.mark.parametrize(
    ("written", "text", "thinking", "calls"),
    [
        (f"<think>\nHm {CALL}\n</think>\n\nSo:\n{CALL}\n{CALL}", "So:", f"Hm {CALL}", [READ, READ]),
        ("A tag like <think> or <tool_call> is only named.", None, "", []),
        ("a < b </thing> <tool", None, "", []),
        ("</think>\nText", "Text", "", []),
        ('<tool_call>{"name": "sub", "arguments": {}}</tool_call>', None, "", []),
        ('<tool_call>{"name": "add", "arguments": [1]}</tool_call>', None, "", []),
        ('<tool_call>{"name": "add", "argum', None, "", []),
        ('<tool_call>{"name": "add", "arguments": "{\\"a\\": 1}"}', "", "", [READ]),
        ("<think>Only a thought", "", "Only a thought", []),
    ],
)
def test_thinking_text_and_calls_are_told_apart_and_nothing_else_is_lost(
    written: str, text: str | None, thinking: str, calls: list[object]
) -> None:
    assert read(HERMES, written) == (written if text is None else text, thinking, calls)


def test_thinking_that_the_prompt_has_begun_ends_at_its_tag() -> None:
    assert opens_thinking(HERMES, "assistant\n<think>\n")
    assert not opens_thinking(HERMES, "assistant\n<think>\n\n</think>\n\n")
    assert read(HERMES, "Hm.\n</think>\n\nYes.", thinks=True) == ("Yes.", "Hm.", [])


def test_a_tag_that_is_a_token_is_only_a_tag_as_that_token() -> None:
    tokens = ("<think>", "</think>", "<|im_end|>")
    reader = AnswerReader(HERMES, None, special=tokens)
    parts = [*reader.feed("<think>", is_special=True), *reader.feed("no </think> yet")]
    parts += [
        *reader.feed("</think>", is_special=True),
        *reader.feed("Yes"),
        *reader.feed("<|im_end|>", is_special=True),
    ]
    assert [(part.kind, part.text) for part in parts + reader.finish(is_cut=False)] == [
        (PartKind.THINKING, "no </think> yet"),
        (PartKind.TEXT, "Yes"),
    ]


def test_calls_with_tags_in_their_texts_or_the_same_ids_are_kept() -> None:
    tag = json.dumps({"name": "add", "arguments": {"b": "a </tool_call> b"}})
    assert read(HERMES, f"<tool_call>{tag}</tool_call> Done")[::2] == ("Done", [("add", {"b": "a </tool_call> b"})])
    same = '<tool_call>{"id": "c", "name": "add", "arguments": {"a": 1}}</tool_call>'
    assert read(HERMES, same * 2)[2] == [READ, READ]


@pytest.mark.parametrize(
    ("template", "begin", "more"),
    [
        ("<tool_call><arg_key>", "<tool_call>add\n", "<arg_key>a</arg_key><arg_value>"),
        ("<tool_call><function=", "<tool_call><function=add>", "<function="),
        ("<tool_call><function=", "<tool_call><function=add>", "<parameter=a>"),
        ("<tool_call><function=", "<tool_call><function=add><parameter=", "aaaa"),
        ('<tool_call> "arguments": ', '<tool_call>{"name": "add", "arguments": {"b": "', "\\\\ <|"),
        ('<tool_call> "arguments": ', '<tool_call>{"name": ', '"a": "b", '),
        ("<|tool_call>", '<|tool_call>call:add{b:<|"|>', '<|"'),
        ("<minimax:tool_call>", "<minimax:tool_call><invoke", ' name="add"><parameter name="a">'),
        ("<｜tool▁call▁begin｜>", "<｜tool▁call▁begin｜>", " "),
    ],
)
def test_a_call_that_never_ends_is_read_in_time_that_grows_with_it(template: str, begin: str, more: str) -> None:
    """The patterns would take hours for this if they tried every way to cut it."""
    form = syntax_of(template, ())
    reader = AnswerReader(form, TOOLS)
    parts = [*reader.feed(begin), *reader.feed(more * 20_000), *reader.finish(is_cut=False)]
    assert sum(len(part.text) for part in parts) > 0


KIMI = "<|tool_calls_section_begin|><|tool_call_begin|>functions.{}:0<|tool_call_argument_begin|>{{}}<|tool_call_end|>"


@pytest.mark.parametrize(
    ("template", "special", "written", "text", "calls"),
    [  # a token that is only a part of tags, tags in values, white space of the layout, and a tool that is not known
        (
            "｜DSML｜function_calls>",
            ("｜DSML｜",),
            '<｜DSML｜function_calls>\n<｜DSML｜invoke name="add">\n<｜DSML｜parameter name="a" string="false">1'
            "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
            "",
            [READ],
        ),
        (
            "<tool_call><arg_key></think>",
            (),
            "\nSo\n<tool_call>add\n<arg_key>b</arg_key>\n<arg_value>a </tool_call> b</arg_value>\n</tool_call>",
            "So",
            [("add", {"b": "a </tool_call> b"})],
        ),
        (
            "<minimax:tool_call>",
            ("<minimax:tool_call>", "</minimax:tool_call>"),
            '<minimax:tool_call>\n<invoke name="add">\n<parameter name="b">1 </invoke> 2</parameter>\n</invoke>\n'
            "</minimax:tool_call> So",
            "So",
            [("add", {"b": "1 </invoke> 2"})],
        ),
        (
            "<|tool_call_begin|>",
            ("<|tool_call_begin|>", "<|tool_call_end|>"),
            KIMI.format("sub"),
            KIMI.format("sub"),
            [],
        ),
        ("<|tool_call_begin|>", (), KIMI.format("add"), "", [("add", {})]),
        (
            "<|tool_call>",
            ("<|tool_call>", '<|"|>'),
            '<|tool_call>call:add{b:<|"|>{x, y: 1}<|"|>}<tool_call|>',
            "",
            [("add", {"b": "{x, y: 1}"})],
        ),
    ],
)
def test_tags_are_told_from_what_only_looks_like_them(
    template: str, special: Collection[str], written: str, text: str, calls: list[object]
) -> None:
    assert read(syntax_of(template, special), written, special=special) == (text, "", calls)


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('{"a": 1, "b": "x\ty\nz"}', {"a": 1, "b": "x\ty\nz"}),
        ("{'a': None, b: NaN, \"c\": [True, -1.5e3, 007]}", {"a": None, "b": None, "c": [True, -1500.0, "007"]}),
        ('{"b": "\\ud83d\\ude42 \\" \\\\"', {"b": '🙂 " \\'}),  # without the last brace
        ('{"a": 1}}', {"a": 1}),
        (r'{"a": "it\'s", "b": "\d+ \$"}', {"a": "it's", "b": r"\d+ \$"}),
    ],
)
def test_arguments_become_json_where_models_write_what_is_nearly_json(written: str, arguments: object) -> None:
    call = f'<tool_call>{{"name": "add", "arguments": {written}}}</tool_call> Done'
    assert read(HERMES, call) == ("Done", "", [("add", arguments)])
    call = f"<tool_call><function=add>{written}</function></tool_call> Done"
    assert read(syntax_of("<function= <parameter=", ()), call) == ("Done", "", [("add", arguments)])


def test_a_tag_that_ends_values_is_text_where_nothing_follows_that_may_follow_a_value() -> None:
    file = "<config>\n  <parameter>a</parameter>\n  <other/>\n</config>"
    pairs = f"<parameter=b>\n{file}\n</parameter>\n<parameter=a>\n1\n</parameter>"
    call = f"<tool_call>\n<function=add>\n{pairs}\n</function>\n</tool_call>"
    assert read(syntax_of("<function= <parameter=", ()), call)[2] == [("add", {"b": file, "a": 1})]


def test_broken_arguments_end_where_their_object_ends() -> None:
    assert read(HERMES, '<tool_call>\n{"name": "add", "arguments": {"a": 1,}}\n</tool_call>')[2] == [
        ("add", '{"a": 1,}')
    ]


@pytest.mark.parametrize("broken", ['{"a" 1}', '{"b": "x}', '{"a": 1]', '{"a": <b>}', "{a b: 1}"])
def test_a_call_whose_arguments_are_broken_is_a_call_all_the_same_and_is_not_said_twice(broken: str) -> None:
    call = f'<tool_call>{{"name": "add", "arguments": {broken}}}</tool_call> Done'
    text, _, calls = read(HERMES, call)
    assert (text.removesuffix("Done"), [name for name, _ in calls]) == ("", ["add"])


@pytest.mark.parametrize("form", [HERMES, GENERIC])
def test_a_call_that_the_limit_cuts_leaves_nothing_in_the_text(form: AnswerSyntax) -> None:
    for end in range(1, len(CALL)):
        text, _, calls = read(form, f"So: {CALL[:end]}", is_cut=True)
        assert (text.strip(), calls) in (("So:", []), ("So:", [READ]))


def test_only_one_call_is_taken_if_parallel_ones_are_not_wanted_and_none_without_tools() -> None:
    assert read(HERMES, CALL * 2, Tools(TOOLS.offered, is_parallel=False))[2] == [READ]
    assert read(HERMES, CALL, None) == (CALL, "", [])


@pytest.mark.parametrize(
    ("written", "calls"),
    [
        ('{"name": "add", "parameters": {"a": 1}}', [READ]),
        ('{"name": "add", "parameters": {"a": 1}}; {"name": "add", "arguments": {}}', [READ, ("add", {})]),
        ('[{"name": "add", "parameters": {"a": 1}}]', [READ]),
        ('{"sum": 3}', []),
        ('[1, {"name": "add"}]', []),
        ('See {"name": "add", "parameters": {}}', []),
    ],
)
def test_an_answer_of_json_alone_may_be_a_call(written: str, calls: list[object]) -> None:
    assert read(LLAMA, written) == ("" if calls else written, "", calls)


@pytest.mark.parametrize(
    "template",
    [
        '<tool_call> "arguments": ',
        '{"name": "x", "parameters": ',
        "<tool_calls>",
        "<|START_ACTION|>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁call▁begin｜>```json",
        "<|tool_call_begin|>",
        "[TOOL_CALLS]",
        "<|channel|>commentary",
    ],
)
def test_a_grammar_lets_through_only_calls_that_fit_and_that_are_read_as_such(template: str) -> None:
    tokenizer = TextTokenizer(resource(DEMO_MODEL)).tokenizer
    closed = {"type": "object", "additionalProperties": False}
    one = {"properties": {"a": {"$ref": "#/$defs/one"}}, "required": ["a"], "$defs": {"one": {"const": 1}}}
    tools = (Tool("add", closed | one), Tool("clock", closed))
    form = syntax_of(template, ())
    grammars = Grammars(tokenizer, [tokenizer.eos_token_id])
    for seed in range(6):
        assert form.calls is not None
        grammar = grammars.of_call(call_grammar(tools, form.calls, {}))
        random, tokens = torch.Generator().manual_seed(seed), []
        while not grammar.is_over:
            scores = grammar(torch.zeros(1, 1), torch.zeros(1, len(tokenizer)))
            tokens.append(int(torch.multinomial(scores.softmax(-1), 1, generator=random)))
            grammar.consume(tokens[-1])
        assert grammar.is_whole
        written = tokenizer.decode(tokens, skip_special_tokens=True)
        text, _, (call,) = read(form, written, Tools(tools))
        assert text == ""
        assert call in [("add", {"a": 1}), ("clock", {})]


def test_a_call_that_must_be_made_is_taught_in_words_where_arguments_are_no_json() -> None:
    text = TextTokenizer(resource(DEMO_MODEL))
    text.tokenizer.chat_template = "{{ tools }}<function=NAME><parameter=KEY>{{ messages }}"
    asked = ChatRequest((ChatMessage("user", "Hi"),), tools=TOOLS)
    own, forced = (
        Prompts(text).prepare(replace(asked, tools=replace(TOOLS, must_call=must))).syntax
        for must in ((), TOOLS.offered)
    )
    assert own is not None
    assert forced is not None
    assert own.calls != GENERIC.calls == forced.calls


@pytest.mark.parametrize(
    ("template", "written", "calls"),
    [
        ("<function=", "<function=add>\n<parameter=b>\n</parameter>\n</function>", [("add", {"b": ""})]),
        ("<function=", "<function=add>\n<parameter=b>\n\n a\n\n</parameter>\n</function>", [("add", {"b": "\n a\n"})]),
        ("<function=", "<function=add>\n</function>", [("add", {})]),
        (
            "<function=",
            "<function=add><parameter=a>[1, 'x', None, True]</parameter>",
            [("add", {"a": [1, "x", None, True]})],
        ),
        ("[TOOL_CALLS]", '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1}, "id": "123456789"}]', [READ]),
        (
            "<tool_calls>",
            '<tool_calls>[{"name": "add"}, {"arguments": {"a": 1}, "name": "add"}]</tool_calls>',
            [("add", {}), READ],
        ),
    ],
)
def test_values_of_pairs_and_objects_in_any_order_are_read(template: str, written: str, calls: list[object]) -> None:
    assert read(syntax_of(template, ()), written) == ("", "", calls)


def test_the_id_that_a_model_gives_a_call_is_kept() -> None:
    reader = AnswerReader(syntax_of("<|tool_call_begin|>", ()), TOOLS)
    reader.feed(KIMI.format("add"))
    assert reader.calls[0].call_id == "functions.add:0"
