"""Follows an answer token by token: passes on its parts as they become certain, and ends it. Imports torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from potluck_gateway.answers.answer import Kind, Part, TokenScore, Told
from potluck_gateway.answers.arguments import held
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
        reader: Reader,
        *,
        before: Sequence[int] = (),
        grammar: Grammar | None = None,
        scorer: Scorer | None = None,
    ) -> None:
        """`before`: the tokens that the text goes on from."""
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
        self.said: dict[Kind, list[str]] = {kind: [] for kind in Kind}
        self.scores: list[TokenScore] = []
        self.completion = Completion()  # so far
        self.thinking_tokens = 0
        self.stop: str | None = None  # which stop text ended the answer
        self.is_stopped = False
        if grammar is not None:
            grammar.mode = lambda: reader.mode

    def echo(self, pieces: Sequence[str], scores: Sequence[TokenScore] = ()) -> None:
        """Begin with the text of the prompt."""
        self._scores += scores
        self._held = "".join(pieces)
        self._read = len(self._held)
        self._show(self._read)

    def note(self, completion: Completion) -> None:
        """Take the newest token. Raises EnoughError if it ends the answer."""
        self.completion, token = completion, completion.tokens[-1]
        before, must_match = self._reader.mode, self._grammar is not None and self._grammar.is_wanted()
        parts = list(self._parts(token))
        self.thinking_tokens += Kind.THINKING in (before, self._reader.mode)
        if self._scorer is not None and before is self._reader.mode is Kind.TEXT and token not in self._text.special:
            self._scores.append(self._scorer.score(token, self._read))
        self._pass_on(parts)
        if self._grammar is not None and must_match and self._grammar.is_wanted():  # else it began another part
            self._grammar.take(token)
            self.is_stopped = self.is_stopped or self._grammar.is_over
        if self.is_stopped or self._reader.has_enough:
            self.is_stopped = True
            raise EnoughError

    def finish(self, *, is_cut: bool) -> None:
        """Pass on the rest. `is_cut`: the answer was ended by its limit."""
        self._pass_on([*self._reader.take(self._decoder.rest()), *self._reader.end(is_cut=is_cut)])
        if self.stop is None:
            self._show(len(self._held))

    def _parts(self, token: int) -> Iterable[Part]:
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
            self.said[part.kind].append(part.text)
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
            self._show(len(self._held) - held(self._held, self._stop))

    def _show(self, letters: int) -> None:
        if not letters:
            return
        text, self._held = self._held[:letters], self._held[letters:]
        until = self._read - len(self._held)
        scores = [score for score in self._scores if score.offset < until]
        self._scores = self._scores[len(scores) :]
        self.scores += scores
        self.said[Kind.TEXT].append(text)
        self._tell(Part(text, tuple(scores)))
