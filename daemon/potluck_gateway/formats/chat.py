"""Reads and writes OpenAI's chat completions. Pure. Source: the API reference, "Create chat completion".

Some fields are of other servers: `top_k` and its like, `chat_template_kwargs` and `continue_final_message` are vLLM's.
Thinking, which the reference has no place for, is written as `reasoning_content` and as `reasoning`: programs look for
one of them. Two fields are ours, as in `completions`: `max_wait_s` and `with_details`.
"""

from __future__ import annotations

import time
from typing import Annotated, Any

from msgspec import Meta

from potluck.protocol.codec import builtins
from potluck.sentences import Sentence
from potluck_gateway.answers.answer import Answer, Answers, Begun, Kind, Part, ToolCall
from potluck_gateway.formats import fields
from potluck_gateway.formats.history import History
from potluck_gateway.formats.scores import chat_scores
from potluck_gateway.formats.writing import EVENTS, comment, error_body, event, new_id
from potluck_gateway.requests import BadRequestError, ChatMessage, ChatRequest

DONE = b"data: [DONE]\n\n"
_REFUSED: fields.Refused = {
    **{name: how for name, how in fields.GRAMMARS.items() if name != "json_schema"},
    "functions": (([],), "use tools"),
    "modalities": ((["text"],), "answers are texts"),
}


class _Fields(fields.ChoiceFields, kw_only=True):
    messages: Any = None
    max_completion_tokens: fields.Limit | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=fields.MAX_TOP_SCORES)] | None = None
    response_format: Any = None
    tools: Any = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: str | None = None
    enable_thinking: bool | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    continue_final_message: bool | None = None
    add_generation_prompt: bool | None = None
    json_schema: dict[str, Any] | None = None  # llama.cpp's
    echo: bool | None = None


def parse_chat(body: bytes) -> ChatRequest:
    """Parse a request. Raises BadRequestError."""
    asked, ignored = fields.read_fields(fields.parse_object(body), _Fields, _REFUSED)
    history = History()
    history.add_all(asked.messages)
    is_parallel = asked.parallel_tool_calls is not False
    tools, left_out = fields.parse_tools(asked.tools, asked.tool_choice, is_parallel=is_parallel)
    schema = fields.parse_schema(asked.response_format)
    if asked.json_schema is not None:
        schema = fields.parse_schema({"type": "json_object", "schema": asked.json_schema})
    continues = _continues(asked, history.messages[-1])
    limit = asked.max_tokens if asked.max_completion_tokens is None else asked.max_completion_tokens
    return ChatRequest(
        messages=tuple(history.messages),
        max_tokens=fields.limit(limit),
        echoes=continues and asked.echo is True,
        continues=continues,
        template_kwargs=fields.effort_switches(asked.reasoning_effort)
        | fields.thinking_switches(asked.enable_thinking, None)
        | (asked.chat_template_kwargs or {}),
        schema=schema,
        tools=tools,
        num_top=_num_top(asked),
        ignored=(*ignored, *left_out, *history.left_out),
        **asked.shared(),
    )


def _continues(asked: _Fields, last: ChatMessage) -> bool:
    if asked.continue_final_message is True and (last.role != "assistant" or last.calls):
        raise BadRequestError("continue_final_message needs a last message of the assistant, without calls")
    if asked.continue_final_message is True and asked.add_generation_prompt is True:
        raise BadRequestError("continue_final_message leaves no room for add_generation_prompt: leave out one")
    return asked.continue_final_message is True


def _num_top(asked: _Fields) -> int | None:
    """Return how many likely tokens a chat wants to see at each step; None if it wants no scores."""
    if asked.top_logprobs and not asked.logprobs:
        raise BadRequestError("top_logprobs needs logprobs: true")
    return asked.top_logprobs or 0 if asked.logprobs else None


