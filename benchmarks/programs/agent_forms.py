"""Answers of 12 families of models as they stream: `agent_forms`.

Each family's published layout is a small chat template of ours that writes an answer as its models do, so the layout
stands here once, beside nothing of the gateway's. An answer comes in pieces of every length, its tags as tokens of
their own or split anywhere, and cut at each token. In the soak, published templates write calls, too.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import product, takewhile
from pathlib import Path
from typing import Any

import jinja2
from potluck_gateway.answers.reader import AnswerReader
from potluck_gateway.answers.syntax import GENERIC, AnswerSyntax, opens_thinking, syntax_of
from potluck_gateway.exchange import PartKind, Tool, Tools
from transformers.utils.chat_template_utils import render_jinja_template

from benchmarks.figures import Measured, figure

PIECES = (1, 2, 3, 5, 7, 16, 0)  # letters; 0: all at once
_CUT_PIECES = 4
_NAMED = "\ue000"  # a cut within a tag that the model only names, so it is no token of its own
_MODES = ("off", "written", "opened", "empty")  # how thinking comes


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """The form in which a family writes an answer.

    Attributes:
        template: writes `thinking`, `text` and `calls`, and shows it to `syntax_of`; empty if there is none.
        opening: what begins thinking, which the prompt may have written; empty if prompts never do.
        tags: that are tokens of their own in some tokenizers. `marks`: those inside a call.
        is_generic: the form is only described in words.
        can_name: thinking may name a tag that is no token of its own.
    """

    name: str
    template: str
    tags: tuple[str, ...]
    opening: str = "<think>\n"
    marks: tuple[str, ...] = ()
    is_generic: bool = False
    can_name: bool = True

    def write(self, thinking: str, text: str, calls: Sequence[Call]) -> str:
        """Return an answer as the model writes it."""
        return _compiled(self.template).render(thinking=thinking, text=text, calls=calls)

    def form(self, tokens: Sequence[str]) -> AnswerSyntax:
        """Return what the gateway takes the layout for. `tokens`: the texts of the tokenizer's added ones."""
        form = GENERIC if self.is_generic else syntax_of(self.template, tokens)
        assert form is not None
        return form


@dataclass(frozen=True, slots=True)
class Said:
    """What an answer says. Calls are their names and their arguments as sorted JSON."""

    thinking: str
    text: str
    calls: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """An answer with what it says.

    Attributes:
        ends: in how many letters each of the calls is whole.
        needs_tokens: it names tags where only tokens can tell them from tags.
    """

    layout: Layout
    label: str
    prompt: str
    written: str
    said: Said
    ends: tuple[int, ...]
    needs_tokens: bool


class Verdict(StrEnum):
    """Names what becomes of a published template."""

    RIGHT = "right"
    UNKNOWN = "unknown"  # its calls are of no form that is known, so its model is told the generic one
    SKIPPED = "skipped"  # it knows no tools, or refuses


@dataclass(frozen=True, slots=True)
class Token:
    written: str
    is_special: bool

    @property
    def text(self) -> str:
        return self.written.replace(_NAMED, "")


