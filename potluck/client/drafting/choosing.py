"""Chooses the next tokens of a text by the model's logits.

Each token is chosen as in plain decoding: by the same processors, with the same draw, and shown to the same streamer
before the next one. So greedy tokens are the same, and sampled ones too where the random state is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from potluck.client.drafting.payoff import MAX_DRAFT

_KEPT_NOISE = 2 * MAX_DRAFT  # tokens


@runtime_checkable
class Drawing(Protocol):
    """Draws the tokens of one text. A drafter that draws with the same noise draws the same tokens more often."""

    def draw(self, logits: Tensor, position: int) -> int:
        """Return the token at `position` by its logits [vocabulary], float32; each call returns the same."""


class Chosen:
    """The text so far. It chooses the next tokens as plain decoding does."""

    def __init__(self, ids: Tensor, processors: Any, criteria: Any, config: Any, streamer: Any) -> None:
        """Begin with the prompt `ids` [1, tokens]; the rest is what `generate` gives to a decoding method."""
        self.ids = ids
        self.config = config
        self.streamer = streamer
        self.is_done = False
        self.scores: tuple[Tensor, ...] = ()  # [1, vocabulary] for each new token, if `generate` returns them
        self.logits: tuple[Tensor, ...] = ()
        self._processors = processors
        self._is_plain = not (processors or config.do_sample or config.return_dict_in_generate)
        self._criteria = criteria

    def drawing(self, vocabulary: int) -> Drawing | None:
        """Return how the next tokens are drawn; None if the best ones are chosen."""
        if self.config.do_sample:
            return _TorchNoise(self.config.temperature or 1.0, vocabulary, self.ids.shape[1])
        return next((each for each in self._processors if isinstance(each, Drawing)), None)

    def choose(self, drafted: Sequence[int], logits: Tensor, best: Sequence[int] = ()) -> None:
        """Choose a token after each place of `logits` [1, drafted + 1, vocabulary], until one was not drafted.

        `best`: the likeliest token at each place, if that is known.
        """
        keeps = self.config.return_dict_in_generate
        for place in range(len(drafted) + 1):
            token = self.ids.new_tensor([[best[place]]]) if best and self._is_plain else self._drawn(logits[:, place])
            self.ids = torch.cat([self.ids, token], dim=1)
            if self.streamer is not None:
                self.streamer.put(token[0].cpu())
            self.is_done = bool(self._criteria(self.ids, self.scores if keeps else None).all())
            if self.is_done or place == len(drafted) or int(token) != drafted[place]:
                return

    def _drawn(self, logits: Tensor) -> Tensor:
        """Return the token [1, 1] that processors and sampling choose by `logits` [1, vocabulary]."""
        raw = logits.to(copy=True, dtype=torch.float32, device=self.ids.device)
        scores = self._processors(self.ids, raw)
        if self.config.return_dict_in_generate:
            self.scores, self.logits = (*self.scores, scores), (*self.logits, raw)
        return torch.multinomial(scores.softmax(-1), 1) if self.config.do_sample else scores.argmax(-1, keepdim=True)


class _TorchNoise:
    """Draws with the noise that `torch.multinomial` will use for the next tokens on a processor.

    It takes the token whose probability, divided by exponential noise, is largest. The noise comes from a copy of the
    random state, so the state itself changes as without drafts.
    """

    def __init__(self, temperature: float, vocabulary: int, position: int) -> None:
        """`position`: of the next token that will be drawn."""
        self._temperature, self._vocabulary, self._next = temperature, vocabulary, position
        self._generator = torch.Generator()
        self._generator.set_state(torch.get_rng_state())
        self._noise: dict[int, Tensor] = {}  # [vocabulary] by position

    def draw(self, logits: Tensor, position: int) -> int:
        """Return the token at `position`; see `Drawing`."""
        while self._next <= position:
            self._noise[self._next] = torch.empty(1, self._vocabulary).exponential_(generator=self._generator)[0]
            self._noise.pop(self._next - _KEPT_NOISE, None)
            self._next += 1
        chances = (logits[: self._vocabulary] / self._temperature).softmax(0)
        return int((chances / self._noise[position][: len(chances)]).argmax())
