"""Reads and writes OpenAI's older completions, which go on with a text, and what chats share with them. Pure.

Two fields are ours: `max_wait_s`, how long to wait for blocks that nobody serves, and `with_details`, for choices with
their tokens, speed and servers in the field `potluck`. Source: the API reference, "Create completion".
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any, Protocol

from msgspec import Meta

from potluck_gateway.answers.answer import Answer, Answers, Part, TokenScore
from potluck_gateway.formats import fields
from potluck_gateway.formats.writing import AnswerFormat, event, new_id, text_of
from potluck_gateway.requests import ChatRequest

MAX_CHOICES = 128
_DONE = b"data: [DONE]\n\n"
MAX_PROMPTS = 128
_REFUSED: fields.Refused = {**fields.GRAMMARS, "suffix": "the model only goes on with a text"}


class ChoiceFields(fields.SharedFields, kw_only=True):
    n: Annotated[int, Meta(ge=1, le=MAX_CHOICES)] = 1
    stop_token_ids: Annotated[tuple[fields.Count, ...], Meta(max_length=1024)] = ()
    ignore_eos: bool = False
    stream_options: dict[str, Any] | None = None
    with_details: bool = False

    def shared(self) -> dict[str, Any]:
        return fields.SharedFields.shared(self) | {
            "num_choices": self.n,
            "stop_tokens": self.stop_token_ids,
            "ignores_end": self.ignore_eos,
            "with_usage": (self.stream_options or {}).get("include_usage") is True,
            "with_details": self.with_details,
        }


class ChoiceFormat(AnswerFormat, Protocol):
    """Writes choices.

    Attributes:
        kinds: the names of ids, whole answers and chunks.
        nothing: what the last chunk of a choice says.
    """

    kinds: tuple[str, str, str]
    nothing: dict[str, Any]
    asked: ChatRequest
    shared: dict[str, Any]  # of all objects

    def __init__(self, model: str, asked: ChatRequest) -> None:
        self.asked = asked
        self.shared = {"id": new_id(self.kinds[0]), "created": int(time.time()), "model": model}

    def said(self, answer: Answer) -> dict[str, Any]:
        """Return what a choice says as a whole."""

    def piece(self, part: Part) -> dict[str, Any]:
        """Return what a chunk says of a choice."""

    def whole(self, answers: Answers) -> dict[str, Any]:
        choices = [self._ended(index, answer, self.said(answer)) for index, answer in enumerate(answers)]
        return {**self.shared, "object": self.kinds[1], "choices": choices, "usage": self._usage(answers)}

    def part(self, part: Part) -> bytes:
        return self.chunk(part.index, self.piece(part))

    def end(self, answers: Answers) -> bytes:
        ends = [self.event([self._ended(index, answer, self.nothing)]) for index, answer in enumerate(answers)]
        counts = self.event([], usage=self._usage(answers)) if self.asked.with_usage else b""
        return b"".join(ends) + counts + _DONE

    def chunk(self, index: int, said: dict[str, Any]) -> bytes:
        return self.event([{"index": index, **said, "finish_reason": None}])

    def event(self, choices: list[dict[str, Any]], **more: object) -> bytes:
        return event({**self.shared, "object": self.kinds[2], "choices": choices, **more})

    def _ended(self, index: int, answer: Answer, said: dict[str, Any]) -> dict[str, Any]:
        details = {} if answer.details is None else {"potluck": answer.details}
        return {"index": index, **said, "finish_reason": answer.reason, **details}

    def _usage(self, answers: Answers) -> dict[str, Any]:
        """Return the counts of tokens. Each prompt counts once, however many choices it has."""
        firsts = answers[:: self.asked.num_choices]
        prompt, answer = sum(one.prompt_tokens for one in firsts), sum(one.answer_tokens for one in answers)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": answer,
            "total_tokens": prompt + answer,
            "prompt_tokens_details": {"cached_tokens": sum(one.cached_tokens for one in firsts)},
            "completion_tokens_details": {"reasoning_tokens": sum(one.thinking_tokens for one in answers)},
        }


class _Fields(ChoiceFields, kw_only=True):
    prompt: fields.Prompts = ""
    max_tokens: fields.Limit | None = 16  # as in the reference
    echo: bool = False
    logprobs: fields.NumTop | None = None


def parse_completion(body: bytes) -> ChatRequest:
    """Parse a request as `parse_chat` does."""
    asked, ignored = fields.read_fields(fields.parse_object(body), _Fields, _REFUSED)
    return ChatRequest(
        prompts=fields.prompts(asked.prompt, MAX_PROMPTS),
        echoes=asked.echo,
        num_top=asked.logprobs,
        ignored=ignored,
        **asked.shared(),
    )


class CompletionFormat(ChoiceFormat):
    kinds = ("cmpl", "text_completion", "text_completion")
    nothing = {"text": "", "logprobs": None}  # noqa: RUF012

    def said(self, answer: Answer | Part) -> dict[str, Any]:
        return {"text": answer.text, "logprobs": _scores(answer.scores) if answer.scores else None}

    def piece(self, part: Part) -> dict[str, Any]:
        return self.said(part)


def _scores(scores: Sequence[TokenScore]) -> dict[str, Any]:
    return {
        "tokens": [text_of(score.token) for score in scores],
        "token_logprobs": [score.logprob for score in scores],
        "top_logprobs": [_top(score) for score in scores],
        "text_offset": [score.offset for score in scores],
    }


def _top(score: TokenScore) -> dict[str, float] | None:
    """Return the likely tokens and the chosen one; None for the first token of a text."""
    if score.logprob is None:
        return None
    return {text_of(one.token): one.logprob for one in score.top} | {text_of(score.token): score.logprob}
