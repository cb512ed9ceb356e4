"""What a client learns from honest servers, and whom it does not let choose its limits."""

from __future__ import annotations

import math

import pytest

from potluck.audit import HonestDifferences, widest_limit
from potluck.protocol.blocks import PersonId
from potluck.protocol.records import NumberFormat

FLOAT, BRAIN = NumberFormat("float32"), NumberFormat("bfloat16")
PACKED = NumberFormat("bfloat16", "int8")
KIND = ("0:4", "bfloat16")
PEOPLE = tuple(PersonId(name) for name in ("anne", "ben", "carl", "dora", "eve"))


def learned(*of_people: float) -> HonestDifferences:
    honest = HonestDifferences()
    for person, difference in zip(PEOPLE, of_people, strict=False):
        honest.note(KIND, person, difference)
    return honest


def test_coarser_formats_have_wider_limits() -> None:
    limits = [widest_limit(each) for each in (FLOAT, NumberFormat("float16"), BRAIN, PACKED)]
    assert None not in limits
    assert limits == sorted(set(limits))  # type: ignore[type-var]


def test_quantised_weights_are_exact_in_float32() -> None:
    assert widest_limit(NumberFormat("float32", "int4")) == widest_limit(FLOAT)


def test_experts_make_the_limit_wide_where_rounding_may_choose_others() -> None:
    honest = HonestDifferences(has_experts=True)
    assert honest.limit(KIND, PACKED) == widest_limit(PACKED, has_experts=True) == 0.5
    for person in PEOPLE:
        honest.note(KIND, person, 0.01)
    assert honest.limit(KIND, PACKED) == pytest.approx(0.1)
    assert honest.limit(KIND, BRAIN) == pytest.approx(0.05)
    assert honest.limit(KIND, NumberFormat("float32", cache="int8")) == pytest.approx(0.1)
    assert widest_limit(BRAIN, has_experts=True) == pytest.approx(0.16)
    assert widest_limit(FLOAT, has_experts=True) == widest_limit(FLOAT)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_keys_and_values_in_int8_may_differ_as_much_as_quantised_weights(dtype: str) -> None:
    assert widest_limit(NumberFormat(dtype, cache="int8")) == widest_limit(PACKED)


@pytest.mark.parametrize(
    "form",
    [NumberFormat("bfloat16", cache="x"), NumberFormat(""), NumberFormat("posit8"), NumberFormat("posit8", "int8")],
)
def test_an_unknown_format_has_no_limit_whatever_was_learned(form: NumberFormat) -> None:
    assert widest_limit(form) is None
    assert learned(0.01, 0.01, 0.01).limit(KIND, form) is None


def test_packing_widens_the_limits_by_what_it_may_add() -> None:
    assert widest_limit(FLOAT, packs=True) == pytest.approx(math.hypot(2e-3, 0.03))
    assert widest_limit(PACKED, has_experts=True, packs=True) == 0.5
    assert learned(0.01, 0.01, 0.01).limit(KIND, BRAIN, packs=True) == 0.03
    assert learned(1.0, 1.0, 1.0).limit(KIND, BRAIN, packs=True) == widest_limit(BRAIN, packs=True)


def test_three_people_make_the_limit_narrower_and_two_do_not() -> None:
    assert learned(0.01, 0.01).limit(KIND, BRAIN) == widest_limit(BRAIN)
    assert learned(0.01, 0.01, 0.01).limit(KIND, BRAIN) == pytest.approx(0.02)


def test_one_person_cannot_choose_the_limit() -> None:
    assert learned(0.01, 0.01, 0.0).limit(KIND, BRAIN) == pytest.approx(0.02)
    assert learned(0.01, 0.01, 5.0).limit(KIND, BRAIN) == pytest.approx(0.02)
    many = learned(0.01, 0.01, 0.01)
    for _ in range(50):
        many.note(KIND, PEOPLE[2], 5.0)
    assert many.limit(KIND, BRAIN) == pytest.approx(0.02)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_difference_that_is_no_number_counts_as_the_largest(bad: float) -> None:
    assert learned(0.01, 0.01, bad).limit(KIND, BRAIN) == pytest.approx(0.02)
    assert learned(0.01, bad, bad).limit(KIND, BRAIN) == widest_limit(BRAIN)


def test_limits_stay_between_the_narrowest_and_the_widest() -> None:
    assert learned(0.0, 0.0, 0.0).limit(KIND, BRAIN) == 8e-3
    assert learned(0.0, 0.0, 0.0).limit(KIND, FLOAT) == 2e-3
    assert learned(1.0, 1.0, 1.0).limit(KIND, BRAIN) == widest_limit(BRAIN)


def test_each_kind_of_window_has_its_own_limit() -> None:
    assert learned(0.01, 0.01, 0.01).limit(("4:8", "bfloat16"), BRAIN) == widest_limit(BRAIN)


def test_a_person_who_computed_wrongly_is_forgotten() -> None:
    honest = learned(0.01, 0.01, 0.01)
    honest.forget(PEOPLE[1])
    assert honest.limit(KIND, BRAIN) == widest_limit(BRAIN)


def test_three_windows_of_each_of_five_people_are_enough() -> None:
    honest = learned(0.01, 0.01, 0.01, 0.01)
    assert honest.wants(KIND, PEOPLE[0])
    honest.note(KIND, PEOPLE[0], 0.01)
    honest.note(KIND, PEOPLE[0], 0.01)
    assert not honest.wants(KIND, PEOPLE[0])
    assert honest.wants(KIND, PEOPLE[4])
    honest.note(KIND, PEOPLE[4], 0.01)
    assert not honest.wants(KIND, PersonId("fay"))
    assert honest.wants(("4:8", "bfloat16"), PersonId("fay"))
