"""Answers and their parts, as the model gives them and the formats write them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from potluck.sentences import Sentence


@dataclass(frozen=True, slots=True)
class Likely:
    """A token that could have come, and its log probability."""

    token: bytes
    logprob: float


@dataclass(frozen=True, slots=True)
class TokenScore:
    """A token of an answer with its log probability before temperature and what the request changes.

    Attributes:
        logprob: None for the first token of a text.
        offset: where the token begins in the answer, in letters.
        top: the tokens that were most likely there.
    """

    token: bytes
    logprob: float | None
    offset: int
    top: tuple[Likely, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model makes. `arguments` is a JSON object, unless the model has broken it."""

    call_id: str
    name: str
    arguments: str


class Kind(StrEnum):
    """Names what a piece of an answer is."""

    TEXT = "text"
    THINKING = "thinking"
    CALL = "call"  # the arguments of a call


@dataclass(frozen=True, slots=True)
class Part:
    """New text of an answer.

    Attributes:
        scores: of the tokens of the text, if they were asked for.
        index: which choice it belongs to.
        kind: what the text is.
        call: whose arguments the text goes on with, without these; its first part begins the call, the next part of
            another call or kind ends it.
    """

    text: str
    scores: tuple[TokenScore, ...] = ()
    index: int = 0
    kind: Kind = Kind.TEXT
    call: ToolCall | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """The prompt can be answered. It comes before all parts, and may come once for each choice."""

    prompt_tokens: int


Told = Begun | Part | Sentence
"""An answer tells these while it is made. A sentence says what it waits for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer.

    Attributes:
        reason: of its end, `stop`, `length` or `tool_calls`.
        prompt_tokens, answer_tokens: how many tokens both have; the answer's with its thinking.
        scores: of the tokens of its text, if they were asked for.
        details: its tokens, speed and servers as JSON has them; None unless the request asked for them.
        calls: of tools; they are no part of the text.
        thinking: what came before the text, and no part of it.
        cached_tokens: of the prompt, which the servers knew already.
        stop: the stop text that ended it.
        prompt_s, answer_s: how long the prompt took, and the tokens after the first.
    """

    text: str
    reason: str
    prompt_tokens: int
    answer_tokens: int
    scores: tuple[TokenScore, ...] = ()
    details: dict[str, Any] | None = None
    calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    thinking_tokens: int = 0
    cached_tokens: int = 0
    stop: str | None = None
    prompt_s: float = 0.0
    answer_s: float = 0.0


Answers = tuple[Answer, ...]  # the choices of a request, those of its first prompt first


@dataclass(frozen=True, slots=True)
class Embeddings:
    """One vector for each text, and how many tokens all texts have."""

    vectors: tuple[Sequence[float], ...]
    num_tokens: int


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What programs ask about a model.

    Attributes:
        context_length: most tokens of a prompt and its answer together; None if there is no limit.
        max_tokens: of an answer whose request names no limit.
        embedding_length: numbers of a vector.
        architecture: its name in the checkpoint's configuration, such as `qwen3`.
        thinks: whether its answers may begin with thinking.
    """

    context_length: int | None
    max_tokens: int
    embedding_length: int
    architecture: str
    thinks: bool
