"""Works out from all accusations and findings that a node knows who is excluded, and who is not heard any more.

Accusations are taken in the order in which they were made, because a decided one may silence people in later ones.
Times are whole seconds, so accusations of one second don't silence anybody in each other.
Pure: no clock, no network. Who serves what is asked of the caller.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from potluck.audit.accusations import Accusation, Opinion, Verdict, decide, may_accuse, may_judge
from potluck.audit.consequences import GOOD_STANDING, Case, Standing, standing
from potluck.protocol.blocks import PersonId


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a node knows of accusations: cases in the order in which they were made, and people's standings."""

    cases: tuple[Case, ...] = ()
    standings: Mapping[PersonId, Standing] = field(default_factory=dict)

    def of(self, person: PersonId) -> Standing:
        """Return the standing of a person."""
        return self.standings.get(person, GOOD_STANDING)


def judge_all(
    accusations: Collection[Accusation],
    opinions: Iterable[Opinion],
    jurors_of: Callable[[Accusation], Collection[PersonId]],
    now_s: float,
    *,
    is_on_probation: Callable[[PersonId], bool] = lambda person: False,
) -> Judgement:
    """Decide all accusations.

    Args:
        jurors_of: returns who could judge now: people with a server of the accused server's blocks, weights and
            format. Accuser and accused don't count, and neither do people without a voice.
    """
    by_accusation: defaultdict[bytes, list[Opinion]] = defaultdict(list)
    for opinion in opinions:
        by_accusation[opinion.accusation].append(opinion)
    cases: list[Case] = []
    standings: dict[PersonId, Standing] = {}

    def is_trusted(person: PersonId, at_s: float) -> bool:
        return not is_on_probation(person) and not standings.get(person, GOOD_STANDING).is_silenced(at_s)

    def hear(accusation: Accusation) -> Case | None:
        at_s = accusation.at_s
        open_ones = sum(1 for case in cases if case.accusation.accuser == accusation.accuser and _is_open(case))
        trusted = is_trusted(accusation.accuser, at_s)
        if not may_accuse(accusation.accuser, accusation.accused, open_ones, is_trusted=trusted):
            return None
        jurors = jurors_of(accusation)
        heard = tuple(
            opinion
            for opinion in by_accusation[accusation.id]
            if may_judge(
                opinion.person,
                accusation,
                serves=opinion.person in jurors,
                is_trusted=is_trusted(opinion.person, at_s),
            )
        )
        num_jurors = sum(
            1 for person in jurors if may_judge(person, accusation, serves=True, is_trusted=is_trusted(person, at_s))
        )
        return Case(accusation, heard, decide(accusation, heard, num_jurors, now_s))

    in_order = sorted(accusations, key=lambda each: (each.at_s, each.id))
    for _, together in groupby(in_order, key=lambda each: each.at_s):
        before = len(cases)
        for accusation in together:
            if (case := hear(accusation)) is not None:
                cases.append(case)
        concerned = {person for case in cases[before:] for person in _concerned(case)}
        standings |= {person: standing(person, cases) for person in concerned}
    return Judgement(tuple(cases), standings)


def _concerned(case: Case) -> set[PersonId]:
    return {case.accusation.accuser, case.accusation.accused, *(opinion.person for opinion in case.opinions)}


def _is_open(case: Case) -> bool:
    return case.verdict is Verdict.OPEN
