"""Measures how far two windows of outputs are apart, and decides which of three servers stands alone. Pure."""

from __future__ import annotations

import math
from enum import Enum, auto
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from potluck.audit.choices import WINDOW_TOKENS


class Opinion(Enum):
    """The verdict on one window of two servers."""

    AGREES = auto()
    DISAGREES = auto()
    UNDECIDABLE = auto()


class Outsider(Enum):
    """The one of three servers that stands alone."""

    AUDITED = auto()
    AUDITOR = auto()
    UNKNOWN = auto()


class Differences(NamedTuple):
    """The differences from which a third server's opinion follows.

    It computes the window twice: in the steps in which the audited server did, and in one prefill as the auditor did.
    So the difference that steps make by themselves is known. In models with experts, prefills repeat the audited
    server's choices, and such a prefill stands for the steps.
    """

    claims: float  # audited server and auditor
    steps: float  # audited server and the third server's steps
    prefills: float  # auditor and the third server's prefill
    honest: float  # the third server's steps and its own prefill


def compare(difference: float, limit: float | None) -> Opinion:
    """Return the verdict on a window whose outputs differ by `difference`."""
    if limit is None or math.isnan(difference):
        return Opinion.UNDECIDABLE
    return Opinion.AGREES if difference <= limit else Opinion.DISAGREES


def settle(found: Differences, limit: float, times: float) -> Outsider:
    """Return who stands alone, after audited server and auditor disagreed.

    Args:
        limit, times: see `limits.Limit`.

    Nobody does unless one of them agrees with the third server and the other differs from both clearly more than honest
    steps differ from an honest prefill. A third server that differs from both, or from itself, decides nothing.
    """
    bar = max(limit, times * found.honest)
    if any(map(math.isnan, found)) or found.claims <= bar:
        return Outsider.UNKNOWN
    agrees_audited, agrees_auditor = found.steps <= bar, found.prefills <= bar
    if agrees_audited == agrees_auditor:
        return Outsider.UNKNOWN
    return Outsider.AUDITOR if agrees_audited else Outsider.AUDITED


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
