"""Decides from differences of windows whether servers agree, and which of three stands alone."""

from __future__ import annotations

import math
from enum import Enum, auto
from typing import Final, NamedTuple

from potluck.audit.differences import Apart

_MARGIN: Final = 2.0  # how much further off than the honest servers somebody must be


class Opinion(Enum):
    AGREES = auto()
    DISAGREES = auto()
    UNDECIDABLE = auto()


class Outsider(Enum):
    """Names the one of three servers that stands alone."""

    AUDITED = auto()
    AUDITOR = auto()
    UNKNOWN = auto()


class Differences(NamedTuple):
    """What a third server's opinion rests on.

    It computes the window twice: in the steps in which the audited server did, and in one prefill as the auditor did.
    So the difference that steps make by themselves is known.
    """

    claims: Apart  # between the audited server and the auditor
    steps: Apart  # between the audited server and the third one's steps
    prefills: Apart  # between the auditor and the third one's prefill
    honest: Apart  # between the third one's steps and its prefill


def compare(difference: Apart, limit: Apart | None) -> Opinion:
    """Return the verdict on a window whose outputs differ by `difference`."""
    if limit is None or math.isnan(difference.most):
        return Opinion.UNDECIDABLE
    agrees = difference.most <= limit.most and difference.least <= limit.least
    return Opinion.AGREES if agrees else Opinion.DISAGREES


def settle(found: Differences, limit: Apart) -> Outsider:
    """Return who stands alone, after audited server and auditor disagreed.

    Nobody does unless one of them agrees with the third server and the other differs from both clearly more than honest
    steps differ from an honest prefill. A third server that differs from both, or from itself, decides nothing. Both
    ways of measuring may tell.
    """
    by_measure = (_settle(*of_one) for of_one in zip(*found, limit, strict=True))
    return next((each for each in by_measure if each is not Outsider.UNKNOWN), Outsider.UNKNOWN)


def _settle(claims: float, steps: float, prefills: float, honest: float, limit: float) -> Outsider:
    bar = max(limit, _MARGIN * honest)
    if any(map(math.isnan, (claims, steps, prefills, honest))) or claims <= bar:
        return Outsider.UNKNOWN
    agrees_audited, agrees_auditor = steps <= bar, prefills <= bar
    if agrees_audited == agrees_auditor:
        return Outsider.UNKNOWN
    return Outsider.AUDITOR if agrees_audited else Outsider.AUDITED
