"""A model for other projects' tests: the demo model's, and a script's where a test needs thoughts and calls.

The demo model is too small to decide to call a tool, or to end a text in its arguments. Scores and schemas are its own.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from typing import Any

from potluck_control.resources import DEMO_MODEL, resource
from potluck_gateway.answers.completion import TextTokenizer
from potluck_gateway.answers.swarm_chat import SwarmChat
from potluck_gateway.exchange import Answer, AnswerEvent, ChatRequest, Tool
from transformers import AutoTokenizer

from benchmarks.programs.scripted_model import TEMPLATES, ScriptedModel, Written

_PLACES = re.compile("Dallas|Orlando|Berlin|Tokyo|New York|Paris|tool")
_PIECES = 2  # the demo model's tokens in one of a large model's
_TEMPLATE = TEMPLATES["knows tools and thinks"]


class WeatherModel(ScriptedModel):
    """Calls a tool for each place that the newest question names, and otherwise tells the weather."""

    request = ChatRequest()  # the request that is being answered

    def _answer(self, prompt: str) -> Written:
        last, tools = self.request.messages[-1], self.request.tools
        places = _PLACES.findall(last.content) if tools is not None and last.role == "user" else []
        if tools is None or not places:
            return Written("I know this.", "It has 98 degrees in Dallas and 78 in Orlando. " * 5)
        named = [tool for tool in tools.must_call or tools.offered if tool.name in last.content]
        pairs = zip(cycle(named or (tools.must_call or tools.offered)[:1]), places, strict=False)
        return Written("I'll ask.", calls=tuple((tool.name, _arguments(tool, place)) for tool, place in pairs))

    def _marked(self, written: Written) -> str:
        """Return an answer as the grammar of a forced call wants it: at once, and without blanks."""
        calls = (
            f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(given, separators=(",", ":"))}}}\n</tool_call>'
            for name, given in written.calls
        )
        return f"<think>\n{written.thinking}\n</think>{written.text}" + "\n".join(calls)


class ThinkingChat(SwarmChat):
    """The demo model's chat, with the script's answers."""

    def __init__(self, model: Any, text: TextTokenizer, *, max_tokens: int) -> None:
        super().__init__(model, text, max_tokens=max_tokens)
        tokenizer = AutoTokenizer.from_pretrained(resource(DEMO_MODEL))
        tokenizer.add_special_tokens({"eos_token": "<|im_end|>"})
        tokenizer.add_tokens(["<think>", "</think>", "<tool_call>", "</tool_call>"])
        tokenizer.backend_tokenizer.post_processor = None  # The beginning of each text has to be written anew.
        tokenizer.chat_template = _TEMPLATE
        with tempfile.TemporaryDirectory() as folder:
            tokenizer.save_pretrained(folder)
            script = TextTokenizer(folder)
        self._writer = WeatherModel(script.tokenizer, _TEMPLATE)
        self._scripted = SwarmChat(self._writer, script, max_tokens=max_tokens)

    def answer(self, request: ChatRequest, tell: Callable[[AnswerEvent], None]) -> Answer:
        if not request.messages or request.num_top is not None or (request.schema and not request.tools):
            return super().answer(request, tell)
        self._writer.request = request
        most = request.max_tokens and request.max_tokens * _PIECES
        return self._scripted.answer(replace(request, max_tokens=most), tell)


def _arguments(tool: Tool, place: str) -> dict[str, Any]:
    """Return the arguments that a tool needs, or all if it needs none."""
    fields = tool.parameters.get("properties", {})
    values = {"string": place, "number": 52.5, "integer": 5}
    return {
        name: "TX" if name == "state" else field["enum"][0] if "enum" in field else values.get(field.get("type"))
        for name, field in fields.items()
        if name in tool.parameters.get("required", fields)
    }
