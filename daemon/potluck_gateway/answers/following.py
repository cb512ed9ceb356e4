"""Follows an answer token by token: passes on text as it becomes certain, and ends the answer. Imports torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from potluck_gateway.answers.answer import Part, TokenScore, ToolCall
from potluck_gateway.answers.completion import Completion, Text
from potluck_gateway.answers.grammar import Grammar
from potluck_gateway.answers.scoring import Scorer
from potluck_gateway.answers.tools import CallReader
from potluck_gateway.requests import visible


class EnoughError(Exception):
    """A stop text was reached, or the end of what a schema allows."""


class Follower:
    """Passes on text as it becomes certain, and holds back what may be the start of a stop text or of a call."""

    def __init__(
        self,
        text: Text,
        stop: tuple[str, ...],
        on_part: Callable[[Part], None],
        *,
        grammar: Grammar | None = None,
        scorer: Scorer | None = None,
        reader: CallReader | None = None,
    ) -> None:
        self._text = text
        self._stop = stop
        self._on_part = on_part
        self._grammar = grammar
        self._scorer = scorer
        self._reader = reader
        self._full = ""
        self._shown = 0
        self._tokens: list[int] = []
        self._scores: list[TokenScore] = []
        self._scores_shown = 0
        self.tokens_per_s = 0.0
        self.is_stopped = False

    @property
    def tokens(self) -> list[int]:
        return self._tokens

    @property
    def num_tokens(self) -> int:
        return len(self._tokens)

    @property
    def scores(self) -> tuple[TokenScore, ...]:
        """Return the scores of the tokens whose text was passed on."""
        return tuple(self._scores[: self._scores_shown])

    def note(self, completion: Completion) -> None:
        self._tokens = list(completion.tokens)
        self.tokens_per_s = completion.tokens_per_s
        if self._scorer is not None:
            self._scores.append(self._scorer.score(self._tokens[-1], len(self._full)))
        self._full += self._text.new_part(self._tokens, self._full)
        seen, self.is_stopped = visible(self._full, self._stop)
        shown = seen if self.is_stopped else seen[: len(seen) - _held_back(seen, self._stop)]
        self._show(shown if self._reader is None else self._reader.plain(shown))
        self.is_stopped = self.is_stopped or (self._reader is not None and self._reader.is_enough(seen))
        if self._grammar is not None:
            self._grammar.take(self._tokens[-1])
            self.is_stopped = self.is_stopped or self._grammar.is_complete
        if self.is_stopped:
            raise EnoughError

    def finish(self) -> tuple[str, tuple[ToolCall, ...]]:
        """Pass on the rest of the text, and return all of it and the calls of tools."""
        text, _ = visible(self._text.decode(self._tokens), self._stop)
        text, calls = (text, ()) if self._reader is None else self._reader.split(text)
        self._show(text)
        return text, calls

    def _show(self, text: str) -> None:
        if len(text) <= self._shown:
            return
        scores = [score for score in self._scores[self._scores_shown :] if score.offset < len(text)]
        self._scores_shown += len(scores)
        self._on_part(Part(text[self._shown :], tuple(scores)))
        self._shown = len(text)


def _held_back(text: str, stop: Sequence[str]) -> int:
    """Count the letters at the end that may become a stop text."""
    starts = (size for word in stop for size in range(len(word) - 1, 0, -1) if text.endswith(word[:size]))
    return max(starts, default=0)
