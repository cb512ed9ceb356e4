"""Comparisons of windows and the third opinion."""

import math

import pytest

from potluck.audit.verdicts import Differences, Opinion, Outsider, compare, settle

LIMIT = 0.01


def test_a_difference_is_compared_with_the_tolerance() -> None:
    assert compare(LIMIT, LIMIT) is Opinion.AGREES
    assert compare(0.0101, LIMIT) is Opinion.DISAGREES
    assert compare(math.inf, LIMIT) is Opinion.DISAGREES
    assert compare(math.nan, LIMIT) is Opinion.UNDECIDABLE
    assert compare(0.0, None) is Opinion.UNDECIDABLE


@pytest.mark.parametrize(
    ("found", "alone"),
    [
        (Differences(claims=0.5, steps=0.5, prefills=0.0, honest=0.001), Outsider.AUDITED),
        (Differences(claims=0.5, steps=0.0, prefills=0.5, honest=0.001), Outsider.AUDITOR),
        (Differences(claims=math.inf, steps=math.inf, prefills=0.0, honest=0.0), Outsider.AUDITED),
        (Differences(claims=0.5, steps=0.5, prefills=0.5, honest=0.001), Outsider.UNKNOWN),  # all three differ
        (Differences(claims=0.5, steps=0.0, prefills=0.0, honest=0.001), Outsider.UNKNOWN),  # cannot be
        (Differences(claims=0.5, steps=0.5, prefills=0.0, honest=0.3), Outsider.UNKNOWN),  # honest steps differ as much
        (Differences(claims=0.05, steps=0.0, prefills=0.0, honest=0.05), Outsider.UNKNOWN),
        (Differences(claims=math.nan, steps=0.5, prefills=0.0, honest=0.0), Outsider.UNKNOWN),
        (Differences(claims=0.5, steps=math.nan, prefills=0.0, honest=0.0), Outsider.UNKNOWN),
        (Differences(claims=0.5, steps=0.5, prefills=0.0, honest=math.nan), Outsider.UNKNOWN),
        (Differences(claims=0.5, steps=0.5, prefills=0.0, honest=math.inf), Outsider.UNKNOWN),
    ],
)
def test_settle_names_who_stands_alone(found: Differences, alone: Outsider) -> None:
    assert settle(found, LIMIT, 2.0) is alone
