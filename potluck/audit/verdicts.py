"""Decides from differences of windows whether servers agree, and which of three stands alone."""

from __future__ import annotations

import math
from enum import Enum, auto
from typing import NamedTuple


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
    So the difference that steps make by themselves is known. In models with experts, prefills repeat the audited
    server's choices, and such a prefill stands for the steps.
    """

    claims: float  # between the audited server and the auditor
    steps: float  # between the audited server and the third one's steps
    prefills: float  # between the auditor and the third one's prefill
    honest: float  # between the third one's steps and its prefill


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
