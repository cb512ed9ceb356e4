"""Reads and writes OpenAI's responses, as far as texts and functions need them. Pure. Source: "Create a response".

Nothing is stored here, so `previous_response_id` is refused: the whole conversation comes with each request.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from msgspec import field

from potluck_gateway.exchange import (
    Answer,
    AnswerPart,
    Answers,
    BadRequestError,
    ChatMessage,
    ChatRequest,
    PartKind,
    Tools,
)
from potluck_gateway.formats import reading
from potluck_gateway.formats.reading import MessageHistory
from potluck_gateway.formats.writing import AnswerBlock, BlockFormat, chat_scores, event, new_id

_STATELESS = "nothing is stored: send the whole conversation as input"
_REFUSED: reading.Refused = {
    "previous_response_id": _STATELESS,
    "conversation": _STATELESS,
    "background": "wait for the answer",
    "prompt": "send its text as instructions",
}
_ABSENT = ("error", "incomplete_details", "instructions", "temperature", "top_p", "usage")
_SCORES = "message.output_text.logprobs"
_NAMES = {
    PartKind.TEXT: "output_text",
    PartKind.THINKING: "reasoning_text",
    PartKind.CALL: "function_call_arguments",
}  # names of events
_ITEMS: dict[PartKind, dict[str, Any]] = {
    PartKind.TEXT: {"type": "message", "role": "assistant"},
    PartKind.THINKING: {"type": "reasoning", "summary": []},
}


class _Fields(reading.SharedFields, kw_only=True):
    input: str | list[dict[str, Any]]
    instructions: str = ""
    max_tokens: reading.Limit | None = field(default=None, name="max_output_tokens")
    text: reading.Output = reading.Output()
    reasoning: reading.Output = reading.Output()
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: reading.Choice = "auto"
    parallel_tool_calls: bool = True
    include: tuple[str, ...] = ()
    top_logprobs: reading.NumTop = 0


def parse_response_request(body: bytes) -> ChatRequest:
    """Parse a request as `parse_chat` does."""
    fields, ignored = reading.read_fields(reading.parse_object(body), _Fields, _REFUSED)
    history = MessageHistory()
    if fields.instructions:
        history.messages.append(ChatMessage("system", fields.instructions))
    items = [{"role": "user", "content": fields.input}] if isinstance(fields.input, str) else fields.input
    history.add_all(list(map(_chat, items)), "input", joins=True)
    functions = [item if item.get("type") == "function" else None for item in fields.tools]
    tools, left_out = reading.parse_tools(functions, fields.tool_choice, is_parallel=fields.parallel_tool_calls)
    return ChatRequest(
        messages=tuple(history.messages),
        template_kwargs=reading.thinking_switches(fields.reasoning.effort),
        schema=reading.wanted_schema(fields.text.format),
        tools=tools,
        num_top=fields.top_logprobs if _SCORES in fields.include else None,
        ignored=(*ignored, *left_out, *history.left_out),
        **fields.shared(),
    )


def _chat(item: dict[str, Any]) -> dict[str, Any] | None:
    """Return the message of a chat that says what an item says; None if there is none."""
    kind, call_id = str(item.get("type") or "message"), item.get("call_id")
    if kind == "reasoning":
        return {"role": "assistant", "content": item.get("content") or item.get("summary")}
    if kind in ("function_call", "custom_tool_call"):
        function = {"name": item.get("name"), "arguments": item.get("arguments", item.get("input"))}
        return {"role": "assistant", "tool_calls": [{"id": call_id, "function": function}]}
    if kind in ("function_call_output", "custom_tool_call_output"):
        return {"role": "tool", "tool_call_id": call_id, "content": item.get("output")}
    return item if kind == "message" else None


class ResponseFormat(BlockFormat):
    """Writes OpenAI's responses."""

    def __init__(self, model: str, request: ChatRequest) -> None:
        self.blocks = []
        self._tools = request.tools or Tools(())
        self._shared = {"id": new_id("resp"), "object": "response", "created_at": int(time.time()), "model": model}
        self._number = 0  # number of the next event

    def whole(self, answers: Answers) -> dict[str, Any]:
        self.finish(answers[0])
        return self._finished(answers[0])

    def begin(self) -> bytes:
        response = self._response("in_progress", [])
        return self._event("created", response=response) + self._event("in_progress", response=response)

    def end(self, answers: Answers) -> bytes:
        last = self.finish(answers[0])
        whole = self._finished(answers[0])
        return last + self._event(whole["status"], response=whole)

    def failure(self, error: BadRequestError) -> bytes:
        body = {"code": error.code or "server_error", "message": str(error)}
        return self._event("failed", response=self._response("failed", self.blocks[:-1]) | {"error": body})

    def block_start(self, block: AnswerBlock) -> bytes:
        added = self._block_event("output_item.added", block, item=self._item(block, has_ended=False))
        return added + self._content_event("added", block)

    def block_delta(self, block: AnswerBlock, part: AnswerPart) -> bytes:
        scores = chat_scores(part.scores)
        return self._block_event(f"{_NAMES[block.kind]}.delta", block, delta=part.text, logprobs=scores)

    def block_end(self, block: AnswerBlock) -> bytes:
        events = self._block_event(f"{_NAMES[block.kind]}.done", block, **_content(block)) if block.is_whole else b""
        events += self._content_event("done", block)
        return events + self._block_event("output_item.done", block, item=self._item(block))

    def _content_event(self, kind: str, block: AnswerBlock) -> bytes:
        return b"" if block.call else self._block_event(f"content_part.{kind}", block, part=_content(block))

    def _item(self, block: AnswerBlock, *, has_ended: bool = True) -> dict[str, Any]:
        status = "completed" if block.is_whole else "incomplete"
        shared = {"id": self._item_id(block), "status": status if has_ended else "in_progress"}
        if block.call is not None:
            return {**shared, "type": "function_call", "call_id": block.call.call_id, **_content(block)}
        return {**shared, **_ITEMS[block.kind], "content": [_content(block)] if block.parts else []}

    def _item_id(self, block: AnswerBlock) -> str:
        return f"{block.kind}_{self._shared['id']}_{block.number}"

    def _finished(self, answer: Answer) -> dict[str, Any]:
        is_full = answer.reason == "length"
        usage = {
            "input_tokens": answer.prompt_tokens,
            "input_tokens_details": {"cached_tokens": answer.cached_tokens, "cache_write_tokens": 0},
            "output_tokens": answer.answer_tokens,
            "output_tokens_details": {"reasoning_tokens": answer.thinking_tokens},
            "total_tokens": answer.prompt_tokens + answer.answer_tokens,
        }
        response = self._response("incomplete" if is_full else "completed", self.blocks)
        return response | {"incomplete_details": {"reason": "max_output_tokens"} if is_full else None, "usage": usage}

    def _response(self, status: str, blocks: Sequence[AnswerBlock]) -> dict[str, Any]:
        offered = [tool.definition["function"] for tool in self._tools.offered]
        return {
            **self._shared,
            **dict.fromkeys(_ABSENT),
            "status": status,
            "output": [self._item(block) for block in blocks],
            "metadata": {},
            "parallel_tool_calls": self._tools.is_parallel,
            "tool_choice": "required" if self._tools.must_call else "auto",
            "tools": [{"type": "function", "strict": False, **function} for function in offered],
        }

    def _block_event(self, kind: str, block: AnswerBlock, **more: object) -> bytes:
        place = {"item_id": self._item_id(block), "output_index": block.number, "content_index": 0}
        return self._event(kind, **place, **more)

    def _event(self, kind: str, **more: object) -> bytes:
        self._number += 1
        kind = f"response.{kind}"
        return event({**more, "type": kind, "sequence_number": self._number - 1}, kind)


def _content(block: AnswerBlock) -> dict[str, Any]:
    """Return what a call, or the content of another item, says so far."""
    if block.call is not None:
        return {"name": block.call.name, "arguments": block.text}
    scores = chat_scores([score for part in block.parts for score in part.scores])
    return {"type": _NAMES[block.kind], "text": block.text, "annotations": [], "logprobs": scores}
