"""What this computer makes of members' reports about wrong results: which ones it confirmed, and which are dismissed.

Leaders see reports about everybody, others those about their own computers. A report changes nothing by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from potluck_control.engine_messages import Confirmed, Examined
from potluck_control.methods.members import WrongResults

from potluck.membership.identity import peer_id_of
from potluck.membership.members import Members, Person
from potluck.membership.membership import Membership
from potluck.membership.records import Machine, Record, Report
from potluck_daemon.settings.state import Examination, StateFile

ID_LETTERS = 8  # of a person's id that are shown
_MAX_KEPT = 500  # reports that were confirmed, or dismissed, here


class ReportBook:
    """Remembers in the state file what concerns reports."""

    def __init__(self, memory: StateFile, own_key: Callable[[], bytes]) -> None:
        """`own_key` returns this computer's public key."""
        self._memory = memory
        self._own_key = own_key

    @property
    def known(self) -> object:
        """Return what the list of reports depends on, besides the membership."""
        state = self._memory.state
        return state.confirmed_reports, state.dismissed_reports, state.examination

    def hear(self, message: Confirmed | Examined) -> None:
        """Remember what the engine found out."""
        state = self._memory.state
        if isinstance(message, Examined):
            self._memory.state = replace(state, examination=Examination(time.time(), message.damaged))
        else:
            self._memory.state = replace(state, confirmed_reports=_with(state.confirmed_reports, [message.report]))
        self._memory.try_to_save()

    def dismiss(self, members: Members, machine: bytes) -> bool:
        """Hide what was reported about a computer so far. Return whether there was anything."""
        hidden = [record.hash.hex() for record in self._shown(members) if _report(record).machine == machine]
        state = self._memory.state
        self._memory.state = replace(state, dismissed_reports=_with(state.dismissed_reports, hidden))
        self._memory.try_to_save()
        return bool(hidden)

    def found(self, membership: Membership, members: Members) -> Iterable[WrongResults]:
        """Return the computers that this user should know of: a leader those of all, others their own ones."""
        you = membership.person(members)
        may_lead = membership.founder_seed is not None or (you is not None and you.may_lead)
        by_machine: dict[bytes, list[Record]] = {}
        for record in self._shown(members):
            by_machine.setdefault(_report(record).machine, []).append(record)
        for key, records in by_machine.items():
            owner = members.owner_of_key(key)
            if owner is not None and (may_lead or owner == you):
                yield self._wrong_results(owner, _machine(owner, key), records, members)

    def _shown(self, members: Members) -> Iterable[Record]:
        dismissed = set(self._memory.state.dismissed_reports)
        return [record for record in members.reports if record.hash.hex() not in dismissed]

    def _wrong_results(
        self, owner: Person, machine: Machine, records: Sequence[Record], members: Members
    ) -> WrongResults:
        people = [members.people[_report(record).person] for record in records]
        confirmed, examination = set(self._memory.state.confirmed_reports), None
        is_here = machine.key == self._own_key()
        if is_here:
            examination = self._memory.state.examination
        return WrongResults(
            owner.id[:ID_LETTERS],
            owner.name,
            machine.name,
            peer_id_of(machine.key),
            found_by=tuple(sorted(person.name for person in people)),
            is_confirmed=any(record.hash.hex() in confirmed for record in records),
            is_here=is_here,
            checked_at=None if examination is None else examination.at,
            damaged="" if examination is None else examination.damaged,
        )


def _report(record: Record) -> Report:
    assert isinstance(record.body, Report)
    return record.body


def _machine(owner: Person, key: bytes) -> Machine:
    return next(machine for machine in owner.machines if machine.key == key)


def _with(kept: tuple[str, ...], new: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*kept, *new)))[-_MAX_KEPT:]
