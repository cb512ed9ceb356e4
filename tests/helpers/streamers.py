"""Streamers for `generate()` that make something happen in the middle of it."""

from collections.abc import Callable

import torch
from transformers.generation.streamers import BaseStreamer


class At(BaseStreamer):
    """Does something when the token of this number, counted from 1, comes."""

    def __init__(self, number: int, deed: Callable[[], object]) -> None:
        self._number = number
        self._deed = deed
        self._seen = -1  # the prompt comes first

    def put(self, value: torch.Tensor) -> None:
        self._seen += 1
        if self._seen == self._number:
            self._deed()

    def end(self) -> None:
        """Do nothing, because no token is held back."""
