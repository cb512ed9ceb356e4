"""Streamers for `generate()` that make something happen in the middle of it."""

from collections.abc import Callable, Container

import torch
from transformers.generation.streamers import BaseStreamer


class At(BaseStreamer):
    """Calls `deed` at new tokens with these numbers, counted from 1, and keeps all tokens."""

    def __init__(self, numbers: int | Container[int] = (), deed: Callable[[], object] = lambda: None) -> None:
        self.tokens: list[int] = []
        self._numbers = (numbers,) if isinstance(numbers, int) else numbers
        self._deed = deed
        self._seen = -1  # the prompt comes first

    def put(self, value: torch.Tensor) -> None:
        self.tokens += value.flatten().tolist()
        self._seen += 1
        if self._seen in self._numbers:
            self._deed()

    def end(self) -> None:
        """Do nothing, because no token is held back."""
