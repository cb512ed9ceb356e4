"""Defines the syntax in which families of models write thinking and calls of tools. Pure.

A chat template shows which syntax its model was taught. Each one is a row of a table: the tags around thinking and
around calls, and the beginning, the form and the end of a call, so that an answer can be kept to it. Templates without
tools get `GENERIC`, which is described to the model in words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from potluck_gateway.exchange import Tool, ToolCall, Tools

CHANNEL_BEGINS, CHANNEL_TEXT = ("<|start|>", "<|channel|>"), "<|message|>"  # around the header of a part
CHANNEL_ENDS = ("<|end|>", "<|call|>", "<|return|>")
NEVER = "\ufdd2"  # a noncharacter, which no text has
COMPACT = {"x-guidance": {"whitespace_flexible": False}}  # a weak model may write blanks without end
_TAG = re.compile(r"<[^<>\s=]+>|\[[A-Z_]+\]")


@dataclass(frozen=True, slots=True)
class CallSyntax:
    """The syntax in which a family of models writes calls. NAME stands for a tool, KEY for an argument.

    Attributes:
        begins: the ways in which a call begins, up to its arguments; a grammar takes the first one. One that begins
            with a brace is an object that has name and arguments.
        ends: what ends a call; nothing if only its JSON does.
        before, after: the tags that may come before a call and after it.
        pair: what stands before and after the value of an argument, if arguments aren't JSON.
        quote: what stands around the texts of arguments that are JSON but for these and for the names of keys.
        call_id: a pattern of the id that the model gives a call, before its arguments.
        is_bare: a call may also be an answer of JSON, without tags.
    """

    begins: tuple[str, ...]
    ends: str = ""
    before: str = ""
    after: str = ""
    pair: tuple[str, str] | None = None
    quote: str = ""
    call_id: str = r'(?<="id": ")[^"]+'
    is_bare: bool = False

    @property
    def tags(self) -> frozenset[str]:
        """Return all tags of calls."""
        written = _TAG.findall("".join((*self.begins, *(self.pair or ()))))
        return frozenset(filter(None, (self.before, self.after, self.ends, self.quote, *written)))

    @property
    def begins_with(self) -> tuple[str, ...]:
        """Return the tags with which calls may begin."""
        tags = (one.partition("NAME")[0] for one in self.begins if one[0] == "<")
        return tuple(filter(None, (self.before, *tags)))


@dataclass(frozen=True, slots=True)
class AnswerSyntax:
    """The syntax in which a family of models writes an answer.

    Attributes:
        thinking: the tags around it. `label`: what follows the first one.
        calls: None if its template has no syntax of calls that is known here.
        has_channels: each part has a header that says what it is, as in gpt-oss.
        thinks: whether template or tokenizer have the tags of thinking.
    """

    thinking: tuple[str, str] = ("<think>", "</think>")
    label: str = ""
    calls: CallSyntax | None = None
    has_channels: bool = False
    thinks: bool = False

    @property
    def tags(self) -> frozenset[str]:
        """Return all that is no text of an answer."""
        channels = (*CHANNEL_BEGINS, *CHANNEL_ENDS, CHANNEL_TEXT) if self.has_channels else ()
        return frozenset((*self.thinking, *channels)) | (frozenset() if self.calls is None else self.calls.tags)


def _json_calls(begin: str, end: str) -> CallSyntax:
    return CallSyntax(('\n{"name": "NAME", "arguments": ',), end, begin)


def _function_calls(begin: str, end: str) -> CallSyntax:
    return CallSyntax(("<function=NAME>",), "</function>", begin, end, ("<parameter=KEY>\n", "\n</parameter>\n"))


def _invoke_calls(tag: str, mark: str = "") -> CallSyntax:
    pair = (f'<{mark}parameter name="KEY">', f"</{mark}parameter>\n")
    return CallSyntax((f'<{mark}invoke name="NAME">',), f"</{mark}invoke>", f"<{mark}{tag}>", f"</{mark}{tag}>", pair)


def _gemma_calls(begin: str, end: str, quote: str) -> CallSyntax:
    return CallSyntax(("call:NAME",), end, begin, quote=quote)


_HERMES = _json_calls("<tool_call>", "</tool_call>")
_ROWS: tuple[tuple[str, CallSyntax], ...] = (  # a pattern in a template, and the calls that the template teaches
    (
        r"(?s)<\|channel\|>.*commentary|commentary.*<\|channel\|>",
        CallSyntax(("<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>",), "<|call|>"),
    ),
    (r"(?s)｜DSML｜.*\btool_calls>", _invoke_calls("tool_calls", "｜DSML｜")),
    (r"｜DSML｜", _invoke_calls("function_calls", "｜DSML｜")),
    (
        r"<｜tool▁call▁begin｜>",
        CallSyntax(
            ("<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME"),
            "<｜tool▁call▁end｜>",
            "<｜tool▁calls▁begin｜>",
            "<｜tool▁calls▁end｜>",
        ),
    ),
    (
        r"<\|tool_call_begin\|>",
        CallSyntax(
            ("<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>", "<|tool_call_begin|>NAME"),
            "<|tool_call_end|>",
            "<|tool_calls_section_begin|>",
            "<|tool_calls_section_end|>",
            call_id=r"(?:functions\.)?[\w-]+:\d+",
        ),
    ),
    (r"<minimax:tool_call>", _invoke_calls("minimax:tool_call")),
    (
        r"<arg_key>",
        CallSyntax(
            ("NAME\n",), "</tool_call>", "<tool_call>", pair=("<arg_key>KEY</arg_key>\n<arg_value>", "</arg_value>\n")
        ),
    ),
    (r"<seed:tool_call>", _function_calls("<seed:tool_call>", "</seed:tool_call>")),
    (r"<function=", _function_calls("<tool_call>", "</tool_call>")),
    (r"\[TOOL_CALLS\]", CallSyntax(("NAME[ARGS]", "{"), before="[TOOL_CALLS]", call_id=r"(?<=\[CALL_ID\])\w+")),
    (r"<\|tool_call>", _gemma_calls("<|tool_call>", "<tool_call|>", '<|"|>')),
    (r"<start_function_call>", _gemma_calls("<start_function_call>", "<end_function_call>", "<escape>")),
    (r"<tool_calls>", _json_calls("<tool_calls>", "</tool_calls>")),
    (r"<TOOLCALL>", _json_calls("<TOOLCALL>", "</TOOLCALL>")),
    (
        r"<\|START_ACTION\|>",
        CallSyntax(
            ('[{"tool_call_id": "0", "tool_name": "NAME", "parameters": ',), "<|END_ACTION|>", "<|START_ACTION|>"
        ),
    ),
    (r'(?s)<tool_call>.*"arguments\\?"\s*:', _HERMES),
    (
        r'\{\\?"name\\?":[^{}]{1,60}\\?"parameters\\?"\s*:|<\|python_tag\|>',
        CallSyntax(('{"name": "NAME", "parameters": ',), before="<|python_tag|>", is_bare=True),
    ),
)
_THINKING = (  # tags, and what follows the first one
    ("<think>", "</think>", ""),
    ("[THINK]", "[/THINK]", ""),
    ("<seed:think>", "</seed:think>", ""),
    ("◁think▷", "◁/think▷", ""),
    ("<|START_THINKING|>", "<|END_THINKING|>", ""),
    ("<|channel>", "<channel|>", "thought"),
)
GENERIC = AnswerSyntax(calls=_HERMES)
PLAIN = AnswerSyntax((NEVER, NEVER))  # the syntax of an answer that is all text


def syntax_of(template: str, added: Collection[str]) -> AnswerSyntax:
    """Return the syntax that a chat template teaches. `added`: the texts of the tokenizer's added tokens."""
    row = next((row for row in _THINKING if row[1] in template or row[1] in added), None)
    begin, end, label = row or _THINKING[0]
    has_channels = "<|channel|>" in template and "commentary" in template
    return AnswerSyntax((begin, end), label, _calls_of(template), has_channels, thinks=has_channels or row is not None)


