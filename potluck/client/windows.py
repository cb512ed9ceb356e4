"""Keeps what one server of a session answered lately, so that whole windows of its outputs can be audited."""

from __future__ import annotations

import torch
from torch import Tensor

from potluck.audit import WINDOW_TOKENS


class Windows:
    """The outputs since the last whole window. Adding is a list append, because it happens for each token."""

    def __init__(self) -> None:
        self._start = 0  # position of the first token that is kept
        self._end = 0
        self._chunks: list[Tensor] = []  # [batch, tokens, hidden_size] each
        self._drop = 0  # position up to which the next `add` forgets

    def add(self, start: int, outputs: Tensor) -> range:
        """Add outputs of the tokens from `start` on, and return the windows that are whole now.

        They can be taken until the next `add`. A gap before `start` forgets what was there.
        """
        if start != self._end:
            self._chunks.clear()
            self._start = self._end = self._drop = start
        elif self._drop > self._start:
            self._forget()
        self._chunks.append(outputs)
        self._end += outputs.shape[1]
        whole = range(-(-self._start // WINDOW_TOKENS), self._end // WINDOW_TOKENS)
        if whole:
            self._drop = whole.stop * WINDOW_TOKENS
        return whole

    def take(self, window: int, row: int) -> Tensor:
        """Return the outputs [WINDOW_TOKENS, hidden_size] of a whole window."""
        first = window * WINDOW_TOKENS - self._start
        return torch.cat([chunk[row] for chunk in self._chunks])[first : first + WINDOW_TOKENS]

    def pieces(self, window: int) -> tuple[int, ...]:
        """Return how many tokens of a whole window each step had."""
        first, found, position = window * WINDOW_TOKENS, [], self._start
        for chunk in self._chunks:
            end = position + chunk.shape[1]
            found.append(min(end, first + WINDOW_TOKENS) - max(position, first))
            position = end
        return tuple(tokens for tokens in found if tokens > 0)

    def truncate(self, position: int) -> None:
        """Forget the tokens from `position` on. The pieces before stay as they were computed."""
        while self._end > position and self._chunks:
            last = self._chunks.pop()
            begin = self._end - last.shape[1]
            if begin < position:
                self._chunks.append(last[:, : position - begin])
            self._end = max(begin, position)
        self._end = min(self._end, position)
        self._start, self._drop = min(self._start, self._end), min(self._drop, self._end)

    def clear(self) -> None:
        """Forget everything, because the rows have changed."""
        self._chunks.clear()
        self._start = self._drop = self._end

    def _forget(self) -> None:
        kept = self._end - self._drop
        rest = torch.cat(self._chunks, dim=1)[:, -kept:].clone() if kept else None  # the whole may be a long prompt
        self._chunks = [] if rest is None else [rest]
        self._start = self._drop
