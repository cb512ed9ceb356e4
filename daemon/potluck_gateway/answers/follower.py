"""Follows an answer token by token: passes its parts on, scores its tokens, and ends it. Imports torch."""

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
    """Records the log probabilities of each step. It changes nothing and has to come first."""

    def __init__(self, num_top: int, bytes_of: Callable[[int], bytes]) -> None:
        """Store the number of most likely tokens to report at each step, and what returns the bytes of a token."""
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
    """The answer is over: at a stop text, after the only call that it may have, or where its schema ends."""


class AnswerFollower:
    """Passes parts of an answer on as they become certain, and holds back text that may begin a stop text."""

    def __init__(
        self,
        text: TextTokenizer,
        stop: tuple[str, ...],
        emit: Callable[[AnswerEvent], None],
        reader: AnswerReader,
        *,
        before: Sequence[int] = (),
        grammar: Grammar | None = None,
        scorer: Scorer | None = None,
    ) -> None:
        """Store what is needed. `before`: the tokens that the text goes on from."""
        self._text = text
        self._stop = stop
        self._emit = emit
        self._decoder = TokenDecoder(text, before)
        self._reader = reader
        self._grammar = grammar
        self._scorer = scorer
        self._held = ""  # text that may become a stop text
        self._num_letters = 0  # letters of the text so far, held ones included
        self._scores: list[TokenScore] = []  # scores of text that was not passed on yet
        self.texts: dict[PartKind, list[str]] = {kind: [] for kind in PartKind}
        self.scores: list[TokenScore] = []
        self.completion = Completion()  # the completion so far
        self.thinking_tokens = 0
        self.stop: str | None = None  # the stop text that ended the answer
        self.is_stopped = False
        self._echoes = False
        if grammar is not None:
            grammar.mode = lambda: reader.mode

    def echo(self, pieces: Sequence[str], scores: Sequence[TokenScore] = ()) -> None:
        """Begin with the text of the prompt. Every token is scored then, also one without a text."""
        self._echoes = True
        self._scores += scores
        self._held = "".join(pieces)
        self._num_letters = len(self._held)
        self._release(self._num_letters, is_end=True)

    def add(self, completion: Completion) -> None:
        """Process the newest token. Raises AnswerEndedError if it ends the answer."""
        self.completion, token = completion, completion.tokens[-1]
        before, must_match = self._reader.mode, self._grammar is not None and self._grammar.applies()
        parts = list(self._parts(token))
        self.thinking_tokens += PartKind.THINKING in (before, self._reader.mode)
        is_text = before is self._reader.mode is PartKind.TEXT and token not in self._text.special
        if self._scorer is not None and (is_text or self._echoes):
            self._scores.append(self._scorer.score(token, self._num_letters))
        self._pass_on(parts)
        if self._grammar is not None and must_match and self._grammar.applies():  # else it began another part
            self._grammar.consume(token)
            self.is_stopped = self.is_stopped or self._grammar.is_over
        if self.is_stopped or self._reader.is_complete:
            self.is_stopped = True
            raise AnswerEndedError

    def finish(self, *, is_cut: bool) -> None:
        """Pass the rest on. `is_cut`: the limit ended the answer."""
        self._pass_on([*self._reader.feed(self._decoder.flush()), *self._reader.finish(is_cut=is_cut)])
        if self.stop is None:
            self._release(len(self._held), is_end=self._echoes)

    def _parts(self, token: int) -> Iterable[AnswerPart]:
        mark = self._text.added.get(token)
        if mark is None or not (token in self._text.special or self._reader.is_tag(mark)):
            return self._reader.feed(self._decoder.add(token))
        return [*self._reader.feed(self._decoder.flush()), *self._reader.feed(mark, is_special=True)]

    def _pass_on(self, parts: Iterable[AnswerPart]) -> None:
        for part in parts:
            if self.is_stopped:
                return
            if part.kind is PartKind.TEXT:
                self._pass_on_text(part.text)
                continue
            self._release(len(self._held))
            self.texts[part.kind].append(part.text)
            self._emit(part)

    def _pass_on_text(self, new: str) -> None:
        """Pass on text up to a stop text. Only what is new and what was held back is searched."""
        self._held += new
        self._num_letters += len(new)
        found = [(place, word) for word in self._stop if (place := self._held.find(word)) >= 0]
        if found:
            place, self.stop = min(found)
            self.is_stopped = True
            self._release(place)
        else:
            self._release(len(self._held) - held(self._held, self._stop))

    def _release(self, letters: int, *, is_end: bool = False) -> None:
        """Pass on `letters` of the held text with their scores; at the end, also those of tokens without a text."""
        text, self._held = self._held[:letters], self._held[letters:]
        until = self._num_letters - len(self._held)
        scores = [score for score in self._scores if is_end or score.offset < until]
        if not (text or scores):
            return
        self._scores = self._scores[len(scores) :]
        self.scores += scores
        self.texts[PartKind.TEXT].append(text)
        self._emit(AnswerPart(text, tuple(scores)))
