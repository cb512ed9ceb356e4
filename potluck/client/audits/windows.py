"""Keeps the latest outputs of one server of a session, so that windows of them can be audited."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import torch
from torch import Tensor

from potluck.audit.choices import WINDOW_TOKENS


@dataclass(slots=True, weakref_slot=True, eq=False)
class WindowWatch:
    """Tells whether the session's first `stop` tokens and its rows have stayed the same."""

    stop: int
    holds: bool = True


class Windows:
    """The outputs since the last whole window.

    Attributes:
        steps: position of the first token and outputs [batch, tokens, hidden_size] of each step, in order. The caller
            that adds a step calls `whole` if a window ends in it.
    """

    def __init__(self) -> None:
        self.steps: list[tuple[int, Tensor]] = []
        self._stop = 0  # end of the windows that were whole
        self._watches: weakref.WeakSet[WindowWatch] = weakref.WeakSet()

    def whole(self) -> list[range]:
        """Return the windows that have become whole. `outputs` gives theirs until the next call.

        A gap in the positions forgets what was before it.
        """
        kept: list[tuple[int, Tensor]] = []
        for start, outputs in reversed(self.steps):
            end = start + outputs.shape[1]
            if end <= self._stop or (kept and end != kept[-1][0]):
                break
            if start < self._stop:  # the whole may be a long prompt
                start, outputs = self._stop, outputs[:, self._stop - end :].clone()
            kept.append((start, outputs))
        self.steps = kept[::-1]
        found = range(-(-self._start // WINDOW_TOKENS), self._end // WINDOW_TOKENS)
        if found:
            self._stop = found.stop * WINDOW_TOKENS
        return [range(index * WINDOW_TOKENS, (index + 1) * WINDOW_TOKENS) for index in found]

    def rest(self) -> range:
        """Return the last tokens that were in no whole window; empty if there are none."""
        self.whole()
        return range(max(self._start, self._stop, self._end - WINDOW_TOKENS), self._end)

    def outputs(self, window: range, row: int) -> Tensor:
        """Return the outputs [tokens, hidden_size] of a window that `whole` or `rest` returned."""
        first = window.start - self._start
        return torch.cat([outputs[row] for _, outputs in self.steps])[first : first + len(window)]

    def pieces(self, window: range) -> tuple[int, ...]:
        """Return how many tokens of a window each step had."""
        found = (min(start + outputs.shape[1], window.stop) - max(start, window.start) for start, outputs in self.steps)
        return tuple(tokens for tokens in found if tokens > 0)

    def watch(self, stop: int) -> WindowWatch:
        """Return a watch over the first `stop` tokens."""
        watch = WindowWatch(stop)
        self._watches.add(watch)
        return watch

    def truncate(self, position: int) -> None:
        """Forget the tokens from `position` on. The pieces before stay as they were computed."""
        self._end_watches(position)
        while self.steps and self._end > position:
            start, outputs = self.steps.pop()
            if start < position:
                self.steps.append((start, outputs[:, : position - start]))
        self._stop = min(self._stop, position)

    def reorder(self, order: Tensor) -> None:
        """Forget everything, because a window is of one row."""
        self.clear()

    def clear(self) -> None:
        """Forget everything, because the server computes all of it anew."""
        self._end_watches(0)
        self.steps.clear()

    @property
    def _start(self) -> int:
        return self.steps[0][0] if self.steps else 0

    @property
    def _end(self) -> int:
        return self.steps[-1][0] + self.steps[-1][1].shape[1] if self.steps else 0

    def _end_watches(self, position: int) -> None:
        for watch in self._watches:
            watch.holds = watch.holds and watch.stop <= position
