"""Comparisons of windows and the third opinion."""

import math

import pytest

from potluck.audit import Apart, Differences, Opinion, Outsider, compare, settle

LIMIT = Apart(0.01, 0.002)


def differences(claims: float, steps: float, prefills: float, honest: float) -> Differences:
    """Return what a third opinion rests on, if all tokens differ alike."""
    return Differences(*(Apart(each, each / 10) for each in (claims, steps, prefills, honest)))


def test_a_difference_is_compared_with_the_tolerance() -> None:
    assert compare(LIMIT, LIMIT) is Opinion.AGREES
    assert compare(Apart(0.0101, 0.0), LIMIT) is Opinion.DISAGREES
    assert compare(Apart(0.005, 0.0021), LIMIT) is Opinion.DISAGREES
    assert compare(Apart(math.inf, 0.0), LIMIT) is Opinion.DISAGREES
    assert compare(Apart(math.nan, math.nan), LIMIT) is Opinion.UNDECIDABLE
    assert compare(Apart(0.0, 0.0), None) is Opinion.UNDECIDABLE


@pytest.mark.parametrize(
    ("found", "alone"),
    [
        (differences(claims=0.5, steps=0.5, prefills=0.0, honest=0.001), Outsider.AUDITED),
        (differences(claims=0.5, steps=0.0, prefills=0.5, honest=0.001), Outsider.AUDITOR),
        (differences(claims=math.inf, steps=math.inf, prefills=0.0, honest=0.0), Outsider.AUDITED),
        (differences(claims=0.5, steps=0.5, prefills=0.5, honest=0.001), Outsider.UNKNOWN),  # all three differ
        (differences(claims=0.5, steps=0.0, prefills=0.0, honest=0.001), Outsider.UNKNOWN),  # cannot be
        (differences(claims=0.5, steps=0.5, prefills=0.0, honest=0.3), Outsider.UNKNOWN),  # honest steps differ as much
        (differences(claims=0.05, steps=0.0, prefills=0.0, honest=0.05), Outsider.UNKNOWN),
        (differences(claims=math.nan, steps=0.5, prefills=0.0, honest=0.0), Outsider.UNKNOWN),
        (differences(claims=0.5, steps=math.nan, prefills=0.0, honest=0.0), Outsider.UNKNOWN),
        (differences(claims=0.5, steps=0.5, prefills=0.0, honest=math.nan), Outsider.UNKNOWN),
        (differences(claims=0.5, steps=0.5, prefills=0.0, honest=math.inf), Outsider.UNKNOWN),
    ],
)
def test_settle_names_who_stands_alone(found: Differences, alone: Outsider) -> None:
    assert settle(found, LIMIT) is alone


def test_settle_names_who_stands_alone_by_the_tokens_that_differ_least() -> None:
    wrong, right, rounding = Apart(0.009, 0.005), Apart(0.0, 0.0), Apart(0.008, 0.001)
    assert settle(Differences(wrong, steps=wrong, prefills=right, honest=rounding), LIMIT) is Outsider.AUDITED
    assert settle(Differences(wrong, steps=right, prefills=wrong, honest=rounding), LIMIT) is Outsider.AUDITOR
    assert settle(Differences(wrong, steps=wrong, prefills=right, honest=wrong), LIMIT) is Outsider.UNKNOWN
