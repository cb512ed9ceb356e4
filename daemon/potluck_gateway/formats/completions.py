"""Reads and writes OpenAI's older completions, which go on with a text. Pure. Source: "Create completion".

Two fields are ours: `max_wait_s`, how long to wait for blocks that nobody serves, and `with_details`, for choices with
their tokens, speed and servers in the field `potluck`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from potluck.sentences import Sentence
from potluck_gateway.answers.answer import Answers, Begun, Part, TokenScore
from potluck_gateway.formats import fields
from potluck_gateway.formats.chat import DONE, details, usage
from potluck_gateway.formats.scores import completion_scores
from potluck_gateway.formats.writing import EVENTS, comment, error_body, event, new_id
from potluck_gateway.requests import BadRequestError, ChatRequest, Prompt

MAX_PROMPTS = 128
_DEFAULT_TOKENS = 16  # as in the reference
_REFUSED: fields.Refused = {**fields.GRAMMARS, "suffix": (("",), "the model only goes on with a text")}


class _Fields(fields.ChoiceFields, kw_only=True):
    prompt: Any = None
    echo: bool | None = None
    best_of: int | None = None
    logprobs: Annotated[int, Meta(ge=0, le=fields.MAX_TOP_SCORES)] | None = None


def parse_completion(body: bytes) -> ChatRequest:
    """Parse a request as `parse_chat` does."""
    asked, ignored = fields.read_fields(fields.parse_object(body), _Fields, _REFUSED)
    if asked.best_of not in (None, 1, asked.n):
        raise BadRequestError("best_of is not supported here: ask for n and choose", code="unsupported_parameter")
    return ChatRequest(
        prompts=_prompts(asked.prompt),
        max_tokens=fields.limit(_DEFAULT_TOKENS if asked.max_tokens is None else asked.max_tokens),
        echoes=asked.echo is True,
        num_top=asked.logprobs,
        ignored=ignored,
        **asked.shared(),
    )


def _prompts(given: Any) -> tuple[Prompt, ...]:
    """Return the prompts of a request, which may also be a single one."""
    items = given if isinstance(given, list) and given and type(given[0]) is not int else [given]
    if not 1 <= len(items) <= MAX_PROMPTS or not all(map(_is_prompt, items)):
        raise BadRequestError(f"prompt must be a text or a list of tokens, or a list of 1 to {MAX_PROMPTS} of these")
    return tuple(item if isinstance(item, str) else tuple(item) for item in items)


def _is_prompt(item: object) -> bool:
    if isinstance(item, list):
        return bool(item) and all(type(token) is int and 0 <= token < 1 << 31 for token in item)
    return isinstance(item, str) and bool(item)


class CompletionFormat:
    media_type = EVENTS

    def __init__(self, model: str, asked: ChatRequest) -> None:
        self._asked = asked
        self._shared = {"id": new_id("cmpl"), "object": "text_completion", "created": int(time.time()), "model": model}

    def whole(self, answers: Answers) -> dict[str, Any]:
        choices = [_choice(n, one.text, one.reason, one.scores) | details(one) for n, one in enumerate(answers)]
        return {**self._shared, "choices": choices, "usage": usage(answers, self._asked.num_choices)}

    def begin(self) -> bytes:
        return b""

    def begun(self, begun: Begun) -> bytes:
        return b""

    def part(self, part: Part) -> bytes:
        return event({**self._shared, "choices": [_choice(part.index, part.text, None, part.scores)]})

    def wait(self, sentence: Sentence) -> bytes:
        return comment(sentence)

    def end(self, answers: Answers) -> bytes:
        last = [_choice(n, "", one.reason) | details(one) for n, one in enumerate(answers)]
        ends = [event({**self._shared, "choices": [choice]}) for choice in last]
        counts = event({**self._shared, "choices": [], "usage": usage(answers, self._asked.num_choices)})
        return b"".join(ends) + (counts if self._asked.with_usage else b"") + DONE

    def failure(self, sentence: Sentence) -> bytes:
        return event(error_body(sentence, 500))


def _choice(index: int, text: str, reason: str | None, scores: Sequence[TokenScore] = ()) -> dict[str, Any]:
    logprobs = completion_scores(scores) if scores else None
    return {"index": index, "text": text, "logprobs": logprobs, "finish_reason": reason}
