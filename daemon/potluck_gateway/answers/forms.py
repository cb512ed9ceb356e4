"""How families of models write thinking and calls of tools. Pure.

A chat template shows which form its model was taught. Each form is a row of a table: the tags around thinking and
around calls, how what lies between is read, and how one call looks, so that an answer can be kept to it. Templates that
know no tools get `GENERIC`, which is described to the model in words.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from potluck_gateway.answers.answer import ToolCall
from potluck_gateway.requests import Tool, Tools

_MOST_LITERAL = 10_000  # letters of a value that is read as Python writes it
_COMPACT = {"x-guidance": {"whitespace_flexible": False}}  # a weak model may write blanks without end


@dataclass(frozen=True, slots=True)
class Written:
    """A call as a model wrote it. `arguments`: JSON, or pairs of names and texts that the tool's schema types."""

    name: str
    arguments: object
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Calls:
    """How a family writes calls.

    Attributes:
        tags: around a call, or around all; without the second one it ends with the answer or with the next call.
        read: returns the calls in what lies between; none if it is broken.
        marks: other tokens of a call; `sections`: those around all calls.
        begins: what comes first between the tags, for all calls of the form.
        shape: what a call begins and ends with, around the JSON of its arguments, or around pairs.
        pair: what a pair of a name and a value begins and ends with; None if arguments are JSON.
        is_bare: a call may also be an answer of JSON, without tags.
    """

    tags: tuple[str, str]
    read: Callable[[str], list[Written]]
    shape: tuple[str, str] | None = None
    pair: tuple[str, str] | None = None
    marks: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    begins: str = ""
    is_bare: bool = False

    @property
    def begins_with(self) -> tuple[str, ...]:
        """Return the tags with which calls may begin."""
        return (self.tags[0], *self.sections[:1])


@dataclass(frozen=True, slots=True)
class Form:
    """How a family writes an answer.

    Attributes:
        thinking: the tags around it. `label`: what follows the first one.
        calls: None if its template knows no form of them that is known here.
        has_channels: each part has a header that says what it is, as in gpt-oss.
        thinks: whether template or tokenizer have the tags of thinking.
    """

    thinking: tuple[str, str] = ("<think>", "</think>")
    label: str = ""
    calls: Calls | None = None
    has_channels: bool = False
    thinks: bool = False

    @property
    def tags(self) -> frozenset[str]:
        """Return all that is no text of an answer."""
        channels = (*CHANNEL_TAGS, *CHANNEL_ENDS, CHANNEL_TEXT, "<|constrain|>") if self.has_channels else ()
        of_calls = () if self.calls is None else (*self.calls.tags, *self.calls.marks, *self.calls.sections)
        return frozenset(filter(None, (*self.thinking, *channels, *of_calls)))


CHANNEL_TAGS, CHANNEL_TEXT = ("<|start|>", "<|channel|>"), "<|message|>"  # around the header of a part
CHANNEL_ENDS = ("<|end|>", "<|call|>", "<|return|>")


def _json_calls(text: str) -> list[Written]:
    """Read objects with a name and arguments, in a list or one after the other."""
    return [_from_json(item) for item in _values(text)]


def _from_json(item: object) -> Written:
    name = item.get("name", item.get("tool_name")) if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(name, str):
        raise ValueError("no call")
    call_id = item.get("id")
    return Written(name, item.get("arguments", item.get("parameters")), call_id if isinstance(call_id, str) else None)


def _values(text: str) -> Iterator[Any]:
    """Yield values up to one that is not whole, as where a limit has cut it; the first one has to be."""
    rest, has_some = text.strip(), False
    while rest:
        try:
            value, end = json.JSONDecoder().raw_decode(rest)
        except ValueError:
            if has_some and rest[0] in "{[":
                return
            raise
        has_some = True
        yield from value if isinstance(value, list) else [value]
        rest = rest[end:].lstrip("; \n\t")


def _named_calls(head: str) -> Callable[[str], list[Written]]:
    """Return what reads a call whose name stands before its arguments. `head`: a pattern of what precedes them."""
    pattern = re.compile(head)

    def read(text: str) -> list[Written]:
        if text.lstrip()[:1] == "[":
            return _json_calls(text)
        found = pattern.match(text)
        if found is None:
            raise ValueError("no call")
        arguments, _ = json.JSONDecoder().raw_decode(text[found.end() :].lstrip())
        named = found.groupdict()
        return [Written(named["name"].strip(), arguments, named.get("id"))]

    return read


