"""What a client learns from honest servers, and whom it does not let choose its limits."""

import math

import pytest

from potluck.audit.limits import Honest, HonestDifferences
from potluck.protocol.blocks import PersonId
from potluck.protocol.records import NumberFormat

FLOAT, BRAIN = NumberFormat("float32"), NumberFormat("bfloat16")
PACKED = NumberFormat("bfloat16", "int8")
KIND = ("0:4", "bfloat16")
PEOPLE = tuple(PersonId(name) for name in ("anne", "ben", "carl", "dora", "eve"))


def learned(*of_people: float, gap: float = 0.0) -> HonestDifferences:
    honest = HonestDifferences()
    for person, difference in zip(PEOPLE, of_people, strict=False):
        honest.record(KIND, person, Honest(difference, gap))
    return honest


def limit(honest: HonestDifferences, form: NumberFormat, *, kind: object = KIND, packs: bool = False) -> float | None:
    """Return the limit of differences."""
    found = honest.limit(kind, form, packs=packs)
    return None if found is None else found.difference


def widest(form: NumberFormat, *, packs: bool = False) -> float | None:
    """Return the limit before anything was learned."""
    return limit(HonestDifferences(), form, packs=packs)


def test_coarser_formats_have_wider_limits_and_quantised_weights_are_exact_in_float32() -> None:
    limits = [widest(each) for each in (FLOAT, NumberFormat("float16"), BRAIN, PACKED)]
    assert None not in limits
    assert limits == sorted(set(limits))  # type: ignore[type-var]
    assert widest(NumberFormat("float32", "int4")) == widest(FLOAT)
    assert widest(NumberFormat("bfloat16", cache="int8")) == widest(PACKED)


def test_the_margin_of_choices_is_learned_like_the_limit() -> None:
    def margin(*gaps: float) -> float:
        honest = HonestDifferences()
        for person, gap in zip(PEOPLE, gaps, strict=False):
            honest.record(KIND, person, Honest(0.01, gap))
        found = honest.limit(KIND, BRAIN)
        assert found is not None
        return found.gap

    first = margin()
    assert margin(0.03, 0.03) == first
    assert margin(0.03, 0.03, 9.0) == pytest.approx(0.18)
    assert margin(0.0, 0.0, 0.0) > 0.0
    assert margin(9.0, 9.0, 9.0) == margin(math.nan, math.nan, 0.0) == first


@pytest.mark.parametrize(
    "form",
    [NumberFormat("bfloat16", cache="x"), NumberFormat(""), NumberFormat("posit8"), NumberFormat("posit8", "int8")],
)
def test_an_unknown_format_has_no_limit_whatever_was_learned(form: NumberFormat) -> None:
    assert widest(form) is None
    assert limit(learned(0.01, 0.01, 0.01), form) is None


def test_packing_widens_the_limits_by_what_it_may_add() -> None:
    assert widest(FLOAT, packs=True) == pytest.approx(math.hypot(2e-3, 0.03))
    assert widest(PACKED, packs=True) == pytest.approx(math.hypot(0.16, 0.03))
    assert limit(learned(0.01, 0.01, 0.01), BRAIN, packs=True) == 0.03
    assert limit(learned(1.0, 1.0, 1.0), BRAIN, packs=True) == widest(BRAIN, packs=True)


def test_three_people_make_the_limit_of_a_kind_narrower_within_bounds_and_two_do_not() -> None:
    assert limit(learned(0.01, 0.01), BRAIN) == widest(BRAIN)
    assert limit(learned(0.01, 0.01, 0.01), BRAIN) == pytest.approx(0.014)
    assert limit(learned(0.0, 0.0, 0.0), BRAIN) == 8e-3
    assert limit(learned(0.0, 0.0, 0.0), FLOAT) == 2e-3
    assert limit(learned(1.0, 1.0, 1.0), BRAIN) == widest(BRAIN)
    assert limit(learned(0.01, 0.01, 0.01), BRAIN, kind=("4:8", "bfloat16")) == widest(BRAIN)


def test_one_person_cannot_choose_the_limit() -> None:
    assert limit(learned(0.01, 0.01, 0.0), BRAIN) == pytest.approx(0.014)
    assert limit(learned(0.01, 0.01, 5.0), BRAIN) == pytest.approx(0.014)
    many = learned(0.01, 0.01, 0.01)
    for _ in range(50):
        many.record(KIND, PEOPLE[2], Honest(5.0))
    assert limit(many, BRAIN) == pytest.approx(0.014)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_difference_that_is_no_number_counts_as_the_largest(bad: float) -> None:
    assert limit(learned(0.01, 0.01, bad), BRAIN) == pytest.approx(0.014)
    assert limit(learned(0.01, bad, bad), BRAIN) == widest(BRAIN)


def test_a_person_who_computed_wrongly_is_forgotten() -> None:
    honest = learned(0.01, 0.01, 0.01)
    honest.forget(PEOPLE[1])
    assert limit(honest, BRAIN) == widest(BRAIN)


def test_three_windows_of_each_of_five_people_are_enough() -> None:
    honest = learned(0.01, 0.01, 0.01, 0.01)
    assert honest.wants(KIND, PEOPLE[0])
    honest.record(KIND, PEOPLE[0], Honest(0.01))
    honest.record(KIND, PEOPLE[0], Honest(0.01))
    assert not honest.wants(KIND, PEOPLE[0])
    assert honest.wants(KIND, PEOPLE[4])
    honest.record(KIND, PEOPLE[4], Honest(0.01))
    assert not honest.wants(KIND, PersonId("fay"))
    assert honest.wants(("4:8", "bfloat16"), PersonId("fay"))


def test_short_windows_may_differ_more_and_coarse_formats_vary_more() -> None:
    honest = learned(0.01, 0.01, 0.01)
    found = {tokens: honest.limit(KIND, BRAIN, tokens=tokens) for tokens in (32, 8, 1)}
    limits = [each.difference for each in found.values() if each is not None]
    assert limits == pytest.approx([0.014, 0.014 * 11 / 8, 0.014 * 4])
    assert len({each.gap for each in found.values() if each is not None}) == 1
    times = [honest.limit(KIND, form) for form in (BRAIN, PACKED, NumberFormat("bfloat16", "int4"))]
    assert [each.times for each in times if each is not None] == [1.4, 1.4, 2.5]
