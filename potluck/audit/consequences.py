"""Says what decided accusations cost: who is excluded, whose credit is gone, and who is not heard, and for how long.

A first proof excludes the one server for a day, because it may be an honest server with a broken GPU. Each further
proof against the same person within a year excludes all servers of that person, four times as long as the one before.
Credit from before the latest proof, and until a
day after it, counts for nothing. Somebody whose accusation was refuted loses the voice and the
credit's priority for a time that grows in the same way. Whoever confirmed it, or denied a proven one, loses the voice.
Pure: no clock, no network.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from potluck.audit.accusations import Accusation, Finding, Opinion, Verdict
from potluck.protocol.blocks import PersonId

FIRST_S: Final = 86_400.0
GROWTH: Final = 4.0
LONGEST_S: Final = 365 * 86_400.0
MEMORY_S: Final = 365 * 86_400.0  # offences longer ago don't make the next one worse


@dataclass(frozen=True, slots=True)
class Case:
    """An accusation with the opinions that count and the verdict on it."""

    accusation: Accusation
    opinions: tuple[Opinion, ...]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Standing:
    """What decided cases mean for one person. Times are Unix seconds; 0: never, or from the beginning.

    Attributes:
        excluded_until_s: nobody uses any server of this person before.
        servers_until_s: the same for single servers, by name.
        credit_from_s: what this person earned before counts for nothing.
        silenced_until_s: accusations and findings of this person don't count before.
        unpaid_until_s: this person's requests come after everybody's with credit before.
    """

    excluded_until_s: float = 0.0
    servers_until_s: tuple[tuple[bytes, float], ...] = ()
    credit_from_s: float = 0.0
    silenced_until_s: float = 0.0
    unpaid_until_s: float = 0.0

    def ends_at(self, server: bytes) -> float:
        """Return until when a server of this person is off everybody's routes, in Unix seconds; 0: it never was."""
        return max(self.excluded_until_s, dict(self.servers_until_s).get(server, 0.0))

    def is_excluded(self, server: bytes, now_s: float) -> bool:
        """Return whether a server of this person is off everybody's routes."""
        return now_s < self.ends_at(server)

    def is_silenced(self, now_s: float) -> bool:
        """Return whether this person may neither accuse nor judge."""
        return now_s < max(self.silenced_until_s, self.excluded_until_s)


GOOD_STANDING: Final = Standing()


def penalty_s(earlier: int) -> float:
    """Return how long an offence counts after so many earlier ones: a day, 4, 16, 64 days, at most a year."""
    return float(min(FIRST_S * GROWTH ** min(earlier, 32), LONGEST_S))


def standing(person: PersonId, cases: Iterable[Case]) -> Standing:
    """Return what the decided cases mean for a person, the earliest accusation first.

    Several proofs against one server within a day of each other are one offence: they come from the same fault.
    """
    ordered = sorted(cases, key=lambda case: (case.accusation.at_s, case.accusation.id))
    proven = _offences(case for case in ordered if _is_guilty(person, case))
    refuted = _offences(case for case in ordered if _accused_falsely(person, case))
    outvoted = _offences(case for case in ordered if _was_outvoted(person, case))
    servers: dict[bytes, float] = {}
    excluded = 0.0
    for case, earlier in proven:
        ends = case.accusation.at_s + penalty_s(earlier)
        servers[case.accusation.server] = max(servers.get(case.accusation.server, 0.0), ends)
        if earlier:
            excluded = max(excluded, ends)
    unpaid = max((case.accusation.at_s + penalty_s(earlier) for case, earlier in refuted), default=0.0)
    silenced = max((case.accusation.at_s + penalty_s(earlier) for case, earlier in outvoted), default=0.0)
    return Standing(
        excluded_until_s=excluded,
        servers_until_s=tuple(sorted(servers.items())),
        credit_from_s=max((case.accusation.at_s + FIRST_S for case, _ in proven), default=0.0),
        silenced_until_s=max(silenced, unpaid),
        unpaid_until_s=unpaid,
    )


def _offences(cases: Iterable[Case]) -> list[tuple[Case, int]]:
    """Return each case with how many separate offences came before it within `MEMORY_S`."""
    found: list[tuple[Case, int]] = []
    begun: list[tuple[bytes, float]] = []  # server and time of each separate offence
    for case in cases:
        at_s, server = case.accusation.at_s, case.accusation.server
        begun = [(other, began) for other, began in begun if at_s - began < MEMORY_S]
        same = next((n for n, (other, began) in enumerate(begun) if other == server and at_s - began < FIRST_S), None)
        found.append((case, len(begun) if same is None else same))
        if same is None:
            begun.append((server, at_s))
    return found


def _is_guilty(person: PersonId, case: Case) -> bool:
    return case.verdict is Verdict.PROVEN and case.accusation.accused == person


def _accused_falsely(person: PersonId, case: Case) -> bool:
    return case.verdict is Verdict.REFUTED and case.accusation.accuser == person


def _was_outvoted(person: PersonId, case: Case) -> bool:
    lost = {Verdict.PROVEN: Finding.RIGHT, Verdict.REFUTED: Finding.WRONG}.get(case.verdict)
    return any(opinion.person == person and opinion.finding is lost for opinion in case.opinions)
