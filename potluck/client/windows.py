"""Keeps what one server of a session answered lately, so that windows of its outputs can be audited."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import torch
from torch import Tensor

from potluck.audit import WINDOW_TOKENS


@dataclass(slots=True, weakref_slot=True, eq=False)
class Watch:
    """Whether the server still has the session's first `stop` tokens as they were, and in the same rows."""

    stop: int
    holds: bool = True


class Windows:
    """The outputs since the last whole window. Adding is a list append, because it happens for each token."""

    def __init__(self) -> None:
        self._start = 0  # position of the first token that is kept
        self._end = 0
        self._chunks: list[Tensor] = []  # [batch, tokens, hidden_size] each
        self._drop = 0  # position up to which the next `add` forgets
        self._watches: weakref.WeakSet[Watch] = weakref.WeakSet()

    def add(self, start: int, outputs: Tensor) -> list[range]:
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
        return [range(index * WINDOW_TOKENS, (index + 1) * WINDOW_TOKENS) for index in whole]

    def rest(self) -> range:
        """Return the last tokens that were in no whole window; empty if there are none."""
        return range(max(self._start, self._drop, self._end - WINDOW_TOKENS), self._end)

    def take(self, window: range, row: int) -> Tensor:
        """Return the outputs [tokens, hidden_size] of a window that `add` or `rest` returned."""
        first = window.start - self._start
        return torch.cat([chunk[row] for chunk in self._chunks])[first : first + len(window)]

    def pieces(self, window: range) -> tuple[int, ...]:
        """Return how many tokens of a window each step had."""
        found, position = [], self._start
        for chunk in self._chunks:
            end = position + chunk.shape[1]
            found.append(min(end, window.stop) - max(position, window.start))
            position = end
        return tuple(tokens for tokens in found if tokens > 0)

    def watch(self, stop: int) -> Watch:
        """Return what tells whether the first tokens stay as they are."""
        watch = Watch(stop)
        self._watches.add(watch)
        return watch

    def truncate(self, position: int) -> None:
        """Forget the tokens from `position` on. The pieces before stay as they were computed."""
        self._end_watches(position)
        while self._end > position and self._chunks:
            last = self._chunks.pop()
            begin = self._end - last.shape[1]
            if begin < position:
                self._chunks.append(last[:, : position - begin])
            self._end = max(begin, position)
        self._end = min(self._end, position)
        self._start, self._drop = min(self._start, self._end), min(self._drop, self._end)

    def reorder(self, order: Tensor) -> None:
        """Forget everything, because a window is of one row."""
        self.clear()

    def clear(self) -> None:
        """Forget everything, because the server computes all of it anew."""
        self._end_watches(0)
        self._chunks.clear()
        self._start = self._drop = self._end

    def _end_watches(self, position: int) -> None:
        for watch in self._watches:
            watch.holds = watch.holds and watch.stop <= position

    def _forget(self) -> None:
        kept = self._end - self._drop
        rest = torch.cat(self._chunks, dim=1)[:, -kept:].clone() if kept else None  # the whole may be a long prompt
        self._chunks = [] if rest is None else [rest]
        self._start = self._drop
