"""Verdicts and the third opinion."""

import math

import pytest

from potluck.audit import Apart, Differences, Opinion, Outsider, compare, settle
from potluck.audit.accusations import Finding
from potluck.audit.verdicts import judge_window

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


@pytest.mark.parametrize(
    ("claimed", "honest", "finding"),
    [
        (Apart(0.6, 0.001), Apart(0.1, 0.001), Finding.WRONG),
        (Apart(0.3, 0.03), Apart(0.1, 0.001), Finding.WRONG),
        (Apart(0.3, 0.001), Apart(0.1, 0.001), Finding.RIGHT),
        (Apart(0.6, 0.001), Apart(0.4, 0.001), Finding.RIGHT),  # the juror's own steps are as far off
        (Apart(math.nan, math.nan), Apart(0.1, 0.001), None),
    ],
)
def test_jurors_find_wrong_results_by_either_measure(claimed: Apart, honest: Apart, finding: Finding | None) -> None:
    found = Differences(claims=claimed, steps=claimed, prefills=claimed, honest=honest)
    assert judge_window(found, 0.5, Apart(0.5, 0.02)) is finding


def test_what_lies_between_right_and_wrong_is_not_decided() -> None:
    off = Apart(0.05, 0.05)
    found = Differences(claims=off, steps=off, prefills=off, honest=Apart(0.001, 0.001))
    assert judge_window(found, 8e-3, Apart(0.08, math.inf)) is None
