"""Reads and writes OpenAI's responses, as far as texts and functions need them. Pure. Source: "Create a response".

Nothing is stored here, so `previous_response_id` is refused: the whole conversation comes with each request.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from potluck.sentences import Sentence
from potluck_gateway.answers.answer import Answer, Answers, Part, ToolCall
from potluck_gateway.answers.tools import parse_tools
from potluck_gateway.formats.writing import EVENTS, comment, event, new_id
from potluck_gateway.requests import (
    ACCOUNTS,
    LEAVE_OUT,
    MAX_MESSAGES,
    SAMPLING,
    BadRequestError,
    ChatMessage,
    ChatRequest,
    FieldRules,
    Tools,
    check_fields,
    parse_max_tokens,
    parse_message,
    parse_object,
    parse_response_format,
    parse_sampling,
)

_RULES = FieldRules(
    frozenset(["input", "instructions", "model", "max_output_tokens", "temperature", "top_p", "stream", "text"])
    | {"tools", "tool_choice", "parallel_tool_calls"},
    ACCOUNTS | {"truncation", "include", "reasoning"},
    {
        "previous_response_id": ((), "nothing is stored: send the whole conversation as input"),
        "conversation": ((), "nothing is stored: send the whole conversation as input"),
        "background": ((False,), "wait for the answer"),
        "prompt": ((), "send its text as instructions"),
        "top_logprobs": ((0,), "scores are not returned"),
        "max_tool_calls": ((), LEAVE_OUT),
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
    schema = _schema(text.get("format") if isinstance(text, dict) else None)
    tools = _tools(asked)
    if schema is not None and tools is not None and tools.must_call:
        raise BadRequestError("text.format leaves no room for a call: leave out one", code="unsupported_parameter")
    start = (ChatMessage("system", instructions),) if instructions else ()
    return ChatRequest(
        (*start, *_messages(asked.get("input"))),
        parse_max_tokens(asked.get("max_output_tokens") or most_tokens, most_tokens),
        schema=schema,
        tools=tools,
        ignored=ignored,
        **parse_sampling({name: value for name, value in asked.items() if name in SAMPLING | {"model"}}),
    )


def _messages(value: object) -> tuple[ChatMessage, ...]:
    if isinstance(value, str):
        return (ChatMessage("user", value),)
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_MESSAGES:
        raise BadRequestError(f"input must be a text or a list of 1 to {MAX_MESSAGES} messages")
    messages: list[ChatMessage] = []
    for item in value:
        kind = item.get("type", "message") if isinstance(item, dict) else "message"
        if kind == "function_call":
            call = parse_message({"role": "assistant", "tool_calls": [_nested(item) | {"id": item.get("call_id")}]})
            # One message has the text and all calls of a turn, which are items of their own here.
            last = messages.pop() if messages and messages[-1].role == "assistant" else ChatMessage("assistant", "")
            messages.append(replace(last, calls=last.calls + call.calls))
        elif kind == "function_call_output":
            result = {"role": "tool", "content": item.get("output"), "tool_call_id": item.get("call_id")}
            messages.append(parse_message(result))
        elif kind == "message":
            messages.append(parse_message(item))
        else:
            raise BadRequestError(f"input of type {str(kind)[:64]!r} is not supported here", code="unsupported_content")
    return tuple(messages)


def _tools(asked: dict[str, Any]) -> Tools | None:
    """Return the tools, whose fields lie on one level here, as `parse_tools` does."""
    tools, choice = asked.get("tools") or [], asked.get("tool_choice")
    return parse_tools(
        {
            "tools": [_nested(tool) for tool in tools] if isinstance(tools, list) else tools,
            "tool_choice": _nested(choice) if isinstance(choice, dict) else choice,
            "parallel_tool_calls": asked.get("parallel_tool_calls"),
        }
    )


def _nested(item: object) -> Any:
    """Return a function, a choice or a call of one as chats have it, with its fields in `function`."""
    is_function = isinstance(item, dict) and item.get("type") in ("function", "function_call")
    return {"type": "function", "function": item} if is_function else item


def _schema(form: object) -> str | None:
    """Return the JSON schema of a `text.format`, which has the fields of `json_schema` on its own level."""
    if isinstance(form, dict) and form.get("type") == "json_schema":
        return parse_response_format({"type": "json_schema", "json_schema": form})
    return parse_response_format(form)


class ResponseFormat:
    media_type = EVENTS

    def __init__(self, model: str, tools: Tools | None = None) -> None:
        self._tools = tools
        self._is_begun = False  # the message with the text
        self._id, self._item_id = new_id("resp"), new_id("msg")
        self._model = model
        self._created_at = int(time.time())
        self._text = ""
        self._number = 0  # of the next event
        response = self._response("in_progress", [])
        # Made now, because its events have the first numbers and the first part is written before it is asked for.
        self._beginning = self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

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
        response = self._response("incomplete" if is_full else "completed", self._output(answer))
        details = {"reason": "max_output_tokens"} if is_full else None
        return {**response, "incomplete_details": details, "usage": usage}

    def begin(self) -> bytes:
        return self._beginning

    def part(self, part: Part) -> bytes:
        self._text += part.text
        return self._begin_text() + self._part_event("response.output_text.delta", delta=part.text, logprobs=[])

    def wait(self, sentence: Sentence) -> bytes:
        return comment(sentence)

    def end(self, answers: Answers) -> bytes:
        (answer,) = answers
        whole, text = self.whole(answers), b""
        if _has_text(answer):
            text = (
                self._begin_text()
                + self._part_event("response.output_text.done", text=answer.text, logprobs=[])
                + self._part_event("response.content_part.done", part=_part(answer.text))
                + self._event("response.output_item.done", output_index=0, item=self._item("completed", answer.text))
            )
        first = int(_has_text(answer))
        calls = b"".join(self._call_events(first + number, call) for number, call in enumerate(answer.calls))
        return text + calls + self._event(f"response.{whole['status']}", response=whole)

    def failure(self, sentence: Sentence) -> bytes:
        error = {"code": "server_error", "message": str(sentence)}
        output = [self._item("incomplete", self._text)] if self._is_begun else []
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
            **_asked_tools(self._tools),
            "temperature": None,
            "top_p": None,
            "usage": None,
        }

    def _begin_text(self) -> bytes:
        """Return the events before the first text, which an answer of calls alone lacks."""
        if self._is_begun:
            return b""
        self._is_begun = True
        item = self._item("in_progress", None)
        return self._event("response.output_item.added", output_index=0, item=item) + self._part_event(
            "response.content_part.added", part=_part("")
        )

    def _call_events(self, index: int, call: ToolCall) -> bytes:
        item = _call_item(call)
        of_it = {"item_id": item["id"], "output_index": index}
        begun = item | {"status": "in_progress", "arguments": ""}
        return (
            self._event("response.output_item.added", output_index=index, item=begun)
            + self._event("response.function_call_arguments.delta", delta=call.arguments, **of_it)
            + self._event("response.function_call_arguments.done", arguments=call.arguments, name=call.name, **of_it)
            + self._event("response.output_item.done", output_index=index, item=item)
        )

    def _output(self, answer: Answer) -> list[dict[str, Any]]:
        text = [self._item("completed", answer.text)] if _has_text(answer) else []
        return text + [_call_item(call) for call in answer.calls]

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


def _has_text(answer: Answer) -> bool:
    return bool(answer.text) or not answer.calls


def _call_item(call: ToolCall) -> dict[str, Any]:
    """Return a call as an item of the output; its own id follows from that of the call."""
    item_id = f"fc_{call.call_id.removeprefix('call_')}"
    named = {"call_id": call.call_id, "name": call.name, "arguments": call.arguments}
    return {"id": item_id, "type": "function_call", "status": "completed", **named}


def _asked_tools(tools: Tools | None) -> dict[str, Any]:
    """Return what a response repeats of the tools of its request."""
    if tools is None:
        return {"parallel_tool_calls": False, "tool_choice": "none", "tools": []}
    offered = [{"type": "function", "strict": False, **tool.definition["function"]} for tool in tools.offered]
    choice = "required" if tools.must_call else "auto"
    return {"parallel_tool_calls": tools.is_parallel, "tool_choice": choice, "tools": offered}