@cache
def _compiled(template: str) -> jinja2.Template:
    environment = jinja2.Environment(keep_trailing_newline=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(template)


_THINK = "{% if thinking %}<think>\n{{ thinking }}\n</think>\n\n{% endif %}{{ text }}"
_THINK_TAGS = ("<think>", "</think>")
_ARGUMENTS = "{{ call.arguments | tojson }}"
_VALUE = "{{ value if value is string else value | tojson }}"
_PAIRS = "{% for key, value in call.arguments.items() %}"
_HERMES = Layout(
    "Hermes",
    _THINK + "{% for call in calls %}\n<tool_call>\n"
    '{"name": "{{ call.name }}", "arguments": ' + _ARGUMENTS + "}\n</tool_call>{% endfor %}",
    (*_THINK_TAGS, "<tool_call>", "</tool_call>"),
)
_DEEPSEEK = Layout(
    "DeepSeek V3.1",
    _THINK + "{% if calls %}<｜tool▁calls▁begin｜>{% for call in calls %}<｜tool▁call▁begin｜>{{ call.name }}"
    "<｜tool▁sep｜>" + _ARGUMENTS + "<｜tool▁call▁end｜>{% endfor %}<｜tool▁calls▁end｜>{% endif %}",
    (*_THINK_TAGS, "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"),
    marks=("<｜tool▁sep｜>",),
)
_GEMMA = Layout(
    "Gemma 4",
    """
{%- macro shown(value) -%}
    {%- if value is string -%}<|"|>{{ value }}<|"|>
    {%- elif value is mapping -%}
        {{ "{" }}{% for key, item in value.items() %}{{ key }}:{{ shown(item) }}{{ "," if not loop.last }}{% endfor %}}
    {%- elif value is iterable -%}
        [{% for item in value %}{{ shown(item) }}{{ "," if not loop.last }}{% endfor %}]
    {%- else -%}{{ value | tojson }}
    {%- endif -%}
{%- endmacro -%}
{%- if thinking -%}<|channel>thought
{{ thinking }}
<channel|>{%- endif -%}
{{- text -}}
{%- for call in calls -%}<|tool_call>call:{{ call.name }}{{ shown(call.arguments) }}<tool_call|>{%- endfor -%}""",
    ("<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>"),
    opening="<|channel>thought\n",
    marks=('<|"|>',),
)
LAYOUTS = (
    _HERMES,
    Layout(
        "Qwen3-Coder",
        _THINK + "{% for call in calls %}\n<tool_call>\n<function={{ call.name }}>\n"
        f"{_PAIRS}<parameter={{{{ key }}}}>\n{_VALUE}\n</parameter>\n"
        "{% endfor %}</function>\n</tool_call>{% endfor %}",
        _HERMES.tags,
    ),
    Layout(
        "GLM",
        "{% if thinking %}<think>{{ thinking }}</think>\n{% endif %}{{ text }}"
        "{% for call in calls %}\n<tool_call>{{ call.name }}\n"
        f"{_PAIRS}<arg_key>{{{{ key }}}}</arg_key>\n<arg_value>{_VALUE}</arg_value>\n"
        "{% endfor %}</tool_call>{% endfor %}",
        _HERMES.tags,
        opening="<think>",
        marks=("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    ),
    Layout(
        "DeepSeek V3",
        _THINK + '{% if calls %}<｜tool▁calls▁begin｜>{% for call in calls %}{{ "\n" if not loop.first }}'
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{{ call.name }}\n```json\n"
        + _ARGUMENTS
        + "\n```<｜tool▁call▁end｜>{% endfor %}<｜tool▁calls▁end｜>{% endif %}",
        _DEEPSEEK.tags,
        marks=_DEEPSEEK.marks,
    ),
    _DEEPSEEK,
    Layout(
        "Kimi K2",
        "{% if thinking %}<think>{{ thinking }}</think>{% endif %}{{ text }}"
        "{% if calls %}<|tool_calls_section_begin|>{% for call in calls %}<|tool_call_begin|>functions.{{ call.name }}:"
        "{{ loop.index0 }}<|tool_call_argument_begin|>" + _ARGUMENTS + "<|tool_call_end|>{% endfor %}"
        "<|tool_calls_section_end|>{% endif %}",
        (
            *_THINK_TAGS,
            "<|tool_calls_section_begin|>",
            "<|tool_calls_section_end|>",
            "<|tool_call_begin|>",
            "<|tool_call_end|>",
        ),
        opening="<think>",
        marks=("<|tool_call_argument_begin|>",),
    ),
    Layout(
        "MiniMax M2",
        _THINK + "{% if calls %}\n<minimax:tool_call>\n{% for call in calls %}"
        f'<invoke name="{{{{ call.name }}}}">\n{_PAIRS}<parameter name="{{{{ key }}}}">{_VALUE}</parameter>\n'
        "{% endfor %}</invoke>\n{% endfor %}</minimax:tool_call>{% endif %}",
        (*_THINK_TAGS, "<minimax:tool_call>", "</minimax:tool_call>"),
    ),
    Layout(
        "Mistral",
        "{% if thinking %}[THINK]{{ thinking }}[/THINK]{% endif %}{{ text }}"
        "{% for call in calls %}[TOOL_CALLS]{{ call.name }}[ARGS]" + _ARGUMENTS + "{% endfor %}",
        ("[THINK]", "[/THINK]", "[TOOL_CALLS]"),
        opening="[THINK]",
        marks=("[ARGS]",),
    ),
    Layout(
        "Llama 3",
        _THINK + '{% if calls %}{{ "<|python_tag|>" if text }}{% for call in calls %}{{ "; " if not loop.first }}'
        '{"name": "{{ call.name }}", "parameters": ' + _ARGUMENTS + "}{% endfor %}{% endif %}",
        (*_THINK_TAGS, "<|python_tag|>"),
    ),
    _GEMMA,
    Layout(
        "FunctionGemma",
        _GEMMA.template.replace('<|"|>', "<escape>")
        .replace("<|tool_call>", "<start_function_call>")
        .replace("<tool_call|>", "<end_function_call>"),
        (*_GEMMA.tags[:2], "<start_function_call>", "<end_function_call>"),
        opening=_GEMMA.opening,
        marks=("<escape>",),
    ),
    Layout(
        "gpt-oss",  # their answers end at a mark that the engine keeps for itself
        "{% if thinking %}<|channel|>analysis<|message|>{{ thinking }}<|end|><|start|>assistant{% endif %}"
        '{% if text %}<|channel|>{{ "commentary" if calls else "final" }}<|message|>{{ text }}'
        "{% if calls %}<|end|><|start|>assistant{% endif %}{% endif %}"
        "{% for call in calls %}{% if loop.first %}"
        "<|channel|>commentary to=functions.{{ call.name }} <|constrain|>json<|message|>{% else %}"
        "<|call|><|start|>assistant to=functions.{{ call.name }}<|channel|>commentary json<|message|>{% endif %}"
        + _ARGUMENTS
        + "{% endfor %}",
        ("<|channel|>", "<|message|>", "<|end|>", "<|start|>", "<|call|>"),
        opening="",
        marks=("<|constrain|>",),
        can_name=False,
    ),
    replace(_HERMES, name="generic", is_generic=True),
)

_KINDS = {"path": "string", "code": "string", "count": "integer", "ratio": "number", "deep": "boolean"}
_LOOK = {key: {"type": kind} for key, kind in _KINDS.items()} | {"where": {"type": "object"}, "list": {"type": "array"}}
TOOLS = Tools(
    (
        Tool("look", {"type": "object", "properties": _LOOK}, "Look into a file."),
        Tool("mcp__clock__now-utc", {"type": "object", "properties": {}}, "Tell the time."),
    )
)
_CALLS = (
    Call("look", {"path": "a.py", "count": 3, "ratio": -2.5, "deep": True, "where": {"lines": [1, {"x": None}]}}),
    Call("look", {"path": 'She said "no" \\ and\n\tif (1 < 2) { x[0] = "<b>"; }\n', "code": "007", "list": ["a", {}]}),
    Call("look", {"path": "naïve 日本 🙂 'q', {k: v}", "deep": False, "ratio": 1e-07, "where": {"to": {"d": "}"}}}),
    Call("mcp__clock__now-utc", {}),
)
_THINKING = 'They want "a.py".\n\nI check 1 < 2, {x} and [y]: été.'
_TEXT = "Here 🙂 `a < b`:\n\n- {'k': [1]}\n- done"


def _contents(layout: Layout) -> Iterator[tuple[str, str, str, Sequence[Call], bool]]:
    """Yield what an answer may have: its label, thinking, text and calls, and whether only tokens tell its tags."""
    first, second, _, last = _CALLS
    yield "text", _THINKING, _TEXT, (), False
    yield "text of JSON", _THINKING, '{"answer": [1, 2]}', (), False
    yield "text and a call", _THINKING, _TEXT, (first,), False
    yield "text and two calls", _THINKING, _TEXT, (second, last), False
    yield "two calls", _THINKING, "", (first, second), False
    for number, call in enumerate(_CALLS):
        yield f"call {number}", _THINKING, "", (call,), False
    names = " or ".join(map(_named, layout.tags))
    yield "text that names tags", _THINKING, f"Write {names} there.", (), True
    yield "call that names tags", _THINKING, "", (Call("look", {"path": f"a {names} z", "count": 1}),), True
    shown = layout.write("", "", (first,))
    for tag in (*layout.tags, *layout.marks):
        shown = shown.replace(tag, _named(tag))
    thinking = f"Not {_named(layout.tags[2])} yet, only later {shown} and so on."
    yield "text after thinking that names a call", thinking, _TEXT, (), not layout.can_name
    yield "call after thinking that names a call", thinking, "", (second,), not layout.can_name


def cases(layout: Layout) -> Iterator[Case]:
    """Yield the answers of a layout."""
    for mode in _MODES:
        if mode == "opened" and not layout.opening:
            continue
        for label, thinking, text, calls, needs_tokens in _contents(layout):
            thought = {"off": "", "empty": "\n"}.get(mode, thinking)
            opening = layout.opening if mode == "opened" else ""
            whole = layout.write(thought, text, calls)
            ends = (_shared(whole, layout.write(thought, text, calls[: n + 1])) for n in range(len(calls)))
            yield Case(
                layout,
                f"{layout.name}, thinking {mode}, {label}",
                f"assistant\n{opening}",
                whole.removeprefix(opening),
                Said(_plain(thought), _plain(text), tuple((call.name, _sorted(call.arguments)) for call in calls)),
                tuple(len(end) - len(opening) for end in ends),
                needs_tokens,
            )


def _shared(one: str, other: str) -> str:
    return one[: sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))]


def _named(tag: str) -> str:
    return tag[0] + _NAMED + tag[1:]


def _plain(text: str) -> str:
    return text.replace(_NAMED, "").strip()


def _sorted(arguments: object) -> str:
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False).replace(_NAMED, "")


