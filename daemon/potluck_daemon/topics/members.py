"""`members.*` of the control API."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

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
_RELIST_S = 3600  # somebody's probation may have ended
_RANKS = {Rank.ADMIN: "an admin", Rank.ENROLLER: "an enroller", Rank.MEMBER: "an ordinary member"}


class MembersTopic(Topic):
    def __init__(self, configuration: Configuration, supervisor: Supervisor) -> None:
        self._configuration = configuration
        self._supervisor = supervisor
        self._listed: tuple[tuple[object, ...], methods.MembersList] | None = None  # with what it was made of

    @answers(methods.LIST)
    async def _list(self, params: methods.SwarmParams) -> methods.MembersList:
        membership = self._find(params.swarm)
        return self._with_servers(await self._people(membership), membership)

    async def _people(self, membership: Membership) -> methods.MembersList:
        if membership.swarm.is_open:
            return methods.MembersList(membership.swarm.name, (), (), may_lead=True, is_founder=False, is_open=True)
        known = *_known_of(membership), int(time.time() // _RELIST_S)
        if self._listed is None or self._listed[0] != known:
            roster = await asyncio.to_thread(membership.roster, time.time())  # checks thousands of signatures
            self._listed = known, _list_of(membership, roster)
        return self._listed[1]

    @answers(methods.REMOVE)
    async def _remove(self, params: methods.MemberParams) -> methods.MembersChanged:
        membership = self._membership(params.swarm)
        person = find_person(membership.roster(time.time()), params.name)
        if not params.machine:
            return self._publish(membership, remove(membership, person, time.time()), f"removed {person.name}")
        machine = next(
            (each for each in person.machines if params.machine in (each.name, peer_id_of(each.machine))), None
        )
        if machine is None:
            known = ", ".join(each.name for each in person.machines) or "none"
            raise UsageError(f"{person.name} has no computer named {params.machine}", hint=f"there are: {known}")
        done = f"removed {machine.name} of {person.name}"
        return self._publish(membership, remove_machine(membership, machine.machine, time.time()), done)

    @answers(methods.PROMOTE)
    async def _promote(self, params: methods.PromoteParams) -> methods.MembersChanged:
        membership = self._membership(params.swarm)
        person = find_person(membership.roster(time.time()), params.name)
        rank = Rank.ADMIN if params.is_admin else Rank.ENROLLER if params.is_enroller else Rank.MEMBER
        done = f"{person.name} is {_RANKS[rank]} now"
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

    def _find(self, name: str) -> Membership:
        served = self._configuration.membership
        if not name and served is not None:
            name = served.swarm.name
        return self._configuration.swarms.find(name or None)

    def _with_servers(self, found: methods.MembersList, membership: Membership) -> methods.MembersList:
        """Add who serves the swarm, if this computer's engine has looked at it."""
        seen, served = self._supervisor.facts.servers, self._configuration.swarm
        if seen is None or served is None or served.name != membership.swarm.name:
            return found
        at = round(time.time() - self._supervisor.servers_age_s)
        return replace(found, servers=seen.servers, servers_at=float(at))

    def _membership(self, name: str) -> Membership:
        membership = self._find(name)
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
    by_id = [person for person in roster.people if len(name) >= 4 and person.id.startswith(name.lower())]
    by_name = [person for person in roster.people if person.name.casefold() == name.casefold()]
    # Nobody is mistaken for another person by taking that person's id as a name.
    found = by_id if len(name) >= _ID_LETTERS and by_id else by_name or by_id
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"nobody in the swarm is called {name}", hint="potluck members shows who is")
    ids = ", ".join(person.id[:_ID_LETTERS] for person in found)
    raise UsageError(f"several people are called {name}", hint=f"use one of their ids: {ids}")


def _known_of(membership: Membership) -> tuple[object, ...]:
    """Return all that a list of members depends on."""
    return membership.swarm.name, membership.statements, membership.person_seed, membership.founder_seed


def _list_of(membership: Membership, roster: Roster) -> methods.MembersList:
    you = _you(membership, roster)
    return methods.MembersList(
        swarm=membership.swarm.name,
        members=tuple(_member(person, roster, is_you=person == you) for person in roster.people),
        invites=tuple(_invites(roster)),
        may_lead=membership.founder_seed is not None
        or (membership.person_seed is not None and you is not None and roster.may_lead(you.key)),
        is_founder=membership.founder_seed is not None,
        has_key=membership.person_seed is not None,
    )


def _you(membership: Membership, roster: Roster) -> Person | None:
    """Return the person whose computer this is; None while they are not enrolled."""
    key = membership.signing_key
    return None if key is None else roster.member_of_key(key.public_key().public_bytes_raw())


def _member(person: Person, roster: Roster, *, is_you: bool) -> methods.Member:
    rank = "founder" if person.invite == roster.swarm_key else str(person.rank)
    machines = tuple(
        methods.MemberMachine(machine.name, peer_id_of(machine.machine), float(machine.at_s))
        for machine in person.machines
    )
    invite = "" if rank == "founder" else person.invite.hex()[:_ID_LETTERS]
    inviter = None if rank == "founder" else roster.inviter(person.invite)
    return methods.Member(
        person.name,
        person.id[:_ID_LETTERS],
        rank,
        float(person.joined_s),
        invite,
        is_you,
        person.is_on_probation(time.time()),
        machines,
        inviter.name if inviter is not None else "",
    )


def _invites(roster: Roster) -> Iterable[methods.OpenInvite]:
    for invite in sorted(roster.invites, key=lambda each: each.at_s):
        used = roster.num_enrolled(invite.invite)
        ident = invite.invite.hex()[:_ID_LETTERS]
        is_public = invite.work_bits > 0
        yield methods.OpenInvite(ident, float(invite.at_s), float(invite.expires_s), invite.max_people, used, is_public)
