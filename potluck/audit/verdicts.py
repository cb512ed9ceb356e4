"""Decides from differences of windows whether servers agree, and which of three stands alone."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from enum import Enum, auto
from typing import Final

from potluck.protocol.records import CACHE_QUANTIZATIONS, NumberFormat

_TOLERANCES: Final = {"float32": 2e-3, "float16": 2e-2, "bfloat16": 8e-2}
"""Of one prefill and the decode steps that it repeats, per dtype of the computation: twice what most of 29 families
differ by in six blocks (1e-5, 5e-3, 4e-2), and in float32 what rounding the fingerprint adds."""

_QUANTIZED_TOLERANCE: Final = 0.16
"""Of quantised weights below float32, where few tokens and many go through different kernels, and of keys and values in
int8, which a stateless call computes anew: 13 of 14 families differ by up to 0.06 in six blocks, gpt-oss by 0.15."""

_MARGIN: Final = 3.0  # how much further off than the honest servers somebody must be


class Opinion(Enum):
    AGREES = auto()
    DISAGREES = auto()
    UNDECIDABLE = auto()


class Outsider(Enum):
    """Names the one of three servers that stands alone."""

    AUDITED = auto()
    AUDITOR = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Differences:
    """What a third server's opinion rests on.

    It computes the window twice: in the steps in which the audited server did, and in one prefill as the auditor did.
    So the difference that steps make by themselves is known.
    """

    claims: float  # between the audited server and the auditor
    steps: float  # between the audited server and the third one's steps
    prefills: float  # between the auditor and the third one's prefill
    honest: float  # between the third one's steps and its prefill


def tolerance(one: NumberFormat, other: NumberFormat) -> float | None:
    """Return the largest difference of honest servers with these number formats; None: they cannot be compared."""
    if one.quantization != other.quantization or not {one.cache, other.cache} <= set(CACHE_QUANTIZATIONS):
        return None
    widths = [_TOLERANCES.get(each.dtype) for each in (one, other)]
    if widths[0] is None or widths[1] is None:
        return None
    is_rounded = one.quantization != "none" and {one.dtype, other.dtype} != {"float32"}
    if is_rounded or "int8" in (one.cache, other.cache):
        return _QUANTIZED_TOLERANCE
    return max(widths[0], widths[1])


def compare(difference: float, limit: float | None) -> Opinion:
    """Return the verdict on a window whose outputs differ by `difference`."""
    if limit is None or math.isnan(difference):
        return Opinion.UNDECIDABLE
    return Opinion.AGREES if difference <= limit else Opinion.DISAGREES


def settle(found: Differences, limit: float) -> Outsider:
    """Return who stands alone, after audited server and auditor disagreed.

    Nobody does unless one of them agrees with the third server and the other differs from both clearly more than honest
    steps differ from an honest prefill. A third server that differs from both, or from itself, accuses nobody.
    """
    bar = max(limit, _MARGIN * found.honest)
    if any(math.isnan(each) for each in astuple(found)) or found.claims <= bar:
        return Outsider.UNKNOWN
    agrees_audited, agrees_auditor = found.steps <= bar, found.prefills <= bar
    if agrees_audited == agrees_auditor:
        return Outsider.UNKNOWN
    return Outsider.AUDITOR if agrees_audited else Outsider.AUDITED
