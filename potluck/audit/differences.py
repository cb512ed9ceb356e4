"""Says how far two windows of outputs are apart. Pure: numbers only."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from potluck.audit.choices import WINDOW_TOKENS

_DROPPED_SHARE: Final = 16  # one token in so many, those that differ most: rounding may tip a single one

Window = NDArray[np.float32]  # [tokens, hidden_size]


def difference(one: Window, other: Window) -> float:
    """Return how far two windows are apart, relative to the longer outputs: 0 is equal, zeros are 1 from others.

    It is the root mean square of tokens' relative errors, without the sixteenth of the tokens that differs most.
    Infinite if too many tokens of one are not finite, NaN if those of both are.

    Raises:
        ValueError: the windows have different shapes, no tokens, or too many.
    """
    if one.shape != other.shape or one.ndim != 2 or not 0 < len(one) <= WINDOW_TOKENS:
        raise ValueError(
            f"a window has 1 to {WINDOW_TOKENS} tokens, and both the same shape, not {one.shape}, {other.shape}"
        )
    first, second = one.astype(np.float64), other.astype(np.float64)
    dropped = len(one) // _DROPPED_SHARE
    is_broken, is_broken_too = (~np.isfinite(each).all(axis=1) for each in (first, second))
    if np.count_nonzero(is_broken & is_broken_too) > dropped:
        return math.nan
    with np.errstate(invalid="ignore"):
        longer = np.maximum(np.square(first).sum(axis=1), np.square(second).sum(axis=1))
        squares = np.square(first - second).sum(axis=1) / np.where(longer > 0, longer, 1.0)
    kept = np.sort(np.where(is_broken | is_broken_too, np.inf, squares))[: len(one) - dropped]
    return math.sqrt(kept.mean())