def tokens_of(case: Case, letters: int, *, has_tokens: bool) -> list[Token]:
    """Return an answer in tokens. `letters`: of a piece, 0 for all; `has_tokens`: tags are tokens of their own."""
    marks = "|".join(map(re.escape, (*case.layout.tags, *case.layout.marks)))
    found = []
    for number, run in enumerate(re.split(f"({marks})", case.written) if has_tokens else [case.written]):
        step = len(run) if number % 2 or not letters else letters
        found += [Token(run[place : place + step], bool(number % 2)) for place in range(0, len(run), step or 1)]
    return found


def read(case: Case, tokens: Sequence[Token], *, has_tokens: bool, is_cut: bool = False) -> Said:
    """Return what the gateway reads."""
    added = (*case.layout.tags, *case.layout.marks) if has_tokens else ()
    form = case.layout.form(added)
    reader = AnswerReader(form, TOOLS, special=added, thinks=opens_thinking(form, case.prompt))
    parts = [part for token in tokens for part in reader.feed(token.text, token.is_special)]
    parts += reader.finish(is_cut=is_cut)
    said = {kind: "".join(part.text for part in parts if part.kind is kind).strip() for kind in PartKind}
    streamed: dict[str, tuple[str, str]] = {}
    for part in parts:
        if part.call is not None:
            _, before = streamed.get(part.call.call_id, ("", ""))
            streamed[part.call.call_id] = (part.call.name, before + part.text)
    whole = {call.call_id: (call.name, call.arguments) for call in reader.calls}
    assert whole.items() <= streamed.items(), "parts tell other calls"
    assert len(streamed) <= len(whole) + is_cut, "a call is left unfinished"
    begun = [name for name, _ in streamed.values()]
    assert begun == [name for name, _ in case.said.calls][: len(begun)], "calls are begun that are none"
    calls = tuple((call.name, _sorted(json.loads(call.arguments))) for call in reader.calls)
    return Said(said[PartKind.THINKING], said[PartKind.TEXT], calls)


