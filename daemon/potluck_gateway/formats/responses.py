"""Reads and writes OpenAI's responses, as far as texts and functions need them. Pure. Source: "Create a response".

Nothing is stored here, so `previous_response_id` is refused: the whole conversation comes with each request.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from msgspec import Struct

from potluck.sentences import Sentence
from potluck_gateway.answers.answer import Answers, Begun, Kind, Part
from potluck_gateway.formats import fields
from potluck_gateway.formats.history import History
from potluck_gateway.formats.writing import EVENTS, Block, Blocks, comment, event, new_id
from potluck_gateway.requests import BadRequestError, ChatMessage, ChatRequest, Tools

_STATELESS = ((), "nothing is stored: send the whole conversation as input")
_REFUSED: fields.Refused = {
    "previous_response_id": _STATELESS,
    "conversation": _STATELESS,
    "background": ((False,), "wait for the answer"),
    "prompt": ((), "send its text as instructions"),
}
_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}  # kind -> field


class _Form(NamedTuple):
    """How an item of the output is written.

    Attributes:
        events: how the events of its text are called.
        field: which has the whole text in the last of these.
        item: the item without a text.
        content: the only content of the item, without its text; None for a call, which has its text in `field`.
    """

    events: str
    field: str
    item: dict[str, Any]
    content: dict[str, Any] | None = None


_TEXT: dict[str, Any] = {"type": "output_text", "annotations": [], "logprobs": []}
_FORMS = {
    Kind.TEXT: _Form("output_text", "text", {"type": "message", "role": "assistant", "content": []}, _TEXT),
    Kind.THINKING: _Form(
        "reasoning_text", "text", {"type": "reasoning", "summary": [], "content": []}, {"type": "reasoning_text"}
    ),
    Kind.CALL: _Form("function_call_arguments", "arguments", {"type": "function_call", "arguments": ""}),
}


class _Reasoning(Struct):
    effort: str | None = None


class _Text(Struct):
    format: Any = None


class _Fields(fields.SamplingFields, kw_only=True):
    input: str | list[Any] | None = None
    instructions: str | None = None
    max_output_tokens: fields.Limit | None = None
    text: dict[str, Any] | None = None
    reasoning: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None


def parse_response_request(body: bytes) -> ChatRequest:
    """Parse a request as `parse_chat` does."""
    asked, ignored = fields.read_fields(fields.parse_object(body), _Fields, _REFUSED)
    text, unused = fields.read_fields(asked.text or {}, _Text, {})
    reasoning, unused_too = fields.read_fields(asked.reasoning or {}, _Reasoning, {})
    history = History()
    if asked.instructions:
        history.messages.append(ChatMessage("system", asked.instructions))
    items = [{"role": "user", "content": asked.input}] if isinstance(asked.input, str) else asked.input
    history.add_all(list(map(_chat, items or [])), "input", joins=True)
    tools, left_out = fields.parse_tools(
        list(map(_nested, asked.tools or [])),
        asked.tool_choice,
        is_parallel=asked.parallel_tool_calls is not False,
    )
    schema = _schema(text.format)
    return ChatRequest(
        messages=tuple(history.messages),
        max_tokens=fields.limit(asked.max_output_tokens),
        sampling=asked.sampling(),
        template_kwargs=fields.effort_switches(reasoning.effort),
        schema=schema,
        tools=tools,
        is_streamed=asked.stream is True,
        max_wait_s=asked.max_wait_s,
        model=asked.model,
        ignored=(*ignored, *unused, *unused_too, *left_out, *history.left_out),
    )


def _chat(item: object) -> Any:
    """Return the message of a chat that says what an item says; None if there is none."""
    if not isinstance(item, dict):
        raise BadRequestError("input must be a text or a list of items")
    kind, call_id = str(item.get("type") or "message"), item.get("call_id") or item.get("id")
    if kind == "reasoning":
        return {"role": "assistant", "content": item.get("content") or item.get("summary")}
    if kind in _ARGUMENTS:
        function = {"name": item.get("name", kind.removesuffix("_call")), "arguments": item.get(_ARGUMENTS[kind])}
        return {"role": "assistant", "tool_calls": [{"id": call_id, "function": function}]}
    if kind.removesuffix("_output") in _ARGUMENTS:
        return {"role": "tool", "tool_call_id": call_id, "content": item.get("output")}
    return item if kind == "message" else None


def _nested(item: dict[str, Any]) -> dict[str, Any]:
    """Return a function, whose fields lie on one level here, as chats have it, and other tools without fields."""
    kind = item.get("type")
    return {"type": "function", "function": item} if kind == "function" else {"type": str(kind)}


def _schema(form: object) -> str | None:
    """Return the JSON schema of a `text.format`, which has the fields of `json_schema` on its own level."""
    if isinstance(form, dict) and form.get("type") == "json_schema":
        return fields.parse_schema({"type": "json_schema", "json_schema": form})
    return fields.parse_schema(form)


class ResponseFormat:
    media_type = EVENTS

    def __init__(self, model: str, asked: ChatRequest) -> None:
        self._tools = asked.tools or Tools(())
        self._output: list[dict[str, Any]] = []  # the items that have ended
        self._item: dict[str, Any] = {}  # the last that has begun
        self._blocks = Blocks(self)
        self._id = new_id("resp")
        self._model = model
        self._created_at = int(time.time())
        self._number = 0  # of the next event
        response = self._response("in_progress")
        # Made now, because its events have the first numbers and the first part is written before it is asked for.
        self._beginning = self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def whole(self, answers: Answers) -> dict[str, Any]:
        (answer,) = answers
        self._blocks.finish(answer)
        is_full = answer.reason == "length"
        usage = {
            "input_tokens": answer.prompt_tokens,
            "input_tokens_details": {"cached_tokens": answer.cached_tokens, "cache_write_tokens": 0},
            "output_tokens": answer.answer_tokens,
            "output_tokens_details": {"reasoning_tokens": answer.thinking_tokens},
            "total_tokens": answer.prompt_tokens + answer.answer_tokens,
        }
        response = self._response("incomplete" if is_full else "completed")
        details = {"reason": "max_output_tokens"} if is_full else None
        return {**response, "incomplete_details": details, "usage": usage}

    def begin(self) -> bytes:
        return self._beginning

    def begun(self, begun: Begun) -> bytes:
        return b""

    def part(self, part: Part) -> bytes:
        return self._blocks.add(part) if part.text or part.kind is Kind.CALL else b""

    def wait(self, sentence: Sentence) -> bytes:
        return comment(sentence)

    def end(self, answers: Answers) -> bytes:
        last = self._blocks.finish(answers[0])
        whole = self.whole(answers)
        return last + self._event(f"response.{whole['status']}", response=whole)

    def failure(self, sentence: Sentence) -> bytes:
        error = {"code": "server_error", "message": str(sentence)}
        return self._event("response.failed", response={**self._response("failed"), "error": error})

    def opened(self, block: Block) -> bytes:
        form = _FORMS[block.kind]
        named = {} if block.call is None else {"call_id": block.call.call_id, "name": block.call.name}
        item_id = f"{block.kind}_{self._id}_{block.number}"
        self._item = {"id": item_id, **form.item, **named, "status": "in_progress"}
        return self._item_event("added", block) + self._content_event("added", block)

    def more(self, block: Block, text: str) -> bytes:
        return self._text_event("delta", block, delta=text)

    def closed(self, block: Block) -> bytes:
        form = _FORMS[block.kind]
        named = {} if block.call is None else {"name": block.call.name}
        said = self._text_event("done", block, **{form.field: block.text}, **named) + self._content_event("done", block)
        whole = {form.field: block.text} if form.content is None else {"content": [form.content | {"text": block.text}]}
        self._item |= {"status": "completed", **whole}
        self._output.append(self._item)
        return said + self._item_event("done", block)

    def _text_event(self, kind: str, block: Block, **more: object) -> bytes:
        form = _FORMS[block.kind]
        scores: dict[str, Any] = {"logprobs": []} if form.content is _TEXT else {}
        return self._event(f"response.{form.events}.{kind}", **self._place(block), **scores, **more)

    def _content_event(self, kind: str, block: Block) -> bytes:
        content = _FORMS[block.kind].content
        if content is None:
            return b""
        part = content | {"text": block.text}
        return self._event(f"response.content_part.{kind}", **self._place(block), part=part)

    def _item_event(self, kind: str, block: Block) -> bytes:
        return self._event(f"response.output_item.{kind}", output_index=block.number, item=self._item)

    def _place(self, block: Block) -> dict[str, Any]:
        """Return what all events of the text of a block say."""
        content = {"content_index": 0} if _FORMS[block.kind].content is not None else {}
        return {"item_id": self._item["id"], "output_index": block.number, **content}

    def _response(self, status: str) -> dict[str, Any]:
        return {
            "id": self._id,
            "object": "response",
            "created_at": self._created_at,
            "status": status,
            "model": self._model,
            "output": self._output,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": self._tools.is_parallel,
            "tool_choice": "required" if self._tools.must_call else "auto",
            "tools": [
                {"type": "function", "strict": False, **tool.definition["function"]} for tool in self._tools.offered
            ],
            "temperature": None,
            "top_p": None,
            "usage": None,
        }

    def _event(self, kind: str, **more: object) -> bytes:
        self._number += 1
        return event({"type": kind, "sequence_number": self._number - 1, **more}, kind)