def _paired_calls(call: str, pair: str) -> Callable[[str], list[Written]]:
    """Return what reads calls whose arguments are pairs of names and texts, from the patterns of both."""
    calls, pairs = re.compile(call, re.DOTALL), re.compile(pair, re.DOTALL)

    def read(text: str) -> list[Written]:
        found = [Written(one["name"].strip(), tuple(pairs.findall(one["pairs"]))) for one in calls.finditer(text)]
        if not found:
            raise ValueError("no call")
        return found

    return read


def _gemma_call(text: str) -> list[Written]:
    """Read `call:NAME{KEY:VALUE,...}`, whose texts stand between marks instead of quotes."""
    found = re.match(r"\s*call:([^{\s]+)\s*(\{.*\})\s*$", text, re.DOTALL)
    if found is None:
        raise ValueError("no call")
    pieces = re.split(r'<\|"\|>|<escape>', found[2])
    pieces[1::2] = [json.dumps(piece) for piece in pieces[1::2]]
    pieces[::2] = [re.sub(r"\bNone\b", "null", piece) for piece in pieces[::2]]
    pieces[::2] = [re.sub(r"([{,]\s*)([^\s{},:\"\[\]]+)\s*:", r'\1"\2":', piece) for piece in pieces[::2]]
    return [Written(found[1], json.loads("".join(pieces)))]


