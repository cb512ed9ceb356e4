"""Tools: how a request describes them, and how models write calls of them. Pure.

Two forms of calls are read. Hermes and Qwen write `<tool_call>{"name": ..., "arguments": {...}}</tool_call>` after some
text or none; Llama 3's whole answer is `{"name": ..., "parameters": {...}}`. A model's chat template shows which.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from enum import Enum
from typing import Any

from potluck_gateway.answers.answer import ToolCall
from potluck_gateway.requests import BadRequestError, Tool, Tools

MAX_TOOLS = 128
_BEGIN, _END = "<tool_call>", "</tool_call>"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OTHER_FORMS = ("<function=", "<arg_key>", "[ARGS]")
_ARGUMENTS, _PARAMETERS = (re.compile(rf'\\?"{name}\\?"\s*:') for name in ("arguments", "parameters"))
_COMPACT = {"x-guidance": {"whitespace_flexible": False}}  # a weak model may write blanks without end


class CallForm(Enum):
    """Names the ways in which models write calls, with the field that has their arguments."""

    TAGGED = "arguments"
    BARE = "parameters"


def parse_tools(asked: dict[str, Any]) -> Tools | None:
    """Return the tools of a request, or None if it has none or forbids calls. Raises BadRequestError."""
    given, choice = asked.get("tools") or [], asked.get("tool_choice") or "auto"
    if not isinstance(given, list) or len(given) > MAX_TOOLS:
        raise BadRequestError(f"tools must be a list of at most {MAX_TOOLS} tools")
    offered = tuple(_parse_tool(item) for item in given)
    if choice in ("none", "auto"):
        return None if choice == "none" or not offered else Tools(offered, (), _is_parallel(asked))
    named = choice.get("function") if isinstance(choice, dict) and choice.get("type") == "function" else None
    if choice != "required" and not isinstance(named, dict):
        raise BadRequestError(
            "tool_choice must be none, auto, required, or name a function", code="unsupported_parameter"
        )
    wanted = offered if named is None else tuple(tool for tool in offered if tool.name == named.get("name"))
    if not wanted:
        raise BadRequestError("tool_choice asks for a tool that tools does not have")
    if (asked.get("response_format") or {"type": "text"}) != {"type": "text"}:
        raise BadRequestError("response_format leaves no room for a call: leave out one", code="unsupported_parameter")
    return Tools(offered, wanted, is_parallel=False)


def _is_parallel(asked: dict[str, Any]) -> bool:
    return asked.get("parallel_tool_calls") is not False


def _parse_tool(value: object) -> Tool:
    function = value.get("function") if isinstance(value, dict) and value.get("type") == "function" else None
    if not isinstance(function, dict):
        raise BadRequestError("only tools of type function are supported here", code="unsupported_parameter")
    name, parameters, told = function.get("name"), function.get("parameters"), function.get("description") or ""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadRequestError("a function needs a name of at most 64 letters, digits, _ and -")
    if not isinstance(parameters or {}, dict) or not isinstance(told, str):
        raise BadRequestError(f"the parameters of {name} must be a JSON schema, and its description a text")
    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    return Tool(name, {"type": "object", **parameters} if parameters else nothing, told)


def form_of(template: str) -> CallForm | None:
    """Return the form of calls that a chat template teaches; None if it is none of the known ones."""
    if any(mark in template for mark in _OTHER_FORMS):
        return None
    if _BEGIN in template and _ARGUMENTS.search(template):
        return CallForm.TAGGED
    return CallForm.BARE if _BEGIN not in template and _PARAMETERS.search(template) else None


def call_grammar(tools: Sequence[Tool], form: CallForm) -> str:
    """Return a grammar, in llguidance's Lark, of one call of one of `tools`."""
    heads = [f'{{"name": "{tool.name}", "{form.value}": ' for tool in tools]
    calls = [f'call_{n}: {json.dumps(head)} arguments_{n} "}}"' for n, head in enumerate(heads)]
    schemas = [f"arguments_{n}: %json {json.dumps(tool.parameters | _COMPACT)}" for n, tool in enumerate(tools)]
    one = f"({' | '.join(f'call_{n}' for n in range(len(tools)))})"
    whole = f"{json.dumps(_BEGIN + chr(10))} {one} {json.dumps(chr(10) + _END)}" if form is CallForm.TAGGED else one
    return "\n".join([f"start: {whole}", *calls, *schemas]) + "\n"


class CallReader:
    """Tells the calls in one answer from its text."""

    def __init__(self, tools: Tools, form: CallForm) -> None:
        self._names = {tool.name for tool in tools.offered}
        self._is_parallel = tools.is_parallel
        self._form = form

    def plain(self, text: str) -> str:
        """Return the beginning of an unfinished answer that cannot belong to a call."""
        if self._form is CallForm.BARE:
            return "" if text.lstrip()[:1] in ("", "{", "[") else text
        before = text.partition(_BEGIN)[0]
        held = max((n for n in range(len(_BEGIN)) if before.endswith(_BEGIN[:n])), default=0)
        return before if _BEGIN in text else before[: len(before) - held]

    def is_enough(self, text: str) -> bool:
        """Return whether the answer has the only call that it may have."""
        return not self._is_parallel and bool(self.split(text)[1]) and (self._form is CallForm.BARE or _END in text)

    def split(self, text: str) -> tuple[str, tuple[ToolCall, ...]]:
        """Return the text before the calls, and the calls; all is text if one of them is no call of a known tool."""
        if self._form is CallForm.BARE:
            before, written = "", _objects(text)
        else:
            before, *rest = text.split(_BEGIN)
            written = [item for piece in rest for item in _objects(piece.partition(_END)[0]) or [None]]
        calls = [self._call(item) for item in written]
        whole = tuple(call for call in calls if call is not None)
        if not whole or len(whole) < len(calls):
            return text, ()
        return before, whole if self._is_parallel else whole[:1]

    def _call(self, written: object) -> ToolCall | None:
        if not isinstance(written, dict) or written.get("name") not in self._names:
            return None
        arguments = written.get("arguments", written.get("parameters", {}))
        if not isinstance(arguments, dict):
            return None
        return ToolCall(
            f"call_{secrets.token_hex(12)}", str(written["name"]), json.dumps(arguments, ensure_ascii=False)
        )


def _objects(text: str) -> list[Any]:
    """Return the JSON values that a text consists of, with semicolons or blanks between them; none if it has more."""
    found, rest = [], text.strip()
    while rest:
        try:
            value, end = json.JSONDecoder().raw_decode(rest)
        except (ValueError, RecursionError):
            return []
        found += value if isinstance(value, list) else [value]
        rest = rest[end:].lstrip("; \n\t")
    return found
