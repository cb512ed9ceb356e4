"""Tests who decides an accusation and what it costs."""

import pytest

from potluck.audit.accusations import (
    HEARINGS_A_DAY,
    LAPSES_S,
    MAX_OPEN,
    Accusation,
    Finding,
    Opinion,
    Verdict,
    decide,
    may_accuse,
    may_hear,
    may_judge,
    order_jurors,
    quorum,
)
from potluck.audit.consequences import FIRST_S, LONGEST_S, Case, penalty_s, standing
from potluck.audit.court import judge_all
from potluck.audit.track_records import has_record, payable_tokens
from potluck.protocol.blocks import PersonId

ANN, BEN, CEM, DAN, EVA = (PersonId(name) for name in ("ann", "ben", "cem", "dan", "eva"))
DAY_S = 86_400.0


def accusation(number: int = 1, at_s: float = 1000.0, server: bytes = b"server") -> Accusation:
    return Accusation(bytes([number]), ANN, BEN, server, at_s)


def opinions(about: Accusation, **found: Finding) -> list[Opinion]:
    return [Opinion(about.id, PersonId(person), finding) for person, finding in found.items()]


def proven(about: Accusation) -> Case:
    said = tuple(opinions(about, cem=Finding.WRONG, dan=Finding.WRONG))
    return Case(about, said, decide(about, said, 2, about.at_s))


def refuted(about: Accusation) -> Case:
    said = tuple(opinions(about, cem=Finding.RIGHT, dan=Finding.RIGHT, eva=Finding.WRONG))
    return Case(about, said, decide(about, said, 3, about.at_s))


@pytest.mark.parametrize(
    ("wrong", "right", "members", "verdict"),
    [
        (("cem",), (), 2, Verdict.OPEN),
        (("cem", "dan"), (), 2, Verdict.PROVEN),
        ((), ("cem", "dan"), 2, Verdict.REFUTED),
        (("ann", "ben", "cem", "cem"), (), 2, Verdict.OPEN),  # accuser and accused have no voice, nobody has two
        (("cem", "dan"), ("dan",), 2, Verdict.OPEN),
    ],
)
def test_two_further_people_decide_an_accusation(
    wrong: tuple[str, ...], right: tuple[str, ...], members: int, verdict: Verdict
) -> None:
    case = accusation()
    said = [Opinion(case.id, PersonId(name), Finding.WRONG) for name in wrong]
    said += [Opinion(case.id, PersonId(name), Finding.RIGHT) for name in right]
    assert decide(case, said, members, 1000.0) is verdict


def test_a_ring_smaller_than_a_third_excludes_nobody() -> None:
    case = accusation()
    ring = [Opinion(case.id, PersonId(f"ring {number}"), Finding.WRONG) for number in range(9)]
    assert quorum(30) == 10
    assert decide(case, ring, 30, 1000.0) is Verdict.OPEN
    honest = [Opinion(case.id, PersonId(f"honest {number}"), Finding.RIGHT) for number in range(10)]
    assert decide(case, [*ring, *honest], 30, 1000.0) is Verdict.REFUTED


def test_what_nobody_decides_lapses() -> None:
    case = accusation()
    assert decide(case, [], 5, 1000.0 + LAPSES_S + 1) is Verdict.LAPSED
    assert standing(BEN, [Case(case, (), Verdict.LAPSED)]).excluded_until_s == 0


def test_voices_are_earned_and_servers_hear_a_few_a_day() -> None:
    assert may_accuse(ANN, BEN, 0, is_trusted=True)
    assert not may_accuse(ANN, BEN, MAX_OPEN, is_trusted=True)
    assert not may_accuse(ANN, BEN, 0, is_trusted=False)
    assert may_judge(CEM, accusation(), serves=True, is_trusted=True)
    assert not may_judge(BEN, accusation(), serves=True, is_trusted=True)
    assert not may_judge(CEM, accusation(), serves=False, is_trusted=True)
    assert may_hear([0.0] * (HEARINGS_A_DAY - 1), 1.0)
    assert not may_hear([0.0] * HEARINGS_A_DAY, 1.0)
    assert may_hear([0.0] * HEARINGS_A_DAY, DAY_S + 1)


