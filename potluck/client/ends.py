"""Runs the parts of a model before and after its blocks, which are at servers, for tokens of one or several texts.

The family's own forward runs for tokens that are packed into one row, each at its own position, with `JointCache` in
the place of the blocks. Whether a family's ends compute each token for itself is found by a trial.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from functools import cached_property
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn
from transformers import Cache

_log = logging.getLogger(__name__)

_TOKENS, _POSITIONS = (1, 2, 1), (3, 0, 2)  # of the trial; every model has them
_TOLERANCE = 1e-2  # of the trial's logits in bfloat16, where only the order of sums differs


class JointCache(Cache):  # type: ignore[misc]
    """Stands for the caches of all texts in a packed row. `step` takes the place of the blocks.

    Args:
        step: returns the last block's outputs for inputs [1, tokens, hidden_size]; None: the inputs, for a trial.
    """

    def __init__(self, length: int = 0, step: Callable[[Tensor], Tensor] | None = None) -> None:
        super().__init__(layers=[])
        self._length = length
        self.step = step or (lambda hidden: hidden)

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self._length

    def get_max_length(self, layer_idx: int | None = None) -> int:
        return -1

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self._length + query_length, 0

    def has_previous_state(self, layer_idx: int | None = None, state_idx: int | None = None) -> bool:
        return True

    @property
    def is_initialized(self) -> bool:
        return True


class _Entered(BaseException):
    """Ends a forward at the blocks."""


class Ends:
    """The two ends of one model. Any thread may use them."""

    def __init__(self, model: Any, decoder: nn.Module, cache_name: str) -> None:
        self._model = model
        self._cache_name = cache_name
        self._takes_positions = "position_ids" in signature(decoder.forward).parameters

    def through(self, tokens: Sequence[int], positions: Sequence[int], step: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the logits [1, tokens, vocabulary], with `step` in the place of the blocks."""
        return self._logits(tokens, positions, JointCache(step=step))

    def enter(self, tokens: Sequence[int], positions: Sequence[int]) -> Tensor:
        """Return the first block's inputs [1, tokens, hidden_size]."""
        entered: list[Tensor] = []

        def step(hidden: Tensor) -> Tensor:
            entered.append(hidden)
            raise _Entered

        with contextlib.suppress(_Entered):
            self.through(tokens, positions, step)
        return entered[0]

    def leave(self, tokens: Sequence[int], positions: Sequence[int], outputs: Tensor) -> Tensor:
        """Return the logits [1, tokens, vocabulary] of the last block's outputs [1, tokens, hidden_size]."""
        return self.through(tokens, positions, lambda hidden: outputs.to(hidden.device))

    @cached_property
    def packs(self) -> bool:
        """Tell whether packed tokens have the same logits as each token alone, with blocks that do nothing."""
        try:
            packed = self._logits(_TOKENS, _POSITIONS, JointCache())
            alone = [self._logits([token], [at], JointCache(at)) for token, at in zip(_TOKENS, _POSITIONS, strict=True)]
        except Exception as error:  # whatever a family's code raises, its texts are decoded one by one
            _log.debug("tokens of several texts can't share a step: %s", type(error).__name__)
            return False
        expected = torch.cat(alone, dim=1)
        difference = (packed - expected).float().norm() / expected.float().norm()
        return bool(difference < _TOLERANCE)

    def _logits(self, tokens: Sequence[int], positions: Sequence[int], cache: JointCache) -> Tensor:
        device = self._model.device
        given: dict[str, Any] = {self._cache_name: cache, "use_cache": True, "return_dict": True}
        if self._takes_positions:
            given["position_ids"] = torch.tensor([positions], device=device)
        logits: Tensor = self._model(input_ids=torch.tensor([tokens], device=device), **given).logits
        return logits
