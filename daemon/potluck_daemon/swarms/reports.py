"""Keeps which reports about wrong results this computer's server confirmed or its user dismissed.

Leaders see reports about everybody, others those about their own computers. A report changes nothing by itself, and
everything is forgotten after thirty days.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from potluck_control.methods.members import WrongResultsReport
from potluck_control.processes.engine_messages import Confirmed, Examined

from potluck.membership.identity import peer_id_of, public_key_of
from potluck.membership.members import REPORT_LIVES_S, Members, Person
from potluck.membership.membership import Membership
from potluck.membership.records import Report
from potluck.protocol.blocks import PeerId
from potluck.protocol.swarm import Swarm
from potluck_daemon.settings.state import Since, StateFile, WeightCheck
from potluck_daemon.swarms.names import machine_names, person_names, short_ids

_MAX_KEPT = 2000  # confirmed reports, and as many dismissed ones


class ReportBook:
    """The reports that were confirmed or dismissed here, kept in the state file.

    Args:
        own_key: returns this computer's public key.
    """

    def __init__(self, memory: StateFile, own_key: Callable[[], bytes]) -> None:
        self._memory = memory
        self._own_key = own_key

    @property
    def known(self) -> object:
        """The part of the state on which `wrong_results` depends, to compare it with an earlier value."""
        state = self._memory.state
        return state.confirmed, state.dismissed, state.examination

    def apply(self, swarm: Swarm, message: Confirmed | Examined) -> None:
        """Remember what the engine found out in a swarm."""
        state = self._memory.state
        match message:
            case Examined(damaged):
                self._memory.update(examination=WeightCheck(time.time(), damaged, swarm.prefix))
            case Confirmed(peer_id, person) if machine := public_key_of(PeerId(peer_id)):
                dismissed = tuple(each for each in state.dismissed if not each.what.endswith(machine.hex()))
                confirmed = _added(state.confirmed, [f"{person} {machine.hex()}"])
                self._memory.update(confirmed=confirmed, dismissed=dismissed)

    def dismiss(self, members: Members, machine: bytes) -> bool:
        """Hide all present reports about a computer. Return whether there were any."""
        hidden = [_who_and_what(report) for report in self._shown(members) if report.machine == machine]
        self._memory.update(dismissed=_added(self._memory.state.dismissed, hidden))
        return bool(hidden)

    def wrong_results(self, membership: Membership, members: Members) -> Iterable[WrongResultsReport]:
        """Yield reported computers that concern this user: for a leader all of them, for others their own."""
        you = membership.person(members)
        may_lead = membership.founder_seed is not None or (you is not None and you.may_lead)
        by_machine: dict[bytes, list[Report]] = {}
        for report in self._shown(members):
            by_machine.setdefault(report.machine, []).append(report)
        names = person_names(members)
        for key, reports in by_machine.items():
            owner = members.owner_of_key(key)
            if owner is not None and (may_lead or owner == you):
                yield self._describe(membership.swarm.prefix, owner, key, reports, names)

    def _shown(self, members: Members) -> Iterable[Report]:
        dismissed = {each.what for each in _recent(self._memory.state.dismissed)}
        reports = [record.body for record in members.reports if isinstance(record.body, Report)]
        oldest = time.time() - REPORT_LIVES_S
        return [each for each in reports if each.at_s > oldest and _who_and_what(each) not in dismissed]

    def _describe(
        self, swarm: str, owner: Person, machine: bytes, reports: Sequence[Report], names: Mapping[bytes, str]
    ) -> WrongResultsReport:
        state = self._memory.state
        confirmed = {each.what for each in _recent(state.confirmed)}
        is_here = machine == self._own_key()
        examination, first_at = state.examination, min(report.at_s for report in reports)
        if examination is not None and not (is_here and examination.swarm == swarm and examination.at >= first_at):
            examination = None  # it was about other reports
        return WrongResultsReport(
            short_ids(names)[owner.key],
            names[owner.key],
            machine_names(owner)[machine],
            peer_id_of(machine),
            found_by=tuple(sorted(names[report.person] for report in reports)),
            is_confirmed=any(_who_and_what(report) in confirmed for report in reports),
            is_here=is_here,
            checked_at=None if examination is None else examination.at,
            damaged="" if examination is None else examination.damaged,
        )


def _who_and_what(report: Report) -> str:
    return f"{report.person.hex()} {report.machine.hex()}"


def _recent(kept: Iterable[Since]) -> Iterable[Since]:
    return [each for each in kept if each.at > time.time() - REPORT_LIVES_S]


def _added(kept: Iterable[Since], new: Sequence[str]) -> tuple[Since, ...]:
    others = [each for each in _recent(kept) if each.what not in new]
    return (*others, *(Since(what, time.time()) for what in new))[-_MAX_KEPT:]
