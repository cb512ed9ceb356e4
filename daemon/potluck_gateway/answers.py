"""Answers and their parts, as the model gives them and the formats write them. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from potluck.sentences import Sentence

OnWait = Callable[[Sentence], None]
"""Called with what an answer waits for."""


@dataclass(frozen=True, slots=True)
class Likely:
    """A token that could have come, and its log probability."""

    token: bytes
    logprob: float


@dataclass(frozen=True, slots=True)
class TokenScore:
    """A token of an answer with its log probability before temperature and what the request changes.

    A checkpoint's own `repetition_penalty` comes first, so it already counts.

    Attributes:
        offset: where the token begins in the answer, in letters.
        top: the tokens that were most likely there.
    """

    token: bytes
    logprob: float
    offset: int
    top: tuple[Likely, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """New text of an answer, the scores of its tokens if they were asked for, and which choice it belongs to."""

    text: str
    scores: tuple[TokenScore, ...] = ()
    index: int = 0


@dataclass(frozen=True, slots=True)
class AnswerHop:
    """A server that took part, with its blocks as START:END."""

    peer_id: str
    name: str | None
    blocks: str


@dataclass(frozen=True, slots=True)
class AnswerDetails:
    """Tells how an answer was made."""

    tokens: tuple[int, ...]
    tokens_per_s: float
    route: tuple[AnswerHop, ...]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model makes. `arguments` is a JSON object."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer.

    Attributes:
        reason: of its end, `stop`, `length` or `tool_calls`.
        prompt_tokens, answer_tokens: how many tokens both have.
        scores: of the tokens of its text, if they were asked for.
        details: None unless the request asked for them.
        calls: of tools; they are no part of the text.
    """

    text: str
    reason: str
    prompt_tokens: int
    answer_tokens: int
    scores: tuple[TokenScore, ...] = ()
    details: AnswerDetails | None = None
    calls: tuple[ToolCall, ...] = ()


Answers = tuple[Answer, ...]  # the choices of a request
