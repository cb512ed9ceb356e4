"""Reads and writes Anthropic's messages, which Claude Code and its like speak. Pure. Source: "Create a Message".

Thinking is off unless a request asks for it, as there, so that a program which knows none finds only text.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

from msgspec import Meta, Struct

from potluck.sentences import Sentence
from potluck_gateway.answers.answer import Answer, Answers, Begun, Kind, Part
from potluck_gateway.formats import fields
from potluck_gateway.formats.history import History
from potluck_gateway.formats.writing import EVENTS, Block, Blocks, event, new_id
from potluck_gateway.requests import BadRequestError, ChatRequest

_BILLING = re.compile(r"\Ax-anthropic-billing-header:[^\n]*\n*")  # differs each time: the prompt would be new each time
_SIGNATURE = "unsigned"  # programs send no thinking back that has none
_NOT_SHOWN = "(not shown: this model takes only text)"
_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
_ERRORS = {401: "authentication", 403: "permission", 404: "not_found", 429: "rate_limit", 503: "overloaded"}


class _Thinking(Struct, frozen=True):
    type: str = "disabled"


class _Form(Struct, frozen=True):
    schema: dict[str, Any] | None = None


class _Output(Struct, frozen=True):
    effort: str | None = None
    format: _Form | None = None


class _Choice(Struct, frozen=True):
    type: str = "auto"
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class _Fields(fields.SamplingFields, kw_only=True):
    messages: Annotated[list[dict[str, Any]], Meta(min_length=1)]
    system: str | list[dict[str, Any]] = ""
    max_tokens: fields.Limit | None = None
    stop_sequences: Annotated[list[str], Meta(max_length=64)] | None = None
    thinking: _Thinking = _Thinking()
    output_config: _Output = _Output()
    tools: list[dict[str, Any]] | None = None
    tool_choice: _Choice = _Choice()


def parse_message_request(body: bytes) -> ChatRequest:
    """Parse a request as `parse_chat` does."""
    asked, ignored = fields.read_fields(fields.parse_object(body), _Fields, {})
    history = History()
    history.add_all([*_system(asked.system), *(chat for message in asked.messages for chat in _chats(message))])
    tools, left_out = fields.parse_tools(
        [_tool(item) for item in asked.tools or []],
        _choice(asked.tool_choice),
        is_parallel=asked.tool_choice.disable_parallel_tool_use is not True,
    )
    last, form = history.messages[-1], asked.output_config.format
    return ChatRequest(
        messages=tuple(history.messages),
        max_tokens=fields.limit(asked.max_tokens),
        sampling=asked.sampling(),
        stop=fields.stops(asked.stop_sequences),
        continues=last.role == "assistant" and not last.calls,
        template_kwargs=fields.thinking_switches(asked.thinking.type != "disabled", asked.output_config.effort),
        schema=None if form is None or form.schema is None else json.dumps(form.schema),
        tools=tools,
        is_streamed=asked.stream is True,
        max_wait_s=asked.max_wait_s,
        model=asked.model,
        ignored=(*ignored, *history.left_out, *left_out),
    )


def message_error(error: BadRequestError) -> dict[str, Any]:
    """Return the body of a refusal. Programs shorten a conversation when they read that the prompt is too long."""
    is_too_long = error.code == "context_length_exceeded"
    kind = _ERRORS.get(error.status, "invalid_request" if error.status < 500 else "api")
    return _error(f"{kind}_error", f"prompt is too long: {error}" if is_too_long else str(error))


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _system(given: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the system message, if there is one."""
    texts = [given] if isinstance(given, str) else [str(block.get("text") or "") for block in given]
    said = list(filter(None, (_BILLING.sub("", text) for text in texts)))
    return [{"role": "system", "content": said}] if said else []


