"""What audits do to liars in a simulated public swarm: `liar_lifetime` and `collusion`.

Whom clients audit, who stands alone, who judges, what is decided and what it costs come from the functions of
`potluck.audit` that clients and servers run. Simulated are windows, lies and time. A result is right or wrong here; how
well the two are told apart, `caught` and `false_alarms` measure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.figures import Measured
from potluck.audit import (
    CLEAN_AUDITS,
    Apart,
    Differences,
    Opinion,
    Outsider,
    audit_chance,
    choose_auditor,
    compare,
    settle,
)
from potluck.audit.accusations import Accusation, Finding, Verdict, decide, may_accuse, may_judge, order_jurors, quorum
from potluck.audit.accusations import Opinion as Testimony
from potluck.audit.consequences import GOOD_STANDING, Case, Standing, standing
from potluck.membership.roster import PROBATION_S
from potluck.protocol.blocks import PeerId, PersonId

_PEOPLE, _SPANS = 1000, 8  # each has one server of one span, and a client
_LIARS = 0.1  # share of all people
_LYING = 0.1  # of a liar's windows
_BUSY, _QUIET = 1100.0, 110.0  # windows of a server in an hour: one that decodes all the time, and one now and then
_HOURS = 30 * 24
_HOUR_S = 3600.0
_DECIDING_S = 120.0  # from a disagreement until everybody knows the verdict: hearings at low priority, and gossip
_LIMIT = Apart(2e-3, 2e-3)  # honest results are 0 apart here, and a wrong one is 1 from a right one


def lifetime(soak: bool) -> Measured:
    """Mean windows of a server with a record that lies in a tenth of them, until nobody uses it any more."""
    seeds = 2000 if soak else 200
    lives = [_life(np.random.default_rng(seed)) for seed in range(seeds)]
    windows = [life.windows for life in lives]
    detail = {
        "standard_error": round(float(np.std(windows)) / seeds**0.5, 1),
        "until_a_client_knew": round(float(np.mean([life.until_seen for life in lives])), 1),
        "credit_kept": sum(life.kept for life in lives),
        "seeds": seeds,
    }
    return Measured(float(np.mean(windows)), detail, holds=detail["credit_kept"] == 0)


def collusion(soak: bool) -> Measured:
    """Wrong windows that reached users over those without audits, in thirty days."""
    runs = [_Swarm(np.random.default_rng(seed), _BUSY).run() for seed in range(5 if soak else 1)]
    quiet = _Swarm(np.random.default_rng(0), _QUIET).run()
    detail = {
        "honest_excluded": sum(run.honest_excluded for run in [*runs, quiet]),
        "honest_silenced": sum(run.honest_silenced for run in [*runs, quiet]),
        "wrong_windows_in_a_million": round(float(np.mean([run.wrong_share for run in runs])) * 1e6, 1),
        "names_of_a_liar": round(float(np.mean([run.names for run in runs])), 2),
        "hours_in_use": round(float(np.mean([run.hours_in_use for run in runs])), 1),
        "honest_left_by_a_client": float(f"{np.mean([run.left_for_nothing for run in runs]):.2g}"),
        f"at_{_QUIET:.0f}_windows_an_hour": round(quiet.ratio, 4),
        "seeds": len(runs),
    }
    return Measured(float(np.mean([run.ratio for run in runs])), detail, holds=not detail["honest_excluded"])


@dataclass(frozen=True, slots=True)
class _Life:
    windows: int  # until everybody knew
    until_seen: int  # until a client knew
    kept: int  # windows whose credit counts in the end


def _life(rng: np.random.Generator) -> _Life:
    """Return what one liar does among honest people who serve the same blocks."""
    people = [PersonId(f"person {number}") for number in range(_PEOPLE // _SPANS)]
    liar, truth = people[0], _Truth(set())
    windows = 0
    found = None
    while found is None:
        windows += int(rng.geometric(audit_chance(CLEAN_AUDITS)))
        found = _audit(people, liar, truth, is_wrong=rng.random() < _LYING, rng=rng)
    assert found.outsider is Outsider.AUDITED
    at_s = windows / _BUSY * _HOUR_S
    accusation = Accusation(rng.bytes(32), PersonId("client"), liar, liar.encode(), at_s)
    case = _hear(accusation, people, truth, is_trusted=lambda _: True, is_wrong=True)
    assert case.verdict is Verdict.PROVEN
    meanwhile = int(rng.poisson(_BUSY * _DECIDING_S / _HOUR_S))
    earned_s = np.arange(windows + meanwhile) / _BUSY * _HOUR_S
    kept = np.count_nonzero(earned_s > standing(liar, [case]).credit_from_s)
    return _Life(windows + meanwhile, windows, int(kept))


@dataclass(frozen=True, slots=True)
class _Truth:
    """What people say about windows: liars find each other right and all others wrong, in the same way."""

    liars: set[PersonId]

    def recompute(self, person: PersonId, audited: PersonId, *, is_wrong: bool) -> bool:
        """Return whether this person's result of the window is the wrong one."""
        return person in self.liars and (is_wrong if audited in self.liars else True)

    def finding(self, person: PersonId, accused: PersonId, *, is_wrong: bool) -> Finding:
        says_wrong = accused not in self.liars if person in self.liars else is_wrong
        return Finding.WRONG if says_wrong else Finding.RIGHT


