"""What agents send in a conversation, and what they send back of the answers: for `agent_turns`.

Recorded from Claude Code 2.1, Codex 0.171, Continue 1.5, OpenCode 1.18, aider 0.86, OpenAI Agents SDK 0.24,
LangChain 1 and pydantic-ai 2.68. Texts are shorter; fields, roles, kinds of tools, and what becomes of thinking, of
calls that were cut and of empty answers are as recorded. The official clients read the answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import anthropic
import ollama
import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

from benchmarks.programs.gateway import KEY
from benchmarks.programs.scripted_model import MODEL

Fields = dict[str, Any]
_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "command": {"type": "string"},
        "timeout": {
            "type": "integer",
            "minimum": -9007199254740991,
            "exclusiveMinimum": 0,
            "maximum": 9007199254740991,
        },
        "url": {"type": "string", "format": "uri", "minLength": 2},
    },
    "required": ["command"],
    "additionalProperties": False,
}
_NO_FIELDS = {"type": "object", "properties": {}}
_TOOLS: list[Fields] = [
    {"name": "list", "description": "Lists.", "parameters": _NO_FIELDS},
    {"name": "bash", "description": "Runs.", "parameters": _SCHEMA},
]
_CUT = '{"command": "echo '


class Clients(NamedTuple):
    """The official clients, with a gateway."""

    openai: Any
    anthropic: Any
    ollama: Any


@contextmanager
def clients_of(url: str) -> Iterator[Clients]:
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as one,
        anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0) as two,
        ollama.Client(f"{url}/{KEY}", trust_env=False) as three,
    ):
        yield Clients(one, two, three)


class Call(NamedTuple):
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer as a program has read it. `items`: what the program sends back of it."""

    thinking: str
    text: str
    calls: list[Call]
    end: str
    items: list[Fields]


@dataclass
class Program:
    """A program's conversation.

    Attributes:
        fields: of each request, beside the conversation and the tools.
        history: begins with what the program says before the first question.
        thinks: how thinking is sent back; empty if it isn't.
        nudge: with what it asks again after an empty answer; None if it doesn't.
        cut: how it sends back a call whose arguments were cut.
    """

    name: str
    fields: Fields
    history: list[Fields]
    is_streamed: bool = True
    thinks: str = ""
    nudge: Fields | None = None
    cut: tuple[str, str] = ("bash", _CUT)
    hears_thinking = True

    def ask(self, clients: Clients) -> Heard:
        """Send the conversation. Raises as the program's client does."""
        raise NotImplementedError

    def result(self, call: Call, text: str, *, is_error: bool) -> None:
        raise NotImplementedError

    def cut_call(self) -> None:
        """Add a call whose arguments were cut, as another server may have let it through."""
        call = Call("call_cut", *self.cut)
        self.history.append(self.called(call))
        self.result(call, "the arguments end too early", is_error=True)

    def called(self, call: Call) -> Fields:
        raise NotImplementedError


@dataclass
class Chat(Program):
    """OpenAI's chat completions. `empty`: the content of a message that only calls."""

    empty: str | None = None
    tools: list[Fields] = field(default_factory=lambda: [{"type": "function", "function": tool} for tool in _TOOLS])

    def ask(self, clients: Clients) -> Heard:
        more = self.fields | ({"tools": self.tools} if self.tools else {})
        made: Any = clients.openai.chat.completions.create(
            model=MODEL, messages=self.history, stream=self.is_streamed, extra_body=more
        )
        if self.is_streamed:
            state: Any = ChatCompletionStreamState()
            for chunk in made:
                state.handle_chunk(chunk)
            made = state.get_final_completion()
        said = made.choices[0].message.model_dump(exclude_none=True)
        thinking, text = said.get("reasoning_content", ""), said.get("content", "")
        assert thinking == said.get("reasoning", ""), "thinking has two names and two texts"
        calls = [Call(call["id"], **_parts(call["function"])) for call in said.get("tool_calls", ())]
        item = {"role": "assistant", "content": text or (self.empty if calls else "")}
        if self.thinks == "content":
            item["content"] = f"<thinking-content-7bbe>\n{thinking}\n</thinking-content-7bbe>\n{text}"
        elif self.thinks and thinking:
            item[self.thinks] = thinking
        item |= {"tool_calls": [_called(call) for call in calls]} if calls else {}
        return Heard(thinking, text, calls, made.choices[0].finish_reason, [item])

    def result(self, call: Call, text: str, *, is_error: bool) -> None:
        self.history.append({"role": "tool", "tool_call_id": call.call_id, "content": text})

    def called(self, call: Call) -> Fields:
        return {"role": "assistant", "content": self.empty, "tool_calls": [_called(call)]}


