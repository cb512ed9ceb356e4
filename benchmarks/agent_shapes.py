"""What agents send in a conversation, and how they read the answers: for `agent_turns`.

Recorded from Claude Code 2.1, Codex 0.171, Continue 1.5, OpenCode 1.18, aider 0.86, OpenAI Agents SDK 0.24, LangChain 1.x
and pydantic-ai 2.68 before a server with scripted answers. Texts are shortened; fields, roles, kinds of tools and what
becomes of thinking, failed calls and empty answers in the history are as recorded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx

from benchmarks.scripted_model import KEY, MODEL

_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "The command"},
        "timeout": {"type": "integer", "minimum": -9007199254740991, "exclusiveMinimum": 0, "maximum": 9007199254740991},
        "url": {"type": "string", "format": "uri", "minLength": 2},
    },
    "required": ["command"],
    "additionalProperties": False,
}
_NOTHING = {"type": "object", "properties": {}}
_TOOLS = (("list", "Lists.", _NOTHING), ("bash", "Runs a command.", _SCHEMA))
_CUT = '{"command": "echo '
_INVALID = {"tool": "bash", "error": f"JSON parsing failed: {_CUT}"}
_FAILED = "failed to parse the arguments: EOF while parsing a string"


@dataclass(frozen=True, slots=True)
class Call:
    call_id: str
    name: str
    arguments: str


@dataclass(slots=True)
class Heard:
    """An answer as a program has read it. `items`: what the program sends back of it."""

    thinking: str = ""
    text: str = ""
    calls: list[Call] = field(default_factory=list)
    end: str = ""
    items: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Program:
    """One program's conversation. Subclasses speak a format; fields tell what programs of that format do differently.

    Attributes:
        fields: of each request, beside the conversation and the tools.
        history: begins with what the program says before the first question.
        thinks: how thinking is sent back; empty if it isn't.
        nudges: it asks again after an empty answer.
    """

    name: str
    fields: dict[str, Any]
    history: list[dict[str, Any]]
    is_streamed: bool = True
    thinks: str = ""
    nudges: bool = False
    headers: dict[str, str] = field(default_factory=lambda: {"Authorization": f"Bearer {KEY}"})
    path = ""
    conversation = "messages"  # the field of the history

    def tools(self) -> list[dict[str, Any]]:
        return [{"type": "function", "function": _function(*tool)} for tool in _TOOLS]

    def probe(self, client: httpx.Client) -> None:
        """Ask what the program asks before a conversation. Raises AssertionError."""
        assert MODEL in client.get("/v1/models", headers=self.headers).text

    def question(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})

    def ask(self, client: httpx.Client) -> Heard:
        """Send the conversation. Raises AssertionError if the answer is not as the format has it."""
        body = {"model": MODEL, self.conversation: self.history, "stream": self.is_streamed, **self.fields}
        if tools := self.tools():
            body["tools"] = tools
        headers = {"Content-Type": "application/json", **self.headers}
        answer = client.post(self.path, headers=headers, content=json.dumps(body))  # half a letter needs its escape
        assert answer.status_code == httpx.codes.OK, f"{answer.status_code} {answer.text[:300]}"
        return self.read_stream(answer.text) if self.is_streamed else self.read(answer.json())

    def read(self, answer: dict[str, Any]) -> Heard:
        raise NotImplementedError

    def read_stream(self, stream: str) -> Heard:
        raise NotImplementedError

    def keep(self, heard: Heard) -> None:
        self.history += heard.items

    def result(self, call: Call, text: str, *, is_error: bool = False) -> None:
        raise NotImplementedError

    def cut_call(self) -> None:
        """Add a call whose arguments were cut, as another server may have let it through."""
        call = Call("call_cut", "bash", _CUT)
        self.keep(Heard(calls=[call], items=self.sent_back("I'll try.", call)))
        self.result(call, _FAILED, is_error=True)

    def sent_back(self, text: str, call: Call) -> list[dict[str, Any]]:
        raise NotImplementedError


@dataclass
class ChatProgram(Program):
    """Speaks OpenAI's chat completions.

    Attributes:
        empty: the content of a message that only calls.
        cut: what becomes of a call whose arguments were cut: its name and arguments.
    """

    empty: str | None = None
    cut: tuple[str, str] = ("bash", _CUT)
    has_tools: bool = True
    keeps_empty: bool = True
    path = "/v1/chat/completions"

    def tools(self) -> list[dict[str, Any]]:
        return super().tools() if self.has_tools else []

    def read(self, answer: dict[str, Any]) -> Heard:
        (choice,) = answer["choices"]
        assert answer["usage"]["completion_tokens"] > 0
        return self._heard(choice["message"], choice["message"].get("tool_calls") or [], choice["finish_reason"])

    def read_stream(self, stream: str) -> Heard:
        *chunks, done = _events(stream)
        assert done == "[DONE]"
        if self.fields.get("stream_options"):
            assert chunks.pop()["usage"]["completion_tokens"] > 0
        message: dict[str, str] = {}
        calls: dict[int, dict[str, Any]] = {}
        for chunk in chunks:
            (choice,) = chunk["choices"]
            for name in ("content", "reasoning_content", "reasoning"):
                message[name] = message.get(name, "") + (choice["delta"].get(name) or "")
            for part in choice["delta"].get("tool_calls") or []:
                call = calls.setdefault(part["index"], part | {"function": part["function"] | {"arguments": ""}})
                call["function"]["arguments"] += part["function"]["arguments"]
        return self._heard(message, list(calls.values()), choice["finish_reason"])

    def _heard(self, message: dict[str, Any], calls: list[dict[str, Any]], end: str) -> Heard:
        heard = Heard(message.get("reasoning_content") or "", message.get("content") or "", end=end)
        assert heard.thinking == (message.get("reasoning") or "")
        heard.calls = [Call(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls]
        if heard.text or heard.calls or self.keeps_empty:
            heard.items = [self._message(heard)]
        return heard

    def _message(self, heard: Heard) -> dict[str, Any]:
        called = [_called(call) for call in heard.calls]
        message: dict[str, Any] = {"role": "assistant", "content": heard.text or (self.empty if called else "")}
        if self.thinks == "text":
            message["content"] = f"<thinking-content-7bbeb8>\n{heard.thinking}\n</thinking-content-7bbeb8>\n{heard.text}"
        elif self.thinks and heard.thinking:
            message[self.thinks] = heard.thinking
        return message | ({"tool_calls": called} if called else {})

    def result(self, call: Call, text: str, *, is_error: bool = False) -> None:
        self.history.append({"role": "tool", "tool_call_id": call.call_id, "content": text})

    def sent_back(self, text: str, call: Call) -> list[dict[str, Any]]:
        return [self._message(Heard(text=text, calls=[Call(call.call_id, *self.cut)]))] if self.has_tools else []

    def cut_call(self) -> None:
        if self.has_tools:
            super().cut_call()


@dataclass
class ResponsesProgram(Program):
    """Speaks OpenAI's responses. `thinks`: the fields of a reasoning item that come back."""

    more_tools: list[dict[str, Any]] = field(default_factory=list)
    leaves_out: tuple[str, ...] = ()  # fields of items that aren't sent back
    path = "/v1/responses"
    conversation = "input"

    def tools(self) -> list[dict[str, Any]]:
        return [*({"type": "function", "strict": False, **_function(*tool)} for tool in _TOOLS), *self.more_tools]

    def read(self, answer: dict[str, Any]) -> Heard:
        heard = Heard(end=answer["status"])
        assert answer["usage"]["output_tokens"] > 0
        for item in answer["output"]:
            texts = "".join(part["text"] for part in item.get("content") or item.get("summary") or [])
            match item["type"]:
                case "reasoning":
                    heard.thinking += texts
                case "message":
                    heard.text += texts
                case "function_call":
                    heard.calls.append(Call(item["call_id"], item["name"], item["arguments"]))
            heard.items.append({name: value for name, value in item.items() if name not in self.leaves_out})
        return heard

    def read_stream(self, stream: str) -> Heard:
        events = _events(stream)
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert (events[0]["type"], events[-1]["type"]) == ("response.created", "response.completed")
        final: dict[str, Any] = events[-1]["response"]
        assert [event["item"] for event in events if event["type"] == "response.output_item.done"] == final["output"]
        heard = self.read(final)
        deltas = {"reasoning": "", "output_text": "", "function_call_arguments": ""}
        for event in events:
            name = event["type"].removeprefix("response.").removesuffix(".delta")
            kind = "reasoning" if name.startswith("reasoning") else name
            if event["type"].endswith(".delta"):
                deltas[kind] += event["delta"]
        assert list(deltas.values()) == [heard.thinking, heard.text, "".join(call.arguments for call in heard.calls)]
        return heard

    def result(self, call: Call, text: str, *, is_error: bool = False) -> None:
        self.history.append({"type": "function_call_output", "call_id": call.call_id, "output": text})

    def sent_back(self, text: str, call: Call) -> list[dict[str, Any]]:
        said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        made = {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
        return [said, made]


@dataclass
class MessagesProgram(Program):
    """Speaks Anthropic's messages. `nulls`: what a block has beside what it needs."""

    nulls: dict[str, None] = field(default_factory=dict)
    path = "/v1/messages?beta=true"

    def tools(self) -> list[dict[str, Any]]:
        return [{"name": name, "description": text, "input_schema": schema} for name, text, schema in _TOOLS]

    def probe(self, client: httpx.Client) -> None:
        assert client.head("/").status_code < httpx.codes.INTERNAL_SERVER_ERROR  # without a key
        asked = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}], "tools": self.tools()}
        counted = client.post("/v1/messages/count_tokens", headers=self.headers, json=asked)
        assert counted.json()["input_tokens"] > 0

    def read(self, answer: dict[str, Any]) -> Heard:
        heard = Heard(end=answer["stop_reason"])
        assert answer["usage"]["output_tokens"] > 0
        for block in answer["content"]:
            heard.thinking += block.get("thinking", "")
            heard.text += block.get("text", "")
            if block["type"] == "tool_use":
                heard.calls.append(Call(block["id"], block["name"], json.dumps(block["input"])))
        blocks = [block | self.nulls for block in answer["content"] if block["type"] != "thinking" or self.thinks]
        heard.items = [{"role": "assistant", "content": blocks}] if heard.text or heard.calls else []
        return heard

    def read_stream(self, stream: str) -> Heard:
        events = [event for event in _events(stream) if event["type"] != "ping"]
        assert (events[0]["type"], events[-1]["type"]) == ("message_start", "message_stop")
        blocks: list[dict[str, Any]] = []
        for event in events[1:-2]:
            match event["type"]:
                case "content_block_start":
                    assert event["index"] == len(blocks)
                    blocks.append({**event["content_block"], "partial_json": ""})
                case "content_block_delta":
                    name = event["delta"]["type"].removesuffix("_delta").replace("input_json", "partial_json")
                    assert event["index"] == len(blocks) - 1
                    blocks[-1][name] = blocks[-1].get(name, "") + event["delta"][name]
        for block in blocks:
            written = block.pop("partial_json")
            if block["type"] == "tool_use":
                block["input"] = json.loads(written or "{}")
        last = events[-2]
        return self.read({"content": blocks, "usage": last["usage"], "stop_reason": last["delta"]["stop_reason"]})

    def result(self, call: Call, text: str, *, is_error: bool = False) -> None:
        content = [{"type": "text", "text": text}] if self.nulls else text
        block = {"tool_use_id": call.call_id, "type": "tool_result", "content": content, "is_error": is_error}
        if isinstance(before := self.history[-1]["content"], list) and before[-1]["type"] == "tool_result":
            before.append(block)
        else:
            self.history.append({"role": "user", "content": [block]})

    def sent_back(self, text: str, call: Call) -> list[dict[str, Any]]:
        cut = {"__unparsedToolInput": {"raw": call.arguments, "len": len(call.arguments)}}
        used = {"type": "tool_use", "id": call.call_id, "name": call.name, "input": cut}
        return [{"role": "assistant", "content": [{"type": "text", "text": text}, used]}]


