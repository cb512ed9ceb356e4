"""Reads and writes OpenAI's chat completions. Pure. Source: the API reference, "Create chat completion".

Two fields are ours, as in `completions_format`: `max_wait_s` and `with_details`.
"""

from __future__ import annotations

import time
from typing import Any

from potluck.protocol.codec import builtins
from potluck.sentences import Sentence
from potluck_gateway.answers.answer import Answer, Answers, Part
from potluck_gateway.answers.tools import parse_tools
from potluck_gateway.formats.scores import chat_scores
from potluck_gateway.formats.writing import EVENTS, comment, error_body, event, new_id
from potluck_gateway.requests import (
    ACCOUNTS,
    CHOICES,
    LEAVE_OUT,
    MAX_TOP_SCORES,
    SAMPLING,
    BadRequestError,
    ChatRequest,
    FieldRules,
    check_fields,
    parse_choices,
    parse_max_tokens,
    parse_max_wait,
    parse_messages,
    parse_number,
    parse_object,
    parse_response_format,
    parse_sampling,
)

DONE = b"data: [DONE]\n\n"
_RULES = FieldRules(
    SAMPLING
    | CHOICES
    | {"messages", "model", "max_tokens", "max_completion_tokens", "response_format", "max_wait_s", "top_logprobs"}
    | {"with_details"}
    | {"tools", "tool_choice", "parallel_tool_calls"},
    ACCOUNTS,
    {
        "functions": (([],), "use tools"),
        "modalities": ((["text"],), "answers are texts"),
        "reasoning_effort": ((), LEAVE_OUT),
    },
)


def parse_chat(body: bytes, most_tokens: int) -> ChatRequest:
    """Parse a request; `most_tokens` limits the answer even if more are asked for. Raises BadRequestError."""
    asked = parse_object(body)
    ignored = check_fields(asked, _RULES)
    wanted = asked.get("max_completion_tokens") or asked.get("max_tokens") or most_tokens
    return ChatRequest(
        messages=parse_messages(asked.get("messages")),
        max_tokens=parse_max_tokens(wanted, most_tokens),
        max_wait_s=parse_max_wait(asked.get("max_wait_s")),
        schema=parse_response_format(asked.get("response_format")),
        tools=parse_tools(asked),
        with_details=asked.get("with_details") is True,
        ignored=ignored,
        num_top=_parse_num_top(asked),
        **parse_choices(asked),
        **parse_sampling(asked),
    )


def _parse_num_top(asked: dict[str, Any]) -> int | None:
    """Return how many likely tokens a chat wants to see at each step; None if it wants no scores."""
    has_scores, most = asked.get("logprobs") or False, asked.get("top_logprobs") or 0
    if not isinstance(has_scores, bool):
        raise BadRequestError("logprobs must be true or false")
    if most and not has_scores:
        raise BadRequestError("top_logprobs needs logprobs: true")
    return int(parse_number(most, "top_logprobs", 0, MAX_TOP_SCORES)) if has_scores else None


class ChatFormat:
    media_type = EVENTS

    def __init__(self, model: str, *, with_usage: bool, num_choices: int = 1, with_details: bool = False) -> None:
        """Args: with_usage: a stream ends with the counts of tokens; with_details: `potluck` says why it waits."""
        self._with_details = with_details
        self._with_usage = with_usage
        self._num_choices = num_choices
        self._shared = {"id": new_id("chatcmpl"), "created": int(time.time()), "model": model}

    def whole(self, answers: Answers) -> dict[str, Any]:
        choices = [_choice(index, answer) for index, answer in enumerate(answers)]
        return {**self._shared, "object": "chat.completion", "choices": choices, "usage": usage(answers)}

    def begin(self) -> bytes:
        start = {"role": "assistant", "content": ""}
        return b"".join(self._chunk(index, start) for index in range(self._num_choices))

    def part(self, part: Part) -> bytes:
        return self._chunk(part.index, {"content": part.text}, **_logprobs(part))

    def wait(self, sentence: Sentence) -> bytes:
        return self._event([], potluck=builtins(sentence)) if self._with_details else comment(sentence)

    def end(self, answers: Answers) -> bytes:
        ends = [self._end(index, answer) for index, answer in enumerate(answers)]
        counts = self._event([], usage=usage(answers)) if self._with_usage else b""
        return b"".join(ends) + counts + DONE

    def _end(self, index: int, answer: Answer) -> bytes:
        calls = [{"index": number} | call for number, call in enumerate(_calls(answer))]
        return (self._chunk(index, {"tool_calls": calls}) if calls else b"") + self._chunk(
            index, {}, answer.reason, **details(answer)
        )

    def failure(self, sentence: Sentence) -> bytes:
        return event(error_body(sentence, 500))

    def _chunk(self, index: int, delta: dict[str, Any], reason: str | None = None, **more: object) -> bytes:
        return self._event([{"index": index, "delta": delta, "finish_reason": reason, **more}])

    def _event(self, choices: list[dict[str, Any]], **more: object) -> bytes:
        return event({**self._shared, "object": "chat.completion.chunk", "choices": choices, **more})


def _choice(index: int, answer: Answer) -> dict[str, Any]:
    calls = {"tool_calls": _calls(answer)} if answer.calls else {}
    message = {"role": "assistant", "content": answer.text or (None if calls else ""), **calls}
    return (
        {"index": index, "message": message, "logprobs": None, "finish_reason": answer.reason}
        | _logprobs(answer)
        | details(answer)
    )


def _calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in answer.calls
    ]


def _logprobs(scored: Answer | Part) -> dict[str, Any]:
    return {"logprobs": chat_scores(scored.scores)} if scored.scores else {}


def details(answer: Answer) -> dict[str, Any]:
    """Return what a choice tells of the answer's tokens, speed and servers if that was asked for."""
    return {} if answer.details is None else {"potluck": builtins(answer.details)}


def usage(answers: Answers) -> dict[str, int]:
    """Return the counts of tokens. The prompt counts once, however many choices there are."""
    prompt, answer = answers[0].prompt_tokens, sum(one.answer_tokens for one in answers)
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