class ChatFormat:
    media_type = EVENTS

    def __init__(self, model: str, asked: ChatRequest) -> None:
        self._asked = asked
        self._shared = {"id": new_id("chatcmpl"), "created": int(time.time()), "model": model}
        self._begun: list[list[str]] = [[] for _ in range(asked.num_choices)]  # ids of the calls of each choice

    def whole(self, answers: Answers) -> dict[str, Any]:
        choices = [_choice(index, answer) for index, answer in enumerate(answers)]
        counts = usage(answers, self._asked.num_choices)
        return {**self._shared, "object": "chat.completion", "choices": choices, "usage": counts}

    def begin(self) -> bytes:
        start = {"role": "assistant", "content": ""}
        return b"".join(self._chunk(index, start) for index in range(self._asked.num_choices))

    def begun(self, begun: Begun) -> bytes:
        return b""

    def part(self, part: Part) -> bytes:
        if part.call is not None:
            return self._chunk(part.index, {"tool_calls": [self._call(part.index, part.call, part.text)]})
        said = _thoughts(part.text) if part.kind is Kind.THINKING else {"content": part.text}
        return self._chunk(part.index, said, **_logprobs(part))

    def wait(self, sentence: Sentence) -> bytes:
        return self._event([], potluck=builtins(sentence)) if self._asked.with_details else comment(sentence)

    def end(self, answers: Answers) -> bytes:
        ends = [self._chunk(index, {}, answer.reason, **details(answer)) for index, answer in enumerate(answers)]
        counts = usage(answers, self._asked.num_choices)
        return b"".join(ends) + (self._event([], usage=counts) if self._asked.with_usage else b"") + DONE

    def failure(self, sentence: Sentence) -> bytes:
        return event(error_body(sentence, 500))

    def _call(self, index: int, call: ToolCall, text: str) -> dict[str, Any]:
        """Return new text of the arguments of a call. Only the first has the name."""
        begun = self._begun[index]
        if call.call_id in begun:
            return {"index": begun.index(call.call_id), "function": {"arguments": text}}
        begun.append(call.call_id)
        return {"index": len(begun) - 1, **_written(call, text)}

    def _chunk(self, index: int, delta: dict[str, Any], reason: str | None = None, **more: object) -> bytes:
        return self._event([{"index": index, "delta": delta, "finish_reason": reason, **more}])

    def _event(self, choices: list[dict[str, Any]], **more: object) -> bytes:
        return event({**self._shared, "object": "chat.completion.chunk", "choices": choices, **more})


def _choice(index: int, answer: Answer) -> dict[str, Any]:
    calls = {"tool_calls": [_written(call, call.arguments) for call in answer.calls]} if answer.calls else {}
    thinking = _thoughts(answer.thinking) if answer.thinking else {}
    content = answer.text or (None if calls else "")
    message = {"role": "assistant", "content": content, "refusal": None, **thinking, **calls}
    return (
        {"index": index, "message": message, "logprobs": None, "finish_reason": answer.reason}
        | _logprobs(answer)
        | details(answer)
    )


def _thoughts(text: str) -> dict[str, Any]:
    return {"reasoning_content": text, "reasoning": text}


def _written(call: ToolCall, arguments: str) -> dict[str, Any]:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _logprobs(scored: Answer | Part) -> dict[str, Any]:
    return {"logprobs": chat_scores(scored.scores)} if scored.scores else {}


def details(answer: Answer) -> dict[str, Any]:
    """Return what a choice tells of the answer's tokens, speed and servers if that was asked for."""
    return {} if answer.details is None else {"potluck": builtins(answer.details)}


def usage(answers: Answers, num_choices: int) -> dict[str, Any]:
    """Return the counts of tokens. Each prompt counts once, however many choices it has."""
    firsts = answers[::num_choices]
    prompt, answer = sum(one.prompt_tokens for one in firsts), sum(one.answer_tokens for one in answers)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": answer,
        "total_tokens": prompt + answer,
        "prompt_tokens_details": {"cached_tokens": sum(one.cached_tokens for one in firsts)},
        "completion_tokens_details": {"reasoning_tokens": sum(one.thinking_tokens for one in answers)},
    }
