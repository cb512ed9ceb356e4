from __future__ import annotations

from dataclasses import dataclass
from json import dumps


@dataclass(frozen=True)
class Form:
    thinks: bool = False
    knows_calls: bool = False


GENERIC = Form(False, True)


def form_of(template, special):
    return Form("<think>" in template, "<tool_call>" in template)


def calls_of(form):
    return {"knows_calls": form.knows_calls}


def describe(tools):
    return "Tools: " + dumps([t.definition for t in tools.offered])


def written(calls):
    return "\n".join(f'<tool_call>\n{{"name": "{c.name}", "arguments": {c.arguments}}}\n</tool_call>' for c in calls)


def result(content):
    return f"<tool_response>\n{content}\n</tool_response>"


def call_grammar(tools, form, special):
    import json

    parts = [
        f"call_{n}: {json.dumps('<tool_call>' + chr(10) + '{' + json.dumps('name') + ': ' + json.dumps(t.name) + ', ' + json.dumps('arguments') + ': ')} arguments_{n} {json.dumps('}' + chr(10) + '</tool_call>')}"
        for n, t in enumerate(tools)
    ]
    s = [
        f"arguments_{n}: %json {json.dumps(t.parameters | {'x-guidance': {'whitespace_flexible': False}})}"
        for n, t in enumerate(tools)
    ]
    return "\n".join(["start: " + " | ".join(f"call_{n}" for n in range(len(tools))), *parts, *s]) + "\n"