def is_beginning(said: Said, case: Case, letters: int) -> bool:
    """Tell whether `said` may be read from the first letters of an answer."""
    num_whole = sum(end <= letters for end in case.ends)
    return (
        case.said.thinking.startswith(said.thinking)
        and case.said.text.startswith(said.text)
        and case.said.calls[: len(said.calls)] == said.calls
        and len(said.calls) >= num_whole
    )


def _answers(case: Case) -> Iterator[tuple[str, int, bool, Said]]:
    """Yield how an answer came, in which pieces or cut where, whether it was read as it should be, and what was."""
    for has_tokens in (True,) if case.needs_tokens else (True, False):
        tags = "tags of tokens" if has_tokens else "tags of letters"
        for letters in PIECES:
            said = read(case, tokens_of(case, letters, has_tokens=has_tokens), has_tokens=has_tokens)
            yield f"{tags}, streamed", letters, said == case.said, said
        tokens, num_letters = tokens_of(case, _CUT_PIECES, has_tokens=has_tokens), 0
        for place, token in enumerate(tokens):
            said = read(case, tokens[:place], has_tokens=has_tokens, is_cut=True)
            yield f"{tags}, cut", place, is_beginning(said, case, num_letters), said
            num_letters += len(token.written)


@figure("agent_forms", unit="answers", reach=0)
def agent_forms(soak: bool) -> Measured:
    """Answers in the forms of 12 families of models, streamed and cut anywhere, whose thinking, text or calls are
    misread.

    In soak also calls as the templates in the folder `$POTLUCK_TEMPLATES` write them.
    """
    answers = Counter[str]()
    wrong = Counter[str]()
    first: dict[str, str] = {}
    for layout in LAYOUTS:
        for case in cases(layout):
            for way, size, is_right, said in _answers(case):
                answers[way] += 1
                if not is_right:
                    wrong[f"{layout.name}, {way}"] += 1
                    first.setdefault(f"{layout.name}, {way}", f"{case.label}, {size}: {said}")
    detail: dict[str, Any] = {"answers": answers, "wrong": wrong, "first": first}
    num_wrong = wrong.total()
    if soak and (folder := os.environ.get("POTLUCK_TEMPLATES")):
        detail["published"] = published(Path(folder))
        num_wrong += len(detail["published"]["wrong"])
    return Measured(float(num_wrong), detail)


