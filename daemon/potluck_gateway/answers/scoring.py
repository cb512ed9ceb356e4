"""Scores single tokens while a model generates. Imports torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from transformers.generation.logits_process import LogitsProcessor

from potluck_gateway.answers.answer import Likely, TokenScore


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
