"""Reads and writes OpenAI's responses, as far as an answer in text needs them. Pure. Source: "Create a response".

Nothing is stored here, so `previous_response_id` is refused: the whole conversation comes with each request.
"""

from __future__ import annotations

import time
from typing import Any

from potluck_gateway.answer_format import EVENTS, comment, event, new_id
from potluck_gateway.answers import Answers, Part
from potluck_gateway.requests import (
    ACCOUNTS,
    LEAVE_OUT,
    MAX_MESSAGES,
    SAMPLING,
    BadRequestError,
    ChatMessage,
    ChatRequest,
    FieldRules,
    check_fields,
    parse_max_tokens,
    parse_message,
    parse_object,
    parse_response_format,
    parse_sampling,
)

_RULES = FieldRules(
    frozenset(["input", "instructions", "model", "max_output_tokens", "temperature", "top_p", "stream", "text"]),
    ACCOUNTS | {"truncation", "include", "reasoning"},
    {
        "tools": (([],), "tools are understood at /v1/chat/completions"),
        "tool_choice": (("none", "auto"), LEAVE_OUT),
        "parallel_tool_calls": ((True, False), LEAVE_OUT),
        "previous_response_id": ((), "nothing is stored: send the whole conversation as input"),
        "conversation": ((), "nothing is stored: send the whole conversation as input"),
        "background": ((False,), "wait for the answer"),
        "prompt": ((), "send its text as instructions"),
        "top_logprobs": ((0,), "scores are not returned"),
        "max_tool_calls": ((), "there are no tools"),
    },
)


def parse_response_request(body: bytes, most_tokens: int) -> ChatRequest:
    """Parse a request as `parse_chat` does."""
    asked = parse_object(body)
    ignored = check_fields(asked, _RULES)
    instructions = asked.get("instructions")
    if instructions is not None and not isinstance(instructions, str):
        raise BadRequestError("instructions must be a text")
    text = asked.get("text")
    start = (ChatMessage("system", instructions),) if instructions else ()
    return ChatRequest(
        (*start, *_messages(asked.get("input"))),
        parse_max_tokens(asked.get("max_output_tokens") or most_tokens, most_tokens),
        schema=_schema(text.get("format") if isinstance(text, dict) else None),
        ignored=ignored,
        **parse_sampling({name: value for name, value in asked.items() if name in SAMPLING | {"model"}}),
    )


def _messages(value: object) -> tuple[ChatMessage, ...]:
    if isinstance(value, str):
        return (ChatMessage("user", value),)
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_MESSAGES:
        raise BadRequestError(f"input must be a text or a list of 1 to {MAX_MESSAGES} messages")
    kinds = {str(item.get("type", "message")) for item in value if isinstance(item, dict)} - {"message"}
    if kinds:
        raise BadRequestError(f"input of type {min(kinds)[:64]!r} is not supported here", code="unsupported_content")
    return tuple(parse_message(item) for item in value)


def _schema(form: object) -> str | None:
    """Return the JSON schema of a `text.format`, which has the fields of `json_schema` on its own level."""
    if isinstance(form, dict) and form.get("type") == "json_schema":
        return parse_response_format({"type": "json_schema", "json_schema": form})
    return parse_response_format(form)


class ResponseFormat:
    media_type = EVENTS

    def __init__(self, model: str) -> None:
        self._id, self._item_id = new_id("resp"), new_id("msg")
        self._model = model
        self._created_at = int(time.time())
        self._text = ""
        self._number = 0  # of the next event

    def whole(self, answers: Answers) -> dict[str, Any]:
        (answer,) = answers
        is_full = answer.reason == "length"
        usage = {
            "input_tokens": answer.prompt_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": answer.answer_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": answer.prompt_tokens + answer.answer_tokens,
        }
        response = self._response("incomplete" if is_full else "completed", [self._item("completed", answer.text)])
        details = {"reason": "max_output_tokens"} if is_full else None
        return {**response, "incomplete_details": details, "usage": usage}

    def begin(self) -> bytes:
        response = self._response("in_progress", [])
        return (
            self._event("response.created", response=response)
            + self._event("response.in_progress", response=response)
            + self._event("response.output_item.added", output_index=0, item=self._item("in_progress", None))
            + self._part_event("response.content_part.added", part=_part(""))
        )

    def part(self, part: Part) -> bytes:
        self._text += part.text
        return self._part_event("response.output_text.delta", delta=part.text, logprobs=[])

    def wait(self, sentence: str) -> bytes:
        return comment(sentence)

    def end(self, answers: Answers) -> bytes:
        whole, text = self.whole(answers), answers[0].text
        return (
            self._part_event("response.output_text.done", text=text, logprobs=[])
            + self._part_event("response.content_part.done", part=_part(text))
            + self._event("response.output_item.done", output_index=0, item=self._item("completed", text))
            + self._event(f"response.{whole['status']}", response=whole)
        )

    def failure(self, sentence: str) -> bytes:
        error = {"code": "server_error", "message": sentence}
        output = [self._item("incomplete", self._text)]
        return self._event("response.failed", response={**self._response("failed", output), "error": error})

    def _response(self, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": self._id,
            "object": "response",
            "created_at": self._created_at,
            "status": status,
            "model": self._model,
            "output": output,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": False,
            "tool_choice": "none",
            "tools": [],
            "temperature": None,
            "top_p": None,
            "usage": None,
        }

    def _item(self, status: str, text: str | None) -> dict[str, Any]:
        content = [] if text is None else [_part(text)]
        return {"id": self._item_id, "type": "message", "status": status, "role": "assistant", "content": content}

    def _part_event(self, kind: str, **more: object) -> bytes:
        return self._event(kind, item_id=self._item_id, output_index=0, content_index=0, **more)

    def _event(self, kind: str, **more: object) -> bytes:
        self._number += 1
        return event({"type": kind, "sequence_number": self._number - 1, **more}, kind)


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