@dataclass
class OllamaProgram(Program):
    """Speaks Ollama's chat."""

    path = "/api/chat"

    def probe(self, client: httpx.Client) -> None:
        assert MODEL in client.get("/api/tags", headers=self.headers).text
        assert "tools" in client.post("/api/show", headers=self.headers, json={"model": MODEL}).json()["capabilities"]

    def read_stream(self, stream: str) -> Heard:
        *parts, last = map(json.loads, stream.splitlines())
        assert (last["done"], last["eval_count"] > 0) == (True, True)
        heard = Heard(end=last["done_reason"])
        for message in (part["message"] for part in [*parts, last]):
            heard.thinking += message.get("thinking") or ""
            heard.text += message.get("content") or ""
            calls = (call["function"] for call in message.get("tool_calls") or [])
            heard.calls += [Call("", call["name"], json.dumps(call["arguments"])) for call in calls]
        kept = {"content": heard.text, "thinking": heard.thinking, "tool_calls": [_called(call) for call in heard.calls]}
        heard.items = [{"role": "assistant", **{name: value for name, value in kept.items() if value}}]
        return heard

    def result(self, call: Call, text: str, *, is_error: bool = False) -> None:
        self.history.append({"role": "tool", "content": text, "tool_name": call.name})

    def sent_back(self, text: str, call: Call) -> list[dict[str, Any]]:
        return [{"role": "assistant", "content": text, "tool_calls": [_called(Call("", call.name, "{}"))]}]


