"""`members.*` of the control API."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence

from potluck_control.engine_messages import Members
from potluck_control.methods import members as methods

from potluck.errors import UsageError
from potluck.membership.identity import peer_id_of
from potluck.membership.leadership import promote, recover, recovery_code, remove, remove_machine, withdraw
from potluck.membership.membership import Membership
from potluck.membership.roster import Person, Roster
from potluck.membership.statements import Rank, Statement
from potluck_daemon.configuration import Configuration
from potluck_daemon.supervisor.supervisor import Supervisor
from potluck_daemon.topics.topic import Topic, answers

log = logging.getLogger(__name__)

_ID_LETTERS = 8


class MembersTopic(Topic):
    def __init__(self, configuration: Configuration, supervisor: Supervisor) -> None:
        self._configuration = configuration
        self._supervisor = supervisor

    @answers(methods.LIST)
    async def _list(self, params: methods.SwarmParams) -> methods.MembersList:
        membership = self._membership(params.swarm)
        roster = membership.roster(time.time())
        key = membership.person_key
        mine = key.public_key().public_bytes_raw() if key is not None else None
        return methods.MembersList(
            swarm=membership.swarm.name,
            members=tuple(_member(person, roster, is_you=person.key == mine) for person in roster.people),
            invites=tuple(_invites(roster)),
            may_lead=membership.founder_seed is not None or (mine is not None and roster.may_lead(mine)),
            is_founder=membership.founder_seed is not None,
        )

    @answers(methods.REMOVE)
    async def _remove(self, params: methods.MemberParams) -> methods.MembersChanged:
        membership = self._membership(params.swarm)
        person = find_person(membership.roster(time.time()), params.name)
        if not params.machine:
            return self._publish(membership, remove(membership, person, time.time()), f"removed {person.name}")
        machine = next((each for each in person.machines if each.name == params.machine), None)
        if machine is None:
            known = ", ".join(each.name for each in person.machines) or "none"
            raise UsageError(f"{person.name} has no computer named {params.machine}", hint=f"there are: {known}")
        done = f"removed {machine.name} of {person.name}"
        return self._publish(membership, remove_machine(membership, machine.machine, time.time()), done)

    @answers(methods.PROMOTE)
    async def _promote(self, params: methods.PromoteParams) -> methods.MembersChanged:
        membership = self._membership(params.swarm)
        person = find_person(membership.roster(time.time()), params.name)
        rank = Rank.ADMIN if params.is_admin else Rank.MEMBER
        done = f"{person.name} is {'an admin' if params.is_admin else 'an ordinary member'} now"
        return self._publish(membership, promote(membership, person, rank, time.time()), done)

    @answers(methods.WITHDRAW)
    async def _withdraw(self, params: methods.WithdrawParams) -> methods.MembersChanged:
        membership = self._membership(params.swarm)
        found = [item for item in membership.roster(time.time()).invites if item.invite.hex().startswith(params.invite)]
        if not params.invite or len(found) != 1:
            raise UsageError(f"there is no invite {params.invite}", hint="potluck members shows the invites")
        return self._publish(membership, withdraw(membership, found[0].invite, time.time()), "withdrew the invite")

    @answers(methods.RECOVERY_CODE)
    async def _recovery_code(self, params: methods.SwarmParams) -> methods.RecoveryCode:
        membership = self._membership(params.swarm)
        return methods.RecoveryCode(membership.swarm.name, recovery_code(membership))

    @answers(methods.RECOVER)
    async def _recover(self, params: methods.RecoverParams) -> methods.MembersChanged:
        membership = recover(self._membership(params.swarm), params.code)
        self._configuration.swarms.keep(membership)
        self._configuration.reload()
        return methods.MembersChanged(membership.swarm.name, "this computer has the founder's key again", is_known=True)

    def _membership(self, name: str) -> Membership:
        served = self._configuration.membership
        if not name and served is not None:
            name = served.swarm.name
        membership = self._configuration.swarms.find(name or None)
        if membership.swarm.is_open:
            raise UsageError(f"{membership.swarm.name} is open to everybody, so it has no members")
        return membership

    def _publish(self, membership: Membership, statements: Sequence[Statement], done: str) -> methods.MembersChanged:
        """Keep statements, and have a running engine tell the others."""
        swarm, data = membership.swarm, tuple(statement.data for statement in statements)
        self._configuration.learn_members(swarm, data)
        log.info("members of %s: %s", swarm.name, done)
        served = self._configuration.swarm
        is_known = served is not None and served.name == swarm.name and self._supervisor.is_joined
        if is_known:
            self._supervisor.tell(Members(data))
        return methods.MembersChanged(swarm.name, done, is_known)


def find_person(roster: Roster, name: str) -> Person:
    """Return the member of a name or of an id's beginning. Raises UsageError for none and for several."""
    by_name = [person for person in roster.people if person.name.casefold() == name.casefold()]
    found = by_name or [person for person in roster.people if len(name) >= 4 and person.id.startswith(name.lower())]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"nobody in the swarm is called {name}", hint="potluck members shows who is")
    ids = ", ".join(person.id[:_ID_LETTERS] for person in found)
    raise UsageError(f"several people are called {name}", hint=f"use one of their ids: {ids}")


def _member(person: Person, roster: Roster, *, is_you: bool) -> methods.Member:
    rank = "founder" if person.invite == roster.swarm_key else str(person.rank)
    machines = tuple(
        methods.MemberMachine(machine.name, peer_id_of(machine.machine), float(machine.at_s))
        for machine in person.machines
    )
    invite = "" if rank == "founder" else person.invite.hex()[:_ID_LETTERS]
    return methods.Member(
        person.name,
        person.id[:_ID_LETTERS],
        rank,
        float(person.joined_s),
        invite,
        is_you,
        person.is_on_probation,
        machines,
    )


def _invites(roster: Roster) -> Iterable[methods.OpenInvite]:
    for invite in sorted(roster.invites, key=lambda each: each.at_s):
        used = len(roster.enrolled_with(invite.invite))
        ident = invite.invite.hex()[:_ID_LETTERS]
        yield methods.OpenInvite(ident, float(invite.at_s), float(invite.expires_s), invite.max_people, used)