@dataclass(frozen=True, slots=True)
class _Found:
    outsider: Outsider
    auditor: PersonId


def _audit(
    able: Sequence[PersonId],
    audited: PersonId,
    truth: _Truth,
    *,
    is_wrong: bool,
    rng: np.random.Generator,
    auditor: PersonId | None = None,
) -> _Found | None:
    """Return what a client finds about a window, as `potluck.client.audits` does; None: nobody disagrees.

    Args:
        able: people with a server of these blocks that the client uses.
        auditor: if it is drawn already.
    """
    seed = rng.bytes(16)
    candidates = [(PeerId(person), person) for person in able]
    auditor = auditor or _person(choose_auditor(candidates, {audited}, seed))
    recomputed = truth.recompute(auditor, audited, is_wrong=is_wrong)
    claims = _apart(is_wrong, recomputed)
    if compare(claims, _LIMIT) is not Opinion.DISAGREES:
        return None
    asked, results = {audited, auditor}, []
    for _ in range(2):
        other = _person(choose_auditor(candidates, asked, seed))
        results.append(truth.recompute(other, audited, is_wrong=is_wrong))
        asked.add(other)
    third, fourth = results
    found = Differences(
        claims, steps=_apart(is_wrong, third), prefills=_apart(recomputed, third), honest=Apart(0.0, 0.0)
    )
    outsider = settle(found, _LIMIT)
    lone = is_wrong if outsider is Outsider.AUDITED else recomputed
    return _Found(Outsider.UNKNOWN if lone == fourth else outsider, auditor)


def _person(peer: PeerId | None) -> PersonId:
    assert peer is not None  # enough people serve each span
    return PersonId(peer)


def _apart(one: bool, other: bool) -> Apart:
    return Apart(float(one != other), float(one != other))


def _hear(
    accusation: Accusation,
    able: Sequence[PersonId],
    truth: _Truth,
    *,
    is_trusted: Callable[[PersonId], bool],
    is_wrong: bool,
) -> Case:
    """Ask jurors in the order that the accusation draws, until it is decided or all were asked."""
    jurors = [person for person in able if may_judge(person, accusation, serves=True, is_trusted=is_trusted(person))]
    said: list[Testimony] = []
    for person in order_jurors(accusation.id, jurors):
        said.append(Testimony(accusation.id, person, truth.finding(person, accusation.accused, is_wrong=is_wrong)))
        if len(said) >= quorum(len(jurors)):
            verdict = decide(accusation, said, len(jurors), accusation.at_s)
            if verdict is not Verdict.OPEN:
                return Case(accusation, tuple(said), verdict)
    return Case(accusation, tuple(said), Verdict.OPEN)


@dataclass(frozen=True, slots=True)
class _Outcome:
    ratio: float  # wrong windows that reached users over those without audits
    wrong_share: float  # of all windows
    names: float  # of one liar
    hours_in_use: float  # of one name
    honest_excluded: int
    honest_silenced: int
    left_for_nothing: float  # share of the pairs of a client and an honest server