def programs() -> list[Program]:
    """Return the programs, each at the beginning of a conversation."""
    system = {"role": "system", "content": "You are an agent. <b>Use tools.</b> 🎉"}
    usage = {"stream_options": {"include_usage": True}}
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2048}
    shown = ["Add a greeting", "Ok.", "I switched to a new code base."]
    examples = [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(shown)]
    developer = {"type": "message", "id": "msg_1", "role": "developer"}
    codex = {
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "reasoning": {"summary": "auto"},
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "01a2261b",
        "client_metadata": {"session_id": "01a2261b"},
    }
    inner = {"type": "function", "strict": False, **_function("close_agent", "Close an agent.", _NOTHING)}
    spaces = [
        {"type": "namespace", "name": "multi_agent_v1", "description": "Agents.", "tools": [inner]},
        {"type": "web_search", "external_web_access": True},
    ]
    cached = {"cache_control": {"type": "ephemeral"}}
    claude = {
        "system": [{"type": "text", "text": "x-anthropic-billing-header: cc"}, {"type": "text", "text": "Agent.", **cached}],
        "metadata": {"user_id": '{"device_id": "ca94"}'},
        "max_tokens": 32000,
        "thinking": {"type": "adaptive"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "high"},
    }
    reminder = [{"type": "text", "text": "<system-reminder>\nToday is Sunday.\n</system-reminder>"}]
    betas = {"anthropic-version": "2023-06-01", "anthropic-beta": "interleaved-thinking-2025-05-14,effort-2025-11-24"}
    bearer, key = {"Authorization": f"Bearer {KEY}"}, {"x-api-key": KEY}
    middle = [{"role": "user", "content": reminder}, {"role": "system", "content": "Agent types: all."}]
    return [
        ChatProgram("Continue", usage, [system], empty="", cut=("bash", "{}"), keeps_empty=False),
        ChatProgram(
            "OpenCode",
            {**usage, "tool_choice": "auto", "max_tokens": 4096, "reasoning_effort": "low"},
            [system, {"role": "user", "content": "Hello"}],
            thinks="reasoning_content",
            empty="",
            cut=("invalid", json.dumps(_INVALID)),
        ),
        ChatProgram("aider", {"temperature": 0}, [system, *examples], thinks="text", has_tools=False),
        ChatProgram("OpenAI Agents SDK, chat", {}, [system]),
        ChatProgram("LangChain, chat", {}, [], is_streamed=False),
        ChatProgram("pydantic-ai, chat", {"tool_choice": "auto"}, [system], is_streamed=False, thinks="reasoning"),
        ResponsesProgram(
            "Codex",
            codex,
            [developer | {"content": [{"type": "input_text", "text": text}]} for text in ("Agent.", "Skills.")],
            more_tools=spaces,
        ),
        ResponsesProgram("OpenAI Agents SDK", {"include": [], "instructions": "Use tools."}, []),
        ResponsesProgram("LangChain", {}, [], leaves_out=("status",)),
        ResponsesProgram("pydantic-ai", {"instructions": "Use tools."}, [], is_streamed=False, leaves_out=("id", "status")),
        MessagesProgram("Claude Code", claude, middle, thinks="blocks", nudges=True, headers=bearer | betas),
        MessagesProgram("anthropic", thinking, [], thinks="blocks", headers=key, nulls={"citations": None, "caller": None}),
        MessagesProgram("pydantic-ai, messages", {"max_tokens": 16384}, [], is_streamed=False, headers=key),
        OllamaProgram("LangChain, Ollama", {"think": True, "options": {}, "keep_alive": None}, [], thinks="thinking"),
    ]


def _function(name: str, text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": text, "parameters": schema}


def _called(call: Call) -> dict[str, Any]:
    """Return a call as chat completions have it, and without its id as Ollama does."""
    if not call.call_id:
        return {"function": {"name": call.name, "arguments": json.loads(call.arguments)}}
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _events(stream: str) -> list[Any]:
    """Return the data of events. Their names, where they have any, must be their types."""
    found: list[Any] = []
    for block in stream.split("\n\n"):
        lines = [line.partition(": ") for line in block.splitlines() if line and not line.startswith(":")]
        named = {name: value for name, _, value in lines}
        if "data" in named:
            found.append(named["data"] if named["data"] == "[DONE]" else json.loads(named["data"]))
            assert named.get("event") in (None, found[-1]["type"] if "event" in named else None)
    return found
