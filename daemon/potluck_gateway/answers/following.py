"""Follows an answer token by token: passes on its parts as they become certain, and ends it. Imports torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from potluck_gateway.answers.answer import Kind, Part, TokenScore, Told, ToolCall
from potluck_gateway.answers.completion import Completion, Decoder, Text
from potluck_gateway.answers.grammar import Grammar
from potluck_gateway.answers.reader import Reader
from potluck_gateway.answers.scoring import Scorer


class EnoughError(Exception):
    """A stop text was reached, the only call that is wanted, or the end of what a schema allows."""


class Follower:
    """Passes on parts as they become certain, and holds back what may be the start of a stop text."""

    def __init__(
        self,
        text: Text,
        stop: tuple[str, ...],
        tell: Callable[[Told], None],
        *,
        before: Sequence[int] = (),
        reader: Reader | None = None,
        grammar: Grammar | None = None,
        scorer: Scorer | None = None,
    ) -> None:
        """`before`: the tokens that the text goes on from. `reader`: None if the answer is plain text."""
        self._text = text
        self._stop = stop
        self._tell = tell
        self._decoder = Decoder(text, before)
        self._reader = reader
        self._grammar = grammar
        self._scorer = scorer
        self._held = ""  # text that may become a stop text
        self._read = 0  # letters of the text so far, with those
        self._scores: list[TokenScore] = []  # of text that was not passed on yet
        self._said: dict[Kind, list[str]] = {Kind.TEXT: [], Kind.THINKING: [], Kind.CALL: []}
        self.scores: list[TokenScore] = []
        self.tokens: list[int] = []
        self.times_s: list[float] = []  # when each came, since the start
        self.tokens_per_s = 0.0
        self.thinking_tokens = 0
        self.stop: str | None = None  # which stop text ended the answer
        self.is_stopped = False
        if grammar is not None:
            grammar.mode = lambda: self._mode

    def said(self, kind: Kind) -> str:
        return "".join(self._said[kind])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return () if self._reader is None else self._reader.calls

    def echo(self, pieces: Sequence[str], scores: Sequence[TokenScore] = ()) -> None:
        """Begin with the text of the prompt."""
        self._scores += scores
        self._held = "".join(pieces)
        self._read = len(self._held)
        self._show(self._read)

    def has_ended(self, ends: Sequence[int]) -> bool:
        """Tell whether the last token is one of those that end an answer."""
        return self.is_stopped or (bool(self.tokens) and self.tokens[-1] in ends)

    def note(self, completion: Completion) -> None:
        """Take the newest token. Raises EnoughError if it ends the answer."""
        token = completion.tokens[-1]
        self.tokens, self.times_s, self.tokens_per_s = completion.tokens, completion.times_s, completion.tokens_per_s
        before, must_match = self._mode, self._grammar is not None and self._grammar.is_wanted()
        parts = list(self._parts(token))
        self.thinking_tokens += Kind.THINKING in (before, self._mode)
        if self._scorer is not None and before is self._mode is Kind.TEXT and token not in self._text.special:
            self._scores.append(self._scorer.score(token, self._read))
        self._pass_on(parts)
        if self._grammar is not None and must_match and self._grammar.is_wanted():  # else it began another part
            self._grammar.take(token)
            self.is_stopped = self.is_stopped or self._grammar.is_over
        if self.is_stopped or (self._reader is not None and self._reader.has_enough):
            self.is_stopped = True
            raise EnoughError

    def finish(self, *, is_cut: bool) -> None:
        """Pass on the rest. `is_cut`: the answer was ended by its limit."""
        if self.stop is not None:
            return
        rest = self._decoder.rest()
        parts = [Part(rest)] if self._reader is None else [*self._reader.take(rest), *self._reader.end(is_cut=is_cut)]
        self._pass_on(parts)
        if self.stop is None:
            self._show(len(self._held))

    @property
    def _mode(self) -> Kind:
        return Kind.TEXT if self._reader is None else self._reader.mode

    def _parts(self, token: int) -> Iterable[Part]:
        if self._reader is None:
            return [Part(self._decoder.take(token))]
        mark = self._text.added.get(token)
        if mark is None or not (token in self._text.special or self._reader.is_tag(mark)):
            return self._reader.take(self._decoder.take(token))
        return [*self._reader.take(self._decoder.rest()), *self._reader.take(mark, is_special=True)]

    def _pass_on(self, parts: Iterable[Part]) -> None:
        for part in parts:
            if self.is_stopped:
                return
            if part.kind is Kind.TEXT:
                self._pass_on_text(part.text)
                continue
            self._show(len(self._held))
            self._said[part.kind].append(part.text)
            self._tell(part)

    def _pass_on_text(self, new: str) -> None:
        """Pass on text up to a stop text. Only what is new and what was held back is searched."""
        self._held += new
        self._read += len(new)
        found = [(place, word) for word in self._stop if (place := self._held.find(word)) >= 0]
        if found:
            place, self.stop = min(found)
            self.is_stopped = True
            self._show(place)
        else:
            self._show(len(self._held) - _held_back(self._held, self._stop))

    def _show(self, letters: int) -> None:
        if not letters:
            return
        text, self._held = self._held[:letters], self._held[letters:]
        until = self._read - len(self._held)
        scores = [score for score in self._scores if score.offset < until]
        self._scores = self._scores[len(scores) :]
        self.scores += scores
        self._said[Kind.TEXT].append(text)
        self._tell(Part(text, tuple(scores)))


def _held_back(text: str, stop: Sequence[str]) -> int:
    """Count the letters at the end that may become a stop text."""
    return max((_shared(text, word) for word in stop), default=0)


def _shared(text: str, word: str) -> int:
    """Count the letters at the end of a text with which a word begins, fewer than it has."""
    starts = range(max(len(text) - len(word) + 1, 0), len(text))
    return next((len(text) - start for start in starts if text.startswith(word[: len(text) - start], start)), 0)