@dataclass(slots=True)
class _Liar:
    """One computer of the ring, under one name after another."""

    number: int
    name: PersonId
    names: int = 1
    away_until_s: float = 0.0  # excluded, or on probation, on which nobody uses it
    hours_in_use: float = 0.0


class _Swarm:
    """Honest people and a ring of liars who confirm each other, accuse others, and enrol again when that is quicker."""

    def __init__(self, rng: np.random.Generator, windows_per_h: float) -> None:
        self._rng = rng
        self._windows_per_h = windows_per_h
        count = int(_PEOPLE * _LIARS)
        self._liars = [_Liar(number, PersonId(f"liar {number}/1")) for number in range(count)]
        self._in_use = self._liars
        self._honest = [PersonId(f"honest {number}") for number in range(_PEOPLE - count)]
        self._truth = _Truth({liar.name for liar in self._liars})
        # By client, one for each honest person, and liar:
        self._has_left = np.zeros((len(self._honest), count), bool)
        self._clean = np.zeros((len(self._honest), count), np.int64)
        self._left_honest: defaultdict[int, set[PersonId]] = defaultdict(set)
        self._cases: defaultdict[PersonId, list[Case]] = defaultdict(list)
        self._wrong = 0

    def run(self) -> _Outcome:
        for hour in range(_HOURS):
            now_s = hour * _HOUR_S
            self._in_use = [liar for liar in self._liars if liar.away_until_s <= now_s]
            for liar in self._in_use:
                self._serve(liar, now_s)
            self._audit_others(now_s)
            if hour % 24 == 0:
                for liar in self._in_use:
                    self._accuse_somebody(liar, now_s)
        windows = self._windows_per_h * _HOURS
        names = sum(liar.names for liar in self._liars)
        standings = [self._standing(person) for person in self._honest]
        return _Outcome(
            ratio=self._wrong / (len(self._liars) * windows * _LYING),
            wrong_share=self._wrong / (_PEOPLE * windows),
            names=names / len(self._liars),
            hours_in_use=sum(liar.hours_in_use for liar in self._liars) / names,
            honest_excluded=sum(bool(each.servers_until_s) for each in standings),
            honest_silenced=sum(bool(each.silenced_until_s) for each in standings),
            left_for_nothing=sum(map(len, self._left_honest.values())) / len(self._honest) ** 2,
        )

    def _serve(self, liar: _Liar, now_s: float) -> None:
        """Let a liar serve for an hour, or until it is proven what it does."""
        clients = np.flatnonzero(~self._has_left[:, liar.number])
        windows = int(self._rng.poisson(self._windows_per_h * len(clients) / len(self._honest)))
        lies = int(self._rng.binomial(windows, _LYING))
        ends_s, is_proven = now_s + _HOUR_S, False
        for at_s in np.sort(self._rng.uniform(now_s, ends_s, lies)):
            if at_s >= ends_s:
                break
            self._wrong += 1
            if not is_proven and self._is_proven(int(self._rng.choice(clients)), liar, float(at_s)):
                ends_s, is_proven = min(float(at_s) + _DECIDING_S, ends_s), True
        liar.hours_in_use += (ends_s - now_s) / _HOUR_S
        if is_proven:
            self._leave(liar, ends_s)
        elif len(clients):
            of_each = self._rng.poisson((windows - lies) / len(clients), len(clients))
            has_record = self._clean[clients, liar.number] >= CLEAN_AUDITS
            chances = np.where(has_record, audit_chance(CLEAN_AUDITS), audit_chance(0))
            self._clean[clients, liar.number] += self._rng.binomial(of_each, chances)

    def _is_proven(self, client: int, liar: _Liar, now_s: float) -> bool:
        """Return whether a wrong window is audited, and leads to a proof."""
        if self._rng.random() >= audit_chance(int(self._clean[client, liar.number])):
            return False
        able = self._able(client, liar.number % _SPANS)
        found = _audit(able, liar.name, self._truth, is_wrong=True, rng=self._rng)
        if found is None:
            self._clean[client, liar.number] += 1
        elif found.outsider is Outsider.AUDITOR:
            self._left_honest[client].add(found.auditor)
        elif found.outsider is Outsider.AUDITED:
            self._has_left[client, liar.number] = True
            return self._accuse(self._honest[client], liar.name, able, now_s, is_wrong=True) is Verdict.PROVEN
        return False

    def _leave(self, liar: _Liar, now_s: float) -> None:
        """Wait for the end of the exclusion, or enrol again, whatever is sooner."""
        returns_s = self._standing(liar.name).ends_at(liar.name.encode())
        self._clean[:, liar.number] = 0
        if returns_s > now_s + PROBATION_S:
            liar.names += 1
            liar.name = PersonId(f"liar {liar.number}/{liar.names}")
            self._truth.liars.add(liar.name)
            self._has_left[:, liar.number] = False
            returns_s = now_s + PROBATION_S
        liar.away_until_s = returns_s

    def _audit_others(self, now_s: float) -> None:
        """Let clients audit honest servers for an hour by liars, who find all of them wrong."""
        usable = ~self._has_left[:, [liar.number for liar in self._in_use]]
        windows = self._windows_per_h * (1 - _LIARS) * _PEOPLE / len(self._honest)
        audits = self._rng.poisson(windows * audit_chance(CLEAN_AUDITS) * usable.sum(axis=1) / _PEOPLE)
        for client in np.flatnonzero(audits):
            for _ in range(audits[client]):
                self._ask_liar(int(client), now_s)

    def _ask_liar(self, client: int, now_s: float) -> None:
        auditors = [liar for liar in self._in_use if not self._has_left[client, liar.number]]
        if not auditors:
            return
        auditor = auditors[int(self._rng.integers(len(auditors)))]
        span = auditor.number % _SPANS
        audited = self._honest_of(span)
        able = self._able(client, span)
        found = _audit(able, audited, self._truth, is_wrong=False, rng=self._rng, auditor=auditor.name)
        if found is not None and found.outsider is Outsider.AUDITOR:
            self._has_left[client, auditor.number] = True
        elif found is not None and found.outsider is Outsider.AUDITED:
            self._left_honest[client].add(audited)
            self._accuse(self._honest[client], audited, able, now_s, is_wrong=False)

    def _accuse_somebody(self, liar: _Liar, now_s: float) -> None:
        span = liar.number % _SPANS
        able = [*self._honest[span::_SPANS], *(each.name for each in self._in_use if each.number % _SPANS == span)]
        self._accuse(liar.name, self._honest_of(span), able, now_s, is_wrong=False)

    def _accuse(
        self, accuser: PersonId, accused: PersonId, able: Sequence[PersonId], now_s: float, *, is_wrong: bool
    ) -> Verdict | None:
        """Let the swarm decide; None: the accuser isn't heard."""

        def is_trusted(person: PersonId) -> bool:
            return not self._standing(person).is_silenced(now_s)

        if not may_accuse(accuser, accused, 0, is_trusted=is_trusted(accuser)):
            return None
        accusation = Accusation(self._rng.bytes(32), accuser, accused, accused.encode(), now_s)
        case = _hear(accusation, able, self._truth, is_trusted=is_trusted, is_wrong=is_wrong)
        for person in {accuser, accused, *(each.person for each in case.opinions)}:
            self._cases[person].append(case)
        return case.verdict

    def _standing(self, person: PersonId) -> Standing:
        return standing(person, self._cases[person]) if self._cases[person] else GOOD_STANDING

    def _able(self, client: int, span: int) -> list[PersonId]:
        """Return whose servers of a span a client uses."""
        left = self._left_honest[client]
        honest = [person for person in self._honest[span::_SPANS] if person not in left]
        liars = [
            liar.name
            for liar in self._in_use
            if liar.number % _SPANS == span and not self._has_left[client, liar.number]
        ]
        return honest + liars

    def _honest_of(self, span: int) -> PersonId:
        people = self._honest[span::_SPANS]
        return people[int(self._rng.integers(len(people)))]
