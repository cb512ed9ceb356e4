"""Reads and writes Anthropic's messages, which Claude Code and its like speak. Pure. Source: "Create a Message".

Thinking is off unless a request asks for it, as there, so that a program which knows none finds only text.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from potluck.sentences import Sentence
from potluck_gateway.exchange import Answer, AnswerBegun, AnswerPart, Answers, BadRequestError, ChatRequest, PartKind
from potluck_gateway.formats import reading
from potluck_gateway.formats.reading import MessageHistory, arguments_of
from potluck_gateway.formats.writing import AnswerBlock, BlockFormat, event, new_id

_BILLING = re.compile(r"\Ax-anthropic-billing-header:[^\n]*\n*")  # differs each time, so no prompt would be known
_SIGNATURE = "unsigned"  # programs send thinking back only with a signature
_NOT_SHOWN = "(not shown: this model takes only text)"
_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
_ERRORS = {401: "authentication", 403: "permission", 404: "not_found", 429: "rate_limit", 503: "overloaded"}


class _Thinking(Struct, frozen=True):
    type: str = "disabled"


class _Choice(Struct, frozen=True):
    type: Literal["auto", "any", "none", "tool"] = "auto"
    name: str = ""
    disable_parallel_tool_use: bool | None = None


class _Fields(reading.SharedFields, kw_only=True):
    messages: Annotated[list[dict[str, Any]], Meta(min_length=1)]
    system: str | list[dict[str, Any]] = ""
    stop: reading.Stop = field(default="", name="stop_sequences")
    thinking: _Thinking = _Thinking()
    output_config: reading.Output = reading.Output()
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: _Choice = _Choice()


def parse_message_request(body: bytes) -> ChatRequest:
    """Parse a request as `parse_chat` does."""
    fields, ignored = reading.read_fields(reading.parse_object(body), _Fields, {})
    history = MessageHistory()
    history.add_all([*_system(fields.system), *(chat for message in fields.messages for chat in _chats(message))])
    choice = fields.tool_choice
    tools, left_out = reading.parse_tools(
        [item | {"parameters": item["input_schema"]} if "input_schema" in item else None for item in fields.tools],
        reading.Named(choice.name) if choice.type == "tool" else "required" if choice.type == "any" else choice.type,
        is_parallel=choice.disable_parallel_tool_use is not True,
    )
    last = history.messages[-1]
    return ChatRequest(
        messages=tuple(history.messages),
        continues=last.role == "assistant" and not last.calls,
        template_kwargs=reading.thinking_switches(fields.output_config.effort, fields.thinking.type != "disabled"),
        schema=reading.wanted_schema(fields.output_config.format),
        tools=tools,
        ignored=(*ignored, *history.left_out, *left_out),
        **fields.shared(),
    )


def message_error(error: BadRequestError) -> dict[str, Any]:
    """Return the body of a refusal. Programs shorten a conversation when they read that the prompt is too long."""
    is_too_long = error.code == "context_length_exceeded"
    kind = _ERRORS.get(error.status, "invalid_request" if error.status < 500 else "api")
    message = f"prompt is too long: {error}" if is_too_long else str(error)
    return {"type": "error", "error": {"type": f"{kind}_error", "message": message}}


def _system(given: object) -> list[dict[str, Any]]:
    """Return the system message, if there is one."""
    texts = (_BILLING.sub("", str(block.get("text") or "")) for block in _blocks(given))
    shown = list(filter(None, texts))
    return [{"role": "system", "content": shown}] if shown else []


def _chats(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the same messages as in OpenAI's chat, where each result of a tool is a message of its own."""
    blocks = _blocks(message.get("content"))
    results = [_result(block) for block in blocks if block.get("type") == "tool_result"]
    calls = [
        block | {"function": block | {"arguments": block.get("input")}}
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    rest = [_shown(block) for block in blocks if block.get("type") not in ("tool_result", "tool_use")]
    chat = {"role": message.get("role"), "content": rest, "tool_calls": calls}
    return [*results, chat] if rest or calls else results


def _blocks(content: object) -> list[dict[str, Any]]:
    """Return the blocks of a content, which may also be a text."""
    items = content if content and isinstance(content, list) else [content or ""]
    return [item if isinstance(item, dict) else {"type": "text", "text": item} for item in items]


def _result(block: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a call. Results that aren't text are replaced: refusing one would end the conversation."""
    parts = map(_shown, _blocks(block.get("content")))
    texts = [part if part.get("type") == "text" else _NOT_SHOWN for part in parts]
    failed = ["Error:"] if block.get("is_error") is True else []
    return {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": failed + texts}


def _shown(block: dict[str, Any]) -> dict[str, Any]:
    """Return a document of plain text as text, and other blocks as they are."""
    source = block.get("source")
    is_text = isinstance(source, dict) and (block.get("type"), source.get("type")) == ("document", "text")
    return {"type": "text", "text": block["source"].get("data")} if is_text else block


class MessageFormat(BlockFormat):
    """Writes an answer as one of Anthropic's messages."""

    def __init__(self, model: str, request: ChatRequest) -> None:
        self.blocks = []
        self._message = {"id": new_id("msg"), "type": "message", "role": "assistant", "model": model}
        self._thinks = bool(request.template_kwargs.get("enable_thinking"))

    def whole(self, answers: Answers) -> dict[str, Any]:
        (answer,) = answers
        self.finish(answer)
        content = [_content(block) for block in self.blocks if block.text or block.call]
        return {**self._message, "content": content, **_end(answer), "usage": _usage(answer)}

    def begin(self) -> bytes:
        return _event("ping")

    def begun(self, begun: AnswerBegun) -> bytes:
        usage = {"input_tokens": begun.prompt_tokens, "output_tokens": 0}
        nothing: dict[str, Any] = {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return _event("message_start", message=self._message | nothing)

    def part(self, part: AnswerPart) -> bytes:
        is_hidden = part.kind is PartKind.THINKING and not self._thinks
        return _event("ping") if is_hidden else super().part(part)

    def wait(self, sentence: Sentence) -> bytes:
        return _event("ping")

    def end(self, answers: Answers) -> bytes:
        (answer,) = answers
        end = _event("message_delta", delta=_end(answer), usage=_usage(answer))
        return self.close() + end + _event("message_stop")

    def failure(self, error: BadRequestError) -> bytes:
        return event(message_error(error), "error")

    def block_start(self, block: AnswerBlock) -> bytes:
        return _event("content_block_start", index=block.number, content_block=_content(block))

    def block_delta(self, block: AnswerBlock, part: AnswerPart) -> bytes:
        kind, field = ("input_json", "partial_json") if part.call else (part.kind, part.kind)
        return _delta(block, kind, field, part.text)

    def block_end(self, block: AnswerBlock) -> bytes:
        is_thinking = block.kind is PartKind.THINKING
        signature = _delta(block, "signature", "signature", _SIGNATURE) if is_thinking else b""
        return signature + _event("content_block_stop", index=block.number)


def _content(block: AnswerBlock) -> dict[str, Any]:
    """Return the block as far as it has come, but a call's arguments only as a whole."""
    if block.call is not None:
        given = json.loads(arguments_of(block.text))
        return {"type": "tool_use", "id": block.call.call_id, "name": block.call.name, "input": given}
    if block.kind is PartKind.THINKING:
        return {"type": "thinking", "thinking": block.text, "signature": _SIGNATURE if block.parts else ""}
    return {"type": "text", "text": block.text}


def _delta(block: AnswerBlock, name: str, field: str, text: str) -> bytes:
    return _event("content_block_delta", index=block.number, delta={"type": f"{name}_delta", field: text})


def _event(kind: str, **fields: object) -> bytes:
    return event({"type": kind, **fields}, kind)


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