@dataclass
class Responses(Program):
    """OpenAI's responses. `thinks` empty: reasoning items come back without their content."""

    more_tools: list[Fields] = field(default_factory=list)

    def ask(self, clients: Clients) -> Heard:
        tools = [*({"type": "function", "strict": False, **tool} for tool in _TOOLS), *self.more_tools]
        made: Any = clients.openai.responses.create(
            model=MODEL, input=self.history, stream=self.is_streamed, extra_body=self.fields | {"tools": tools}
        )
        streamed: list[Fields] | None = None
        if self.is_streamed:
            events = list(made)
            streamed = [one.item.model_dump() for one in events if one.type == "response.output_item.done"]
            made = events[-1].response
        items: list[Fields] = [item.model_dump() for item in made.output]
        assert streamed in (None, items), "the items at the end are not those that came"
        texts = {"reasoning": "", "message": ""}
        for item in items:
            if item["type"] in texts:
                texts[item["type"]] += "".join(part["text"] for part in item["content"])
            if item["type"] == "reasoning" and not self.thinks:
                item["content"] = []
        calls = [Call(item["call_id"], **_parts(item)) for item in items if item["type"] == "function_call"]
        return Heard(texts["reasoning"], texts["message"], calls, made.status, items)

    def result(self, call: Call, text: str, *, is_error: bool) -> None:
        self.history.append({"type": "function_call_output", "call_id": call.call_id, "output": text})

    def called(self, call: Call) -> Fields:
        return {"type": "function_call", **call._asdict()}


@dataclass
class Messages(Program):
    """Anthropic's messages."""

    def ask(self, clients: Clients) -> Heard:
        self.hears_thinking = "thinking" in self.fields
        tools = [{"name": one["name"], "description": "?", "input_schema": one["parameters"]} for one in _TOOLS]
        options = {"model": MODEL, "max_tokens": 16384, "messages": self.history}
        if self.is_streamed:
            with clients.anthropic.beta.messages.stream(**options, extra_body=self.fields | {"tools": tools}) as stream:
                made = stream.get_final_message()
        else:
            made = clients.anthropic.beta.messages.create(**options, extra_body=self.fields | {"tools": tools})
        blocks: list[Fields] = [block.model_dump() for block in made.content]
        calls = [Call(one["id"], one["name"], json.dumps(one["input"])) for one in blocks if one["type"] == "tool_use"]
        thinking = "".join(block.get("thinking", "") for block in blocks)
        text = "".join(block.get("text", "") for block in blocks)
        kept = [block for block in blocks if self.thinks or block["type"] != "thinking"]
        return Heard(thinking, text, calls, made.stop_reason, [{"role": "assistant", "content": kept}] if kept else [])

    def result(self, call: Call, text: str, *, is_error: bool) -> None:
        block = {"tool_use_id": call.call_id, "type": "tool_result", "content": text, "is_error": is_error}
        if self.history[-1]["role"] == "assistant":
            self.history.append({"role": "user", "content": []})
        self.history[-1]["content"].append(block)

    def called(self, call: Call) -> Fields:
        raw = {"__unparsedToolInput": {"raw": call.arguments, "len": len(call.arguments)}}
        block = {"type": "tool_use", "id": call.call_id, "name": call.name, "input": raw}
        return {"role": "assistant", "content": [block]}