def _chats(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of OpenAI's chat that say the same. There, each result of a tool has its own."""
    content = message.get("content") or []
    blocks = content if isinstance(content, list) else [content]
    results = [block for block in blocks if _kind(block) == "tool_result"]
    rest = [_shown(block) for block in blocks if _kind(block) not in ("tool_result", "tool_use")]
    calls = [
        {"id": block.get("id"), "function": {"name": block.get("name"), "arguments": block.get("input")}}
        for block in blocks
        if _kind(block) == "tool_use"
    ]
    said = {"role": message.get("role"), "content": rest, "tool_calls": calls}
    return [*map(_result, results), *([said] if rest or calls or not results else [])]


def _kind(block: object) -> object:
    return block.get("type") if isinstance(block, dict) else None


def _result(block: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a call. One that isn't text would stop the conversation for good if it were refused."""
    content = block.get("content") or []
    parts = [_shown(part) for part in content] if isinstance(content, list) else [content]
    texts = [part if isinstance(part, str) or _kind(part) == "text" else _NOT_SHOWN for part in parts]
    failed = ["Error:"] if block.get("is_error") is True else []
    return {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": failed + texts}


def _shown(block: Any) -> Any:
    """Return a document of plain text as text, and other blocks as they are."""
    source: Any = block.get("source") if _kind(block) == "document" else None
    is_text = isinstance(source, dict) and source.get("type") == "text"
    return {"type": "text", "text": source["data"]} if is_text and "data" in source else block


def _tool(item: dict[str, Any]) -> dict[str, Any]:
    """Return a tool of the caller as OpenAI's chat has it, and others as they are."""
    if "input_schema" not in item:
        return item
    function = {"name": item.get("name"), "description": item.get("description"), "parameters": item["input_schema"]}
    return {"type": "function", "function": function}


def _choice(given: _Choice) -> object:
    return {"name": given.name} if given.type == "tool" else "required" if given.type == "any" else given.type


class MessageFormat:
    media_type = EVENTS

    def __init__(self, model: str, asked: ChatRequest) -> None:
        self._model = model
        self._thinks = bool(asked.template_kwargs.get("enable_thinking"))
        self._id = new_id("msg")
        self._blocks = Blocks(self)

    def whole(self, answers: Answers) -> dict[str, Any]:
        (answer,) = answers
        thinking = [_thinking(answer.thinking, _SIGNATURE)] if answer.thinking and self._thinks else []
        text = [{"type": "text", "text": answer.text}] if answer.text else []
        calls = [_use(call.call_id, call.name, json.loads(call.arguments)) for call in answer.calls]
        return self._message([*thinking, *text, *calls]) | _end(answer) | {"usage": _usage(answer)}

    def begin(self) -> bytes:
        return _event("ping")

    def begun(self, begun: Begun) -> bytes:
        usage = {"input_tokens": begun.prompt_tokens, "output_tokens": 0}
        nothing = {"stop_reason": None, "stop_sequence": None, "usage": usage}
        return _event("message_start", message=self._message([]) | nothing)

    def part(self, part: Part) -> bytes:
        if part.kind is Kind.THINKING and not self._thinks:
            return _event("ping")
        return self._blocks.add(part) if part.text or part.call else b""

    def wait(self, sentence: Sentence) -> bytes:
        return _event("ping")

    def end(self, answers: Answers) -> bytes:
        (answer,) = answers
        end = _event("message_delta", delta=_end(answer), usage=_usage(answer))
        return self._blocks.close() + end + _event("message_stop")

    def failure(self, sentence: Sentence) -> bytes:
        return event(_error("api_error", str(sentence)), "error")

    def opened(self, block: Block) -> bytes:
        if block.call is not None:
            content = _use(block.call.call_id, block.call.name, {})
        else:
            content = _thinking("", "") if block.kind is Kind.THINKING else {"type": "text", "text": ""}
        return _event("content_block_start", index=block.number, content_block=content)

    def more(self, block: Block, text: str) -> bytes:
        if block.kind is Kind.CALL:
            return _delta(block, "input_json", "partial_json", text)
        return _delta(block, block.kind, block.kind, text)

    def closed(self, block: Block) -> bytes:
        is_thinking = block.kind is Kind.THINKING
        signature = _delta(block, "signature", "signature", _SIGNATURE) if is_thinking else b""
        return signature + _event("content_block_stop", index=block.number)

    def _message(self, content: list[dict[str, Any]]) -> dict[str, Any]:
        return {"id": self._id, "type": "message", "role": "assistant", "model": self._model, "content": content}


def _delta(block: Block, name: str, field: str, text: str) -> bytes:
    return _event("content_block_delta", index=block.number, delta={"type": f"{name}_delta", field: text})


def _event(kind: str, **fields: object) -> bytes:
    return event({"type": kind, **fields}, kind)


def _thinking(text: str, signature: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature}


def _use(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def _end(answer: Answer) -> dict[str, Any]:
    reason = "stop_sequence" if answer.stop is not None else _REASONS[answer.reason]
    return {"stop_reason": reason, "stop_sequence": answer.stop}


def _usage(answer: Answer) -> dict[str, Any]:
    return {
        "input_tokens": answer.prompt_tokens - answer.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": answer.cached_tokens,
        "output_tokens": answer.answer_tokens,
        "output_tokens_details": {"thinking_tokens": answer.thinking_tokens},
    }
