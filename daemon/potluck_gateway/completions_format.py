"""Reads and writes OpenAI's older completions, which go on with a text. Pure. Source: "Create completion"."""

from __future__ import annotations

import time
from typing import Any

from potluck_gateway.answer_format import EVENTS, comment, error_body, event, new_id
from potluck_gateway.chat_format import DONE, usage
from potluck_gateway.requests import (
    ACCOUNTS,
    NO_CHOICES,
    SAMPLING,
    Answer,
    BadRequestError,
    ChatRequest,
    FieldRules,
    check_fields,
    parse_max_tokens,
    parse_object,
    parse_sampling,
)

_DEFAULT_TOKENS = 16  # as in the reference
_RULES = FieldRules(
    SAMPLING | {"prompt", "model", "max_tokens"},
    ACCOUNTS,
    {
        **NO_CHOICES,
        "logprobs": ((), "scores are not returned"),
        "best_of": ((1,), "ask again for each further answer"),
        "echo": ((False,), "put the prompt before the answer yourself"),
        "suffix": (("",), "the model only goes on with a text"),
    },
)


def parse_completion(body: bytes, most_tokens: int) -> ChatRequest:
    """Parse a request as `requests.parse_chat` does."""
    asked = parse_object(body)
    ignored = check_fields(asked, _RULES)
    given = asked.get("prompt")
    prompt = given[0] if isinstance(given, list) and len(given) == 1 else given
    if not isinstance(prompt, str) or not prompt:
        raise BadRequestError("prompt must be one text")
    wanted = asked.get("max_tokens") or _DEFAULT_TOKENS
    return ChatRequest(
        (), parse_max_tokens(wanted, most_tokens), prompt=prompt, ignored=ignored, **parse_sampling(asked)
    )


class CompletionFormat:
    media_type = EVENTS

    def __init__(self, model: str, *, with_usage: bool) -> None:
        """`with_usage`: whether a stream ends with the counts of tokens."""
        self._with_usage = with_usage
        self._shared = {"id": new_id("cmpl"), "object": "text_completion", "created": int(time.time()), "model": model}

    def whole(self, answer: Answer) -> dict[str, Any]:
        return {**self._shared, "choices": [_choice(answer.text, answer.reason)], "usage": usage(answer)}

    def begin(self) -> bytes:
        return b""

    def part(self, text: str) -> bytes:
        return event({**self._shared, "choices": [_choice(text)]})

    def wait(self, sentence: str) -> bytes:
        return comment(sentence)

    def end(self, answer: Answer) -> bytes:
        counts = event({**self._shared, "choices": [], "usage": usage(answer)}) if self._with_usage else b""
        return event({**self._shared, "choices": [_choice("", answer.reason)]}) + counts + DONE

    def failure(self, sentence: str) -> bytes:
        return event(error_body(sentence, 500))


def _choice(text: str, reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "text": text, "logprobs": None, "finish_reason": reason}