@dataclass
class Ollama(Program):
    """Ollama's chat, in which calls have no ids, and arguments are objects."""

    def ask(self, clients: Clients) -> Heard:
        tools = [{"type": "function", "function": tool} for tool in _TOOLS]
        parts = list(clients.ollama.chat(MODEL, self.history, tools=tools, stream=True, **self.fields))
        thinking = "".join(part.message.thinking or "" for part in parts)
        text = "".join(part.message.content or "" for part in parts)
        made = [call.model_dump() for part in parts for call in part.message.tool_calls or ()]
        calls = [Call("", one["function"]["name"], json.dumps(one["function"]["arguments"])) for one in made]
        item = {"role": "assistant", "content": text, "thinking": thinking, "tool_calls": made}
        return Heard(
            thinking, text, calls, parts[-1].done_reason, [{name: said for name, said in item.items() if said}]
        )

    def result(self, call: Call, text: str, *, is_error: bool) -> None:
        self.history.append({"role": "tool", "content": text, "tool_name": call.name})

    def called(self, call: Call) -> Fields:
        return {"role": "assistant", "tool_calls": [{"function": {"name": call.name, "arguments": {}}}]}


def programs() -> list[Program]:
    """Return the programs, each at the beginning of a conversation."""
    system = {"role": "system", "content": "You are an agent. <b>Use tools.</b> 🎉"}
    usage = {"stream_options": {"include_usage": True}}
    example = [{"role": "user", "content": "Greet"}, {"role": "assistant", "content": "Ok."}]
    developer = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Use skills."}]}
    space: Fields = {
        "type": "namespace",
        "name": "agents",
        "description": "?",
        "tools": [{"type": "function", **_TOOLS[0]}],
    }
    codex = {
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "reasoning": {"summary": "auto"},
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "client_metadata": {"turn_id": "01a2"},
    }
    cached = {"cache_control": {"type": "ephemeral"}}
    claude = {
        "system": [{"type": "text", "text": "x-billing: cc"}, {"type": "text", "text": "You are an agent.", **cached}],
        "metadata": {"user_id": '{"device_id": "ca94"}'},
        "thinking": {"type": "adaptive"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "high"},
        "betas": ["interleaved-thinking-2025-05-14"],
    }
    reminder: Fields = {
        "role": "user",
        "content": [{"type": "text", "text": "<system-reminder>Today is Sunday.", **cached}],
    }
    empty = {"role": "user", "content": "[Your previous response had no visible output.]"}
    retry = {"role": "system", "content": "Please return text or call a tool."}
    asked_to_think = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    invalid = ("invalid", json.dumps({"tool": "bash", "error": f"JSON parsing failed: {_CUT}"}))  # is not offered
    effort = {"tool_choice": "auto", "max_tokens": 4096, "reasoning_effort": "low"}
    return [
        Chat("Continue", usage, [system], empty="", cut=("bash", "{}")),
        Chat("OpenCode", usage | effort, [system, empty], thinks="reasoning_content", empty="", cut=invalid),
        Chat("aider", {"temperature": 0}, [system, *example], thinks="content", tools=[]),
        Chat("OpenAI Agents SDK, chat", {}, [system]),
        Chat("LangChain, chat", {}, [], is_streamed=False),
        Chat("pydantic-ai, chat", {}, [system], is_streamed=False, thinks="reasoning", nudge=retry),
        Responses("Codex", codex, [developer, developer], thinks="content", more_tools=[space, {"type": "web_search"}]),
        Responses("OpenAI Agents SDK", {"include": [], "instructions": "Use tools."}, [], thinks="content"),
        Responses("LangChain", {}, []),
        Responses("pydantic-ai", {"instructions": "?"}, [], is_streamed=False, thinks="content", nudge=retry),
        Messages("Claude Code", claude, [reminder, system], thinks="blocks", nudge=empty),
        Messages("LangChain, messages", asked_to_think, [], thinks="blocks"),
        Messages("pydantic-ai, messages", {}, [], is_streamed=False),
        Ollama("LangChain, Ollama", {"think": True, "options": {}}, [], thinks="thinking"),
    ]


def _parts(function: Fields) -> dict[str, str]:
    return {"name": function["name"], "arguments": function["arguments"]}


def _called(call: Call) -> Fields:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
