"""Streamers for `generate()` that make something happen in the middle of it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from transformers.generation.streamers import BaseStreamer


class At(BaseStreamer):
    """Does something when the nth token comes."""

    def __init__(self, nth: int, deed: Callable[[], object]) -> None:
        self._left = nth + 1  # the prompt comes first
        self._deed = deed

    def put(self, value: torch.Tensor) -> None:
        self._left -= 1
        if self._left == 0:
            self._deed()

    def end(self) -> None:
        """Do nothing, because no token is held back."""
