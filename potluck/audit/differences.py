"""Says how far two windows of outputs are apart. Pure: numbers only."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from potluck.audit.choices import WINDOW_TOKENS

_DROPPED_TOKENS: Final = 8  # the most different ones: rounding makes routers choose other experts for single tokens

_LEAST_TOKENS: Final = 4  # that differ least; with fewer, single lucky tokens of a liar would count more

Window = NDArray[np.float32]  # [WINDOW_TOKENS, hidden_size]


class Apart(NamedTuple):
    """How far two windows are apart, or may be: root mean squares of tokens' relative errors.

    Attributes:
        most: of all tokens but the quarter that differs most.
        least: of the few that differ least. Noise and wrong weights change these, too, and another expert rarely does.
    """

    most: float
    least: float


def difference(one: Window, other: Window) -> Apart:
    """Return how far two windows are apart, relative to the longer outputs: 0 is equal, zeros are 1 from others.

    Infinite if too many tokens of one are not finite, NaN if those of both are.

    Raises:
        ValueError: the windows have different shapes, or another number of tokens.
    """
    if one.shape != other.shape or one.ndim != 2 or len(one) != WINDOW_TOKENS:
        raise ValueError(
            f"a window has {WINDOW_TOKENS} tokens, and both the same shape, not {one.shape}, {other.shape}"
        )
    first, second = one.astype(np.float64), other.astype(np.float64)
    is_broken, is_broken_too = (~np.isfinite(each).all(axis=1) for each in (first, second))
    if np.count_nonzero(is_broken & is_broken_too) > _DROPPED_TOKENS:
        return Apart(math.nan, math.nan)
    with np.errstate(invalid="ignore"):
        longer = np.maximum(np.square(first).sum(axis=1), np.square(second).sum(axis=1))
        squares = np.square(first - second).sum(axis=1) / np.where(longer > 0, longer, 1.0)
    kept = np.sort(np.where(is_broken | is_broken_too, np.inf, squares))[: WINDOW_TOKENS - _DROPPED_TOKENS]
    return Apart(math.sqrt(kept.mean()), math.sqrt(kept[:_LEAST_TOKENS].mean()))