@lru_cache(maxsize=64)
def _calls_of(template: str) -> CallSyntax | None:
    return next((calls for mark, calls in _ROWS if re.search(mark, template)), None)


def opens_thinking(syntax: AnswerSyntax, prompt: str) -> bool:
    """Return whether a prompt ends with the beginning of thinking."""
    return not syntax.has_channels and prompt.rstrip().endswith(syntax.thinking[0] + syntax.label)


def describe_tools(tools: Tools) -> str:
    """Return a text that teaches a model the generic syntax of calls."""
    offered = "\n".join(json.dumps(tool.definition, ensure_ascii=False) for tool in tools.offered)
    return (
        "You can call these functions. Each is described by a JSON schema:\n"
        f"{offered}\n"
        "To call one, write its name and its arguments as JSON between these tags, and then stop:\n"
        '<tool_call>\n{"name": "NAME", "arguments": {"KEY": "VALUE"}}\n</tool_call>\n'
        "The result comes in the next message."
    )


def written_calls(calls: Sequence[ToolCall]) -> str:
    """Return calls of earlier turns in the generic syntax."""
    shown = (f'{{"name": {json.dumps(one.name, ensure_ascii=False)}, "arguments": {one.arguments}}}' for one in calls)
    return "\n".join(f"<tool_call>\n{one}\n</tool_call>" for one in shown)


def written_result(content: str) -> str:
    """Return the result of a call in the generic syntax."""
    return f"<tool_response>\n{content}\n</tool_response>"


def call_grammar(tools: Sequence[Tool], calls: CallSyntax, added: Mapping[str, int]) -> str:
    """Return a grammar, in llguidance's Lark, of one call of one of `tools`. `added`: tokens by their texts."""
    begin = calls.begins[0] if calls.is_bare else calls.before + calls.begins[0]
    end = _lark("}" * ('"NAME"' in begin) + calls.ends + calls.after, added)
    rules = []
    for number, tool in enumerate(tools):
        rules.append(f"call_{number}: {_lark(begin.replace('NAME', tool.name), added)} arguments_{number} {end}")
        rules.append(f"arguments_{number}: %json {json.dumps(tool.parameters | COMPACT)}")
    start = " | ".join(f"call_{number}" for number in range(len(tools)))
    return "\n".join([f"start: {start}", *rules]) + "\n"


def _lark(text: str, added: Mapping[str, int]) -> str:
    """Return a text in Lark, in which tokens have their numbers."""
    tokens = sorted((token for token in added if token in text and token.strip()), key=len, reverse=True)
    pieces = re.split(f"({'|'.join(map(re.escape, tokens))})", text) if tokens else [text]
    return " ".join(f"<[{added[piece]}]>" if piece in added else json.dumps(piece) for piece in pieces if piece)
