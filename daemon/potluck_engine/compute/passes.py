"""Keeps what training needs from a forward call until its backward call comes, so that it isn't computed again.

Callers say with a forward that its backward follows, and send the same inputs again with the gradient. Those inputs,
not a name, find the pass: if they differ in a bit, or the pass is gone, the forward is computed again with the same
result. A full store takes no more, because who goes through micro-batches in turns would find nothing if it
dropped the oldest.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor

from potluck.protocol.blocks import PersonId, Span

T = TypeVar("T")

KEEP_S = 60.0  # a step's loss and the other servers' blocks take less


@dataclass(frozen=True, slots=True)
class PassKey:
    """Whose pass it is, over which blocks, and with which adapters."""

    person: PersonId
    span: Span
    adapter: str | None
    private: bytes | None


@dataclass(slots=True, eq=False)
class _Kept(Generic[T]):
    key: PassKey
    hidden: Tensor
    prompts: Tensor | None
    value: T
    num_bytes: int
    until_s: float


class KeptPasses(Generic[T]):
    """Passes by their inputs. Any thread may use it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: list[_Kept[T]] = []
        self.epoch = 0  # passes of an earlier one refer to weights that are gone

    @property
    def num_bytes(self) -> int:
        """Return the bytes of intermediate results that are kept."""
        with self._lock:
            return sum(each.num_bytes for each in self._kept)

    def add(
        self, key: PassKey, hidden: Tensor, prompts: Tensor | None, value: T, *, num_bytes: int, epoch: int
    ) -> None:
        """Keep a pass that began in `epoch`."""
        with self._lock:
            if epoch == self.epoch:
                kept = _Kept(key, hidden, prompts, value, num_bytes, self._clock() + KEEP_S)
                self._kept.append(kept)

    def take(self, key: PassKey, hidden: Tensor, prompts: Tensor | None) -> T | None:
        """Give away the pass with exactly these inputs; None if there is none."""
        with self._lock:
            candidates = [each for each in self._kept if each.key == key]
        for each in candidates:
            if _same(each.hidden, hidden) and _same(each.prompts, prompts):
                with self._lock:
                    if each in self._kept:
                        self._kept.remove(each)
                        return each.value
        return None

    def forget_old(self) -> None:
        """Drop the passes whose backward did not come in time."""
        now = self._clock()
        with self._lock:
            self._kept = [each for each in self._kept if each.until_s > now]

    def forget(self) -> None:
        """Drop all passes, also those that are being computed."""
        with self._lock:
            self._kept.clear()
            self.epoch += 1


def _same(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and torch.equal(one, other)
