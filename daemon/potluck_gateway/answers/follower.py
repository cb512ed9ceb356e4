"""Scores single tokens while a model generates. Imports torch.

Follows an answer token by token: passes on its parts as they become certain, and ends it. Imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from transformers.generation.logits_process import LogitsProcessor

from potluck_gateway.answers.call_arguments import held
from potluck_gateway.answers.completion import Completion, TextTokenizer, TokenDecoder
from potluck_gateway.answers.grammar import Grammar
from potluck_gateway.answers.reader import AnswerReader
from potluck_gateway.exchange import AnswerEvent, AnswerPart, Likely, PartKind, TokenScore


class Scorer(LogitsProcessor):  # type: ignore[misc]
    """Keeps the log probabilities of the step that is being made. It changes nothing and has to come first."""

    def __init__(self, num_top: int, bytes_of: Callable[[int], bytes]) -> None:
        """`num_top`: how many of the most likely tokens to name at each step."""
        self._num_top = num_top
        self._bytes_of = bytes_of
        self._logprobs = torch.zeros(0)  # [vocabulary]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Shapes: input_ids [1, tokens] int64, scores [1, vocabulary]."""
        self._logprobs = scores[0].log_softmax(-1, dtype=torch.float32)
        return scores

    def score(self, token: int, offset: int) -> TokenScore:
        """Return the score of the token that this step chose; it begins at letter `offset`."""
        top = self._logprobs.topk(min(self._num_top, len(self._logprobs)))
        likely = zip(top.indices.tolist(), top.values.tolist(), strict=True)
        return TokenScore(
            self._bytes_of(token),
            float(self._logprobs[token]),
            offset,
            tuple(Likely(self._bytes_of(one), logprob) for one, logprob in likely),
        )

    def score_prompt(self, logits: torch.Tensor, tokens: Sequence[int], pieces: Sequence[str]) -> list[TokenScore]:
        """Return the scores of a prompt's tokens, whose texts are `pieces`. Shapes: logits [tokens, vocabulary]."""
        found = [TokenScore(self._bytes_of(tokens[0]), None, 0)]
        offset = len(pieces[0])
        for place, token in enumerate(tokens[1:]):
            self._logprobs = logits[place].log_softmax(-1, dtype=torch.float32)
            found.append(self.score(token, offset))
            offset += len(pieces[place + 1])
        return found


class AnswerEndedError(Exception):
    """A stop text was reached, the only call that is wanted, or the end of what a schema allows."""


class AnswerFollower:
    """Passes on parts as they become certain, and holds back what may be the start of a stop text."""

    def __init__(
        self,
        text: TextTokenizer,
        stop: tuple[str, ...],
        tell: Callable[[AnswerEvent], None],
        reader: AnswerReader,
        *,
        before: Sequence[int] = (),
        grammar: Grammar | None = None,
        scorer: Scorer | None = None,
    ) -> None:
        """`before`: the tokens that the text goes on from."""
        self._text = text
        self._stop = stop
        self._tell = tell
        self._decoder = TokenDecoder(text, before)
        self._reader = reader
        self._grammar = grammar
        self._scorer = scorer
        self._held = ""  # text that may become a stop text
        self._read = 0  # letters of the text so far, with those
        self._scores: list[TokenScore] = []  # of text that was not passed on yet
        self.said: dict[PartKind, list[str]] = {kind: [] for kind in PartKind}
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
        self.thinking_tokens += PartKind.THINKING in (before, self._reader.mode)
        if (
            self._scorer is not None
            and before is self._reader.mode is PartKind.TEXT
            and token not in self._text.special
        ):
            self._scores.append(self._scorer.score(token, self._read))
        self._pass_on(parts)
        if self._grammar is not None and must_match and self._grammar.is_wanted():  # else it began another part
            self._grammar.take(token)
            self.is_stopped = self.is_stopped or self._grammar.is_over
        if self.is_stopped or self._reader.has_enough:
            self.is_stopped = True
            raise AnswerEndedError

    def finish(self, *, is_cut: bool) -> None:
        """Pass on the rest. `is_cut`: the answer was ended by its limit."""
        self._pass_on([*self._reader.take(self._decoder.rest()), *self._reader.end(is_cut=is_cut)])
        if self.stop is None:
            self._show(len(self._held))

    def _parts(self, token: int) -> Iterable[AnswerPart]:
        mark = self._text.added.get(token)
        if mark is None or not (token in self._text.special or self._reader.is_tag(mark)):
            return self._reader.take(self._decoder.take(token))
        return [*self._reader.take(self._decoder.rest()), *self._reader.take(mark, is_special=True)]

    def _pass_on(self, parts: Iterable[AnswerPart]) -> None:
        for part in parts:
            if self.is_stopped:
                return
            if part.kind is PartKind.TEXT:
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
        self.said[PartKind.TEXT].append(text)
        self._tell(AnswerPart(text, tuple(scores)))