def published(folder: Path) -> dict[str, Any]:
    """Read a call as each published template in a folder writes it."""
    verdicts = {path.name: _of_published(path.read_text()) for path in sorted(folder.glob("*.jinja"))}
    listed: dict[str, Any] = {kind: [name for name, found in verdicts.items() if found == kind] for kind in Verdict}
    return listed | {"wrong": {name: found for name, found in verdicts.items() if not isinstance(found, Verdict)}}


def _of_published(template: str) -> Verdict | str:
    """Return what became of a call that a template wrote, and the call itself if it was read otherwise."""
    call = _CALLS[0]
    for arguments, call_id in product((call.arguments, json.dumps(call.arguments)), ("functions.look:0", "abcdefgh1")):
        function = {"name": call.name, "arguments": arguments}
        try:
            prompt, turn = _turn(template, {"id": call_id, "type": "function", "function": function})
        except Exception:  # templates may raise anything
            continue
        if call.name not in turn:
            continue
        form = syntax_of(template, ())
        if form is None or form.calls is None:
            return Verdict.UNKNOWN
        reader = AnswerReader(form, TOOLS, thinks=opens_thinking(form, prompt))
        reader.feed(turn)
        reader.finish(is_cut=False)
        calls = [(one.name, _sorted(json.loads(one.arguments))) for one in reader.calls]
        return Verdict.RIGHT if calls == [(call.name, _sorted(call.arguments))] else f"{calls} of {turn!r}"
    return Verdict.SKIPPED


def _turn(template: str, call: dict[str, Any]) -> tuple[str, str]:
    """Return the prompt and the assistant's turn with a call, up to the mark that ends it."""
    asked = {"role": "user", "content": "How are you?"}
    result = {"role": "tool", "name": "look", "tool_call_id": call["id"], "content": "42"}
    prompt = _rendered(template, [asked], add_generation_prompt=True)
    said = _rendered(template, [asked, {"role": "assistant", "content": "zebra"}])
    called = _rendered(template, [asked, {"role": "assistant", "content": "", "tool_calls": [call]}, result])
    shared = _shared(prompt, called)
    if shared.rfind("<") > shared.rfind(">"):  # it ends within a tag
        shared = shared[: shared.rfind("<")]
    end = said.rpartition("zebra")[2].strip()
    turn = called[len(shared) :]
    return shared, turn.partition(end)[0] if end else turn


def _rendered(template: str, messages: list[dict[str, Any]], *, add_generation_prompt: bool = False) -> str:
    tools = [tool.definition for tool in TOOLS.offered]
    rendered, _ = render_jinja_template(
        [messages],
        tools=tools,
        chat_template=template,
        add_generation_prompt=add_generation_prompt,
        bos_token="<s>",
        eos_token="</s>",
    )
    return str(rendered[0])