_HERMES = Calls(
    ("<tool_call>", "</tool_call>"),
    _json_calls,
    ('<tool_call>\n{"name": "NAME", "arguments": ', "}\n</tool_call>"),
    begins="{",
)
_CODER = Calls(
    ("<tool_call>", "</tool_call>"),
    _paired_calls(
        r"<function=(?P<name>[^<>\n]+)>(?P<pairs>(?:(?!<function=).)*?)(?:</function>|$)",
        r"<parameter=([^<>\n]+)>\n?((?:(?!<parameter=).)*?)\n?(?:</parameter>|(?=<parameter=)|$)",
    ),
    ("<tool_call>\n<function=NAME>\n", "</function>\n</tool_call>"),
    ("<parameter=KEY>\n", "\n</parameter>\n"),
    begins="<function=",
)
_SEP = "<｜tool▁sep｜>"
_DEEPSEEK = Calls(
    ("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"),
    _named_calls(rf"\s*(?:function{_SEP})?(?P<name>[^\s<`]+)\s*(?:{_SEP}|```json)"),
    (f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>NAME{_SEP}", "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
    marks=(_SEP,),
    sections=("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
)


def _invoked(mark: str, block: str) -> Calls:
    """Return a form of calls in a block: MiniMax' one, and with a mark in each tag DeepSeek's since V3.2."""
    return Calls(
        (f"<{mark}invoke", f"</{mark}invoke>"),
        _paired_calls(
            r'^\s*name="?(?P<name>[^">]+)"?>(?P<pairs>.*)$',
            rf'<{mark}parameter name="?([^">]+)"?[^>]*>((?:(?!<{mark}parameter ).)*?)</{mark}parameter>',
        ),
        (f'<{mark}{block}>\n<{mark}invoke name="NAME">\n', f"</{mark}invoke>\n</{mark}{block}>"),
        (f'<{mark}parameter name="KEY"' + (' string="IS_TEXT">' if mark else ">"), f"</{mark}parameter>\n"),
        sections=(f"<{mark}{block}>", f"</{mark}{block}>"),
        begins=" name=",
    )


def _listed(begin: str, end: str) -> Calls:
    """Return a form of objects or of a list of them between two tags."""
    return Calls((begin, end), _json_calls, (f'{begin}[{{"name": "NAME", "arguments": ', f"}}]{end}"))


_ROWS: tuple[tuple[tuple[str, ...], Calls], ...] = (  # what a template has, and the calls that it teaches
    (("｜DSML｜", "function_calls>"), _invoked("｜DSML｜", "function_calls")),
    (("｜DSML｜", "tool_calls>"), _invoked("｜DSML｜", "tool_calls")),
    (
        ("<｜tool▁call▁begin｜>", "```json"),
        replace(
            _DEEPSEEK,
            shape=(
                f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function{_SEP}NAME\n```json\n",
                "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            ),
        ),
    ),
    (("<｜tool▁call▁begin｜>",), _DEEPSEEK),
    (
        ("<|tool_call_begin|>",),
        Calls(
            ("<|tool_call_begin|>", "<|tool_call_end|>"),
            _named_calls(r"\s*(?P<id>(?:functions\.)?(?P<name>[^:<\s]+)(?::\d+)?)\s*<\|tool_call_argument_begin\|>"),
            (
                "<|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>",
                "<|tool_call_end|><|tool_calls_section_end|>",
            ),
            marks=("<|tool_call_argument_begin|>",),
            sections=("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        ),
    ),
    (("<minimax:tool_call>",), _invoked("", "minimax:tool_call")),
    (
        ("<tool_call>", "<arg_key>"),
        Calls(
            ("<tool_call>", "</tool_call>"),
            _paired_calls(
                r"^\s*(?P<name>[^\s<]+)(?P<pairs>.*)$",
                r"<arg_key>([^<]*)</arg_key>\s*<arg_value>((?:(?!<arg_).)*?)</arg_value>",
            ),
            ("<tool_call>NAME\n", "</tool_call>"),
            ("<arg_key>KEY</arg_key>\n<arg_value>", "</arg_value>\n"),
            marks=("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
        ),
    ),
    (
        ("<seed:tool_call>",),
        replace(
            _CODER,
            tags=("<seed:tool_call>", "</seed:tool_call>"),
            shape=("<seed:tool_call>\n<function=NAME>\n", "</function>\n</seed:tool_call>"),
        ),
    ),
    (("<tool_call>", "<function="), _CODER),
    (
        ("<function=",),
        Calls(("<function=", "</function>"), _named_calls("(?P<name>[^>]+)>"), ("<function=NAME>", "</function>")),
    ),
    (
        ("[TOOL_CALLS]",),
        Calls(
            ("[TOOL_CALLS]", ""),
            _named_calls(r"\s*(?P<name>[^\[{\s]+)\s*(?:\[CALL_ID\](?P<id>\w+))?\s*(?:\[ARGS\])?"),
            ("[TOOL_CALLS]NAME[ARGS]", ""),
            marks=("[ARGS]", "[CALL_ID]"),
        ),
    ),
    (("<|tool_call>",), Calls(("<|tool_call>", "<tool_call|>"), _gemma_call, marks=('<|"|>',), begins="call:")),
    (
        ("<start_function_call>",),
        Calls(("<start_function_call>", "<end_function_call>"), _gemma_call, marks=("<escape>",), begins="call:"),
    ),
    (("<tool_calls>",), _listed("<tool_calls>", "</tool_calls>")),
    (("<TOOLCALL>",), _listed("<TOOLCALL>", "</TOOLCALL>")),
    (
        ("<|START_ACTION|>",),
        Calls(
            ("<|START_ACTION|>", "<|END_ACTION|>"),
            _json_calls,
            ('<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "NAME", "parameters": ', "}\n]<|END_ACTION|>"),
        ),
    ),
    (("<tool_call>",), _HERMES),
)
_BARE = Calls(("<|python_tag|>", ""), _json_calls, ('{"name": "NAME", "parameters": ', "}"), is_bare=True)
_CHANNELS = Calls(
    ("<|call|>", ""),
    _json_calls,
    ("<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>", "<|call|>"),
)
_THINKING = (  # tags, and what follows the first one
    ("<think>", "</think>", ""),
    ("[THINK]", "[/THINK]", ""),
    ("<seed:think>", "</seed:think>", ""),
    ("◁think▷", "◁/think▷", ""),
    ("<|START_THINKING|>", "<|END_THINKING|>", ""),
    ("<|channel>", "<channel|>", "thought"),
)
GENERIC = Form(calls=_HERMES)


def form_of(template: str, added: Collection[str]) -> Form:
    """Return the form that a chat template teaches. `added`: the texts of the tokenizer's added tokens."""
    if "<|channel|>" in template and "commentary" in template:
        return Form(calls=_CHANNELS, has_channels=True, thinks=True)
    calls = next((calls for marks, calls in _ROWS if all(mark in template for mark in marks)), None)
    if calls is _HERMES and not re.search(r'\\?"arguments\\?"\s*:', template):
        calls = None
    elif calls is None and re.search(r'\{\\?"name\\?":.{0,99}\\?"parameters\\?":', template):
        calls = _BARE
    said = (row for row in _THINKING if row[1] in template or row[1] in added)
    begin, end, label = row if (row := next(said, None)) else _THINKING[0]
    return Form((begin, end), label, calls, thinks=row is not None)


def opens_thinking(form: Form, prompt: str) -> bool:
    """Tell whether a prompt ends with the beginning of thinking."""
    return not form.has_channels and prompt.rstrip().removesuffix(form.label).rstrip().endswith(form.thinking[0])


def typed(written: Written, tool: Tool) -> dict[str, Any]:
    """Return the arguments of a call as an object. Raises ValueError."""
    arguments = written.arguments
    if isinstance(arguments, tuple):
        listed = tool.parameters.get("properties")
        known = listed if isinstance(listed, dict) else {}
        return {key.strip(): _value(text, known.get(key.strip())) for key, text in arguments}
    if isinstance(arguments, str) and arguments.strip():
        arguments = json.loads(arguments)
    if not arguments:
        return {}
    if not isinstance(arguments, dict):
        raise ValueError("arguments must be an object")
    return arguments


def _value(text: str, schema: object) -> object:
    """Return a value that was written as plain text: a text stays one, others are JSON or as Python has them."""
    if not _is_text(schema):
        for read in (json.loads, ast.literal_eval if len(text) < _MOST_LITERAL else json.loads):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
                return read(text.strip())
    return text


def _is_text(schema: object) -> bool:
    """Tell whether a schema is of texts, also if it only lists them."""
    if not isinstance(schema, dict):
        return False
    kinds, listed = schema.get("type"), schema.get("enum")
    is_listed = isinstance(listed, list) and all(isinstance(one, str) for one in listed)
    return is_listed or kinds == "string" or (isinstance(kinds, list) and "string" in kinds)


def describe(tools: Tools) -> str:
    """Return words that teach a model the generic form of calls."""
    offered = "\n".join(json.dumps(tool.definition, ensure_ascii=False) for tool in tools.offered)
    return (
        "You can call these functions. Each is described by a JSON schema:\n"
        f"{offered}\n"
        "To call one, write its name and its arguments as JSON between these tags, and then stop:\n"
        '<tool_call>\n{"name": "NAME", "arguments": {"KEY": "VALUE"}}\n</tool_call>\n'
        "The result comes in the next message."
    )


def written(calls: Sequence[ToolCall]) -> str:
    """Return calls of earlier turns in the generic form."""
    shown = (f'{{"name": {json.dumps(one.name, ensure_ascii=False)}, "arguments": {one.arguments}}}' for one in calls)
    return "\n".join(f"<tool_call>\n{one}\n</tool_call>" for one in shown)


def result(content: str) -> str:
    """Return the result of a call for the generic form."""
    return f"<tool_response>\n{content}\n</tool_response>"


def call_grammar(tools: Sequence[Tool], calls: Calls, added: Mapping[str, int]) -> str:
    """Return a grammar, in llguidance's Lark, of one call of one of `tools`. `added`: tokens by their texts."""
    assert calls.shape is not None
    begin, end = calls.shape
    rules = []
    for number, tool in enumerate(tools):
        inner = f"arguments_{number}"
        rules.append(f"call_{number}: {_lark(begin.replace('NAME', tool.name), added)} {inner} {_lark(end, added)}")
        if calls.pair is None:
            rules.append(f"{inner}: %json {json.dumps(tool.parameters | _COMPACT)}")
        else:
            rules += _pair_rules(inner, tool, calls.pair, added)
    start = " | ".join(f"call_{number}" for number in range(len(tools)))
    return "\n".join([f"start: {start}", *rules]) + "\n"


def _pair_rules(inner: str, tool: Tool, pair: tuple[str, str], added: Mapping[str, int]) -> Iterator[str]:
    """Yield the rules of pairs, in the order of the schema. Optional ones may be left out."""
    required = tool.parameters.get("required") or []
    parts = []
    for number, (key, schema) in enumerate((tool.parameters.get("properties") or {}).items()):
        is_text = _is_text(schema)
        begin = pair[0].replace("KEY", key).replace("IS_TEXT", "true" if is_text else "false")
        value, end = f"{inner}_value_{number}", _lark(pair[1], added)
        if not is_text:
            whole = {"$defs": tool.parameters["$defs"]} if "$defs" in tool.parameters else {}
            yield f"{value}: %json {json.dumps(whole | schema | _COMPACT)}"
        elif end.startswith("<["):  # a token of its own, which no text matches
            yield f"{value}: /(?s:.*)/"
        else:
            yield f"{value}[suffix={json.dumps(pair[1])}]: /(?s:.*)/"
            end = ""
        yield f"{inner}_pair_{number}: {_lark(begin, added)} {value} {end}"
        parts.append(f"{inner}_pair_{number}" + ("" if key in required else "?"))
    yield f"{inner}: {' '.join(parts) or json.dumps('')}"


def _lark(text: str, added: Mapping[str, int]) -> str:
    """Return a text in Lark, in which tokens have their numbers."""
    tokens = sorted((token for token in added if token in text and token.strip()), key=len, reverse=True)
    pieces = re.split(f"({'|'.join(map(re.escape, tokens))})", text) if tokens else [text]
    return " ".join(f"<[{added[piece]}]>" if piece in added else json.dumps(piece) for piece in pieces if piece)
