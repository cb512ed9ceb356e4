"""Reads and writes OpenAI's older completions, which go on with a text. Pure. Source: "Create completion".

Two fields are ours: `max_wait_s`, how long to wait for blocks that nobody serves, and `with_details`, for choices with
their tokens, speed and servers in the field `potluck`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from potluck.sentences import Sentence
from potluck_gateway.answers.answer import Answers, Part, TokenScore
from potluck_gateway.formats.chat import DONE, details, usage
from potluck_gateway.formats.scores import completion_scores
from potluck_gateway.formats.writing import EVENTS, comment, error_body, event, new_id
from potluck_gateway.requests import (
    ACCOUNTS,
    CHOICES,
    MAX_TOP_SCORES,
    SAMPLING,
    BadRequestError,
    ChatRequest,
    FieldRules,
    check_fields,
    parse_choices,
    parse_max_tokens,
    parse_max_wait,
    parse_number,
    parse_object,
    parse_sampling,
)

_DEFAULT_TOKENS = 16  # as in the reference
_RULES = FieldRules(
    SAMPLING | CHOICES | {"prompt", "model", "max_tokens", "max_wait_s", "with_details"},
    ACCOUNTS,
    {
        "best_of": ((1,), "ask for n answers and choose"),
        "echo": ((False,), "put the prompt before the answer yourself"),
        "suffix": (("",), "the model only goes on with a text"),
    },
)


def parse_completion(body: bytes, most_tokens: int) -> ChatRequest:
    """Parse a request as `parse_chat` does."""
    asked = parse_object(body)
    ignored = check_fields(asked, _RULES)
    given = asked.get("prompt")
    prompt = given[0] if isinstance(given, list) and len(given) == 1 else given
    if not isinstance(prompt, str) or not prompt:
        raise BadRequestError("prompt must be one text")
    wanted = asked.get("max_tokens") or _DEFAULT_TOKENS
    num_top = asked.get("logprobs")
    return ChatRequest(
        (),
        parse_max_tokens(wanted, most_tokens),
        max_wait_s=parse_max_wait(asked.get("max_wait_s")),
        prompt=prompt,
        with_details=asked.get("with_details") is True,
        num_top=None if num_top is None else int(parse_number(num_top, "logprobs", 0, MAX_TOP_SCORES)),
        ignored=ignored,
        **parse_choices(asked),
        **parse_sampling(asked),
    )


class CompletionFormat:
    media_type = EVENTS

    def __init__(self, model: str, *, with_usage: bool) -> None:
        """`with_usage`: whether a stream ends with the counts of tokens."""
        self._with_usage = with_usage
        self._shared = {"id": new_id("cmpl"), "object": "text_completion", "created": int(time.time()), "model": model}

    def whole(self, answers: Answers) -> dict[str, Any]:
        choices = [_choice(n, one.text, one.reason, one.scores) | details(one) for n, one in enumerate(answers)]
        return {**self._shared, "choices": choices, "usage": usage(answers)}

    def begin(self) -> bytes:
        return b""

    def part(self, part: Part) -> bytes:
        return event({**self._shared, "choices": [_choice(part.index, part.text, None, part.scores)]})

    def wait(self, sentence: Sentence) -> bytes:
        return comment(sentence)

    def end(self, answers: Answers) -> bytes:
        last = [_choice(n, "", one.reason) | details(one) for n, one in enumerate(answers)]
        ends = [event({**self._shared, "choices": [choice]}) for choice in last]
        counts = event({**self._shared, "choices": [], "usage": usage(answers)}) if self._with_usage else b""
        return b"".join(ends) + counts + DONE

    def failure(self, sentence: Sentence) -> bytes:
        return event(error_body(sentence, 500))


def _choice(index: int, text: str, reason: str | None, scores: Sequence[TokenScore] = ()) -> dict[str, Any]:
    logprobs = completion_scores(scores) if scores else None
    return {"index": index, "text": text, "logprobs": logprobs, "finish_reason": reason}
