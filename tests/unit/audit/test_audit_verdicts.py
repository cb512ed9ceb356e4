"""Differences between windows, and which of three servers stands alone."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from potluck.audit.choices import WINDOW_TOKENS
from potluck.audit.verdicts import Differences, Opinion, Outsider, compare, difference, settle

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


HIDDEN = 256
Window = NDArray[np.float32]


def window(seed: int = 0) -> Window:
    return np.random.default_rng(seed).standard_normal((WINDOW_TOKENS, HIDDEN)).astype(np.float32)


@pytest.mark.parametrize("size", [0.001, 0.01, 0.1])
def test_difference_is_the_relative_error(size: float) -> None:
    assert difference(window(), window() + size * window(1)) == pytest.approx(size, rel=0.05)


def test_an_error_in_few_large_channels_is_seen_as_well() -> None:
    wrong = window()
    wrong[:, 0] += 3.0
    assert difference(window(), wrong) == pytest.approx(3 / math.sqrt(HIDDEN + 9), rel=0.1)


def test_scaled_outputs_zeros_and_another_window_differ() -> None:
    assert difference(window(), 2 * window()) == pytest.approx(0.5)
    assert difference(window(), 0 * window()) == 1.0
    assert difference(window(), window(7)) > 1.0
    assert difference(window(), np.roll(window(), 1, axis=0)) > 1.0


def test_a_sixteenth_of_the_tokens_does_not_count_and_more_do() -> None:
    few, many = window(), window()
    few[:2] *= -1
    many[:3] *= -1
    assert difference(window(), few) == 0.0
    assert difference(window(), many) > 0.1


@pytest.mark.parametrize("tokens", [1, 3, 8, 16, 31])
def test_short_windows_are_compared_in_the_same_way(tokens: int) -> None:
    one, other = window()[:tokens], (window() + 0.01 * window(1))[:tokens]
    assert difference(one, one) == 0.0
    assert difference(one, other) == pytest.approx(0.01, rel=0.2)
    few, many = other.copy(), other.copy()
    few[: tokens // 16] *= -1
    many[: tokens // 16 + 1] *= -1
    assert difference(one, few) == pytest.approx(0.01, rel=0.2)
    assert difference(one, many) > 0.1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_no_window_agrees_with_numbers_that_are_not_finite(bad: float) -> None:
    broken = window()
    broken[:, 3] = bad
    assert difference(broken, window()) == difference(window(), broken) == math.inf
    assert math.isnan(difference(broken, broken))


def test_numbers_near_the_end_of_float32_are_compared() -> None:
    huge = window() * np.float32(3e37)
    assert difference(huge, huge) == 0.0
    assert difference(huge, -huge) > 1.0


@pytest.mark.parametrize(
    ("one", "other"), [((32, 4), (32, 5)), ((31, 4), (32, 4)), ((33, 4), (33, 4)), ((0, 4), (0, 4)), ((32,), (32,))]
)
def test_windows_of_another_shape_without_tokens_or_with_too_many_are_refused(
    one: tuple[int, ...], other: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match="window"):
        difference(np.zeros(one, np.float32), np.zeros(other, np.float32))
