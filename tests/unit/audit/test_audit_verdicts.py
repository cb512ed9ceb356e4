"""Tolerances, verdicts and the third opinion."""

from __future__ import annotations

import math

import pytest

from potluck.audit import Differences, Opinion, Outsider, compare, settle, tolerance
from potluck.protocol.records import NumberFormat

LIMIT = 0.01
FLOAT, BRAIN = NumberFormat("float32"), NumberFormat("bfloat16")


def test_wider_formats_have_narrower_tolerances() -> None:
    tolerances = [
        tolerance(FLOAT, FLOAT),
        tolerance(NumberFormat("float16"), NumberFormat("float16")),
        tolerance(BRAIN, BRAIN),
        tolerance(NumberFormat("bfloat16", "int8"), NumberFormat("bfloat16", "int8")),
    ]
    assert None not in tolerances
    assert tolerances == sorted(set(tolerances))  # type: ignore[type-var]


def test_the_coarser_format_of_a_pair_counts() -> None:
    assert tolerance(FLOAT, BRAIN) == tolerance(BRAIN, FLOAT) == tolerance(BRAIN, BRAIN)


def test_quantised_weights_are_exact_in_float32() -> None:
    packed = NumberFormat("float32", "int4")
    assert tolerance(packed, packed) == tolerance(FLOAT, FLOAT)


def test_keys_and_values_in_int8_may_differ_as_much_as_quantised_weights() -> None:
    packed = NumberFormat("float32", cache="int8")
    limits = {tolerance(packed, FLOAT), tolerance(FLOAT, packed), tolerance(packed, packed)}
    assert limits == {tolerance(NumberFormat("bfloat16", "int8"), NumberFormat("bfloat16", "int8"))}


@pytest.mark.parametrize(
    "other",
    [NumberFormat("bfloat16", "int4"), NumberFormat(""), NumberFormat("posit8"), NumberFormat("bfloat16", cache="x")],
)
def test_other_weights_and_unknown_formats_cannot_be_compared(other: NumberFormat) -> None:
    assert tolerance(BRAIN, other) is None
    assert tolerance(other, BRAIN) is None


def test_a_difference_is_compared_with_the_tolerance() -> None:
    assert compare(LIMIT, LIMIT) is Opinion.AGREES
    assert compare(1.01 * LIMIT, LIMIT) is Opinion.DISAGREES
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
        (Differences(claims=0.5, steps=0.5, prefills=0.0, honest=0.2), Outsider.UNKNOWN),  # honest steps differ as much
        (Differences(claims=0.05, steps=0.0, prefills=0.0, honest=0.05), Outsider.UNKNOWN),
        (Differences(claims=math.nan, steps=0.5, prefills=0.0, honest=0.0), Outsider.UNKNOWN),
        (Differences(claims=0.5, steps=math.nan, prefills=0.0, honest=0.0), Outsider.UNKNOWN),
        (Differences(claims=0.5, steps=0.5, prefills=0.0, honest=math.nan), Outsider.UNKNOWN),
        (Differences(claims=0.5, steps=0.5, prefills=0.0, honest=math.inf), Outsider.UNKNOWN),
    ],
)
def test_settle_names_who_stands_alone(found: Differences, alone: Outsider) -> None:
    assert settle(found, LIMIT) is alone