def test_the_order_of_jurors_depends_on_the_accusation() -> None:
    people = [PersonId(str(number)) for number in range(20)]
    assert order_jurors(b"one", people) != order_jurors(b"two", people)
    assert order_jurors(b"one", people) == order_jurors(b"one", reversed(people))


@pytest.mark.parametrize(("earlier", "days"), [(0, 1), (1, 4), (3, 64), (10_000, 365)])
def test_penalties_grow(earlier: int, days: int) -> None:
    assert penalty_s(earlier) == days * DAY_S <= LONGEST_S


def test_a_first_proof_costs_the_server_a_day_and_its_credit() -> None:
    found = standing(BEN, [proven(accusation())])
    assert found.is_excluded(b"server", 1000.0 + FIRST_S - 1)
    assert not found.is_excluded(b"server", 1000.0 + FIRST_S)
    assert not found.is_excluded(b"another of ben's", 1001.0)
    assert found.credit_from_s == 1000.0 + FIRST_S  # what it earned while it was judged is gone, too
    assert not found.is_silenced(1001.0)


def test_a_second_proof_costs_all_servers_of_that_person() -> None:
    cases = [proven(accusation(1, 1000.0)), proven(accusation(2, 1000.0 + 2 * DAY_S, b"another"))]
    found = standing(BEN, cases)
    assert found.is_excluded(b"a third", 1000.0 + 6 * DAY_S - 1)
    assert not found.is_excluded(b"a third", 1000.0 + 6 * DAY_S)


def test_several_proofs_of_one_fault_are_one_offence() -> None:
    cases = [proven(accusation(number, 1000.0 + number)) for number in range(1, 6)]
    found = standing(BEN, cases)
    assert found.excluded_until_s == 0
    assert found.is_excluded(b"server", 1004.0 + FIRST_S)


def test_a_refuted_accusation_costs_the_accuser() -> None:
    cases = [refuted(accusation())]
    assert standing(ANN, cases).is_silenced(1000.0 + FIRST_S - 1)
    assert standing(ANN, cases).unpaid_until_s == 1000.0 + FIRST_S
    assert standing(EVA, cases).is_silenced(1001.0)
    assert standing(EVA, cases).unpaid_until_s == 0
    assert standing(BEN, cases) == standing(CEM, cases) == standing(PersonId("nobody"), cases)


@pytest.mark.parametrize(
    ("false", "seconds", "others"), [(1, 0.0, [Verdict.PROVEN]), (3, 0.0, [Verdict.PROVEN]), (1, 1.0, [])]
)
def test_a_refuted_accusation_silences_its_accuser_later(false: int, seconds: float, others: list[Verdict]) -> None:
    wrong, right = accusation(false), accusation(2, 1000.0 + seconds)
    said = [
        *opinions(wrong, cem=Finding.RIGHT, dan=Finding.RIGHT),
        *opinions(right, cem=Finding.WRONG, dan=Finding.WRONG),
    ]
    judgement = judge_all([wrong, right], said, lambda about: [CEM, DAN], 1000.0 + seconds)
    assert [case.verdict for case in judgement.cases if case.accusation is right] == others
    assert judgement.of(ANN).is_silenced(1001.0)
    assert judgement.of(BEN).is_excluded(b"server", 1001.0) == bool(others)


def test_ten_clean_audits_make_a_record_and_only_windows_that_could_be_audited_are_paid() -> None:
    assert [has_record(audits) for audits in (9, 10)] == [False, True]
    assert payable_tokens(100, 64, is_over=False) == 64
    assert payable_tokens(100, 96, is_over=True) == 100
    assert payable_tokens(100, 0, is_over=True) == 0
