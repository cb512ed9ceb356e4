"""`members.*` of the control API."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence

from msgspec import structs
from potluck_control.methods import members as methods

from potluck.errors import UsageError
from potluck.membership.identity import peer_id_of
from potluck.membership.leadership import (
    confirm,
    decisions,
    dismiss,
    effects,
    guests_to_confirm,
    promote,
    recover,
    recovery_code,
    remove,
    remove_machine,
    require_leader,
)
from potluck.membership.members import Members, Person
from potluck.membership.membership import Membership
from potluck.membership.records import Choose, Confirm, Content, EndInvite, Rank, Record, Remove, Seats
from potluck.sentences import NOTHING, Sentence, sentence
from potluck_daemon.parts import Parts
from potluck_daemon.swarms.members_sync import member_list_key
from potluck_daemon.swarms.names import (
    ID_LETTERS,
    find_invite,
    find_machine,
    find_person,
    machine_names,
    person_names,
    short_ids,
)
from potluck_daemon.swarms.reports import ReportBook
from potluck_daemon.topics.topic import Topic, answers

log = logging.getLogger(__name__)

_RELIST_S = 60  # somebody's probation, a report, or the time of a computer that asks, may have ended
_MAX_SHOWN = 3  # people in the notice about a computer
_RANKS = {Rank.ADMIN: "an admin", Rank.ENROLLER: "an enroller", Rank.MEMBER: "an ordinary member"}
_Decide = Callable[[Membership, Members], Sequence[Content]]


class MembersTopic(Topic):
    """The people of a swarm and their computers, and what leaders decide about them."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._notice = NOTHING
        self._listed: tuple[tuple[object, ...], methods.MembersList] | None = None  # key, list

    @answers(methods.LIST)
    async def _list(self, params: methods.SwarmParams) -> methods.MembersList:
        membership = self._configuration.find(params.swarm)
        return self._with_servers(await self._people(membership), membership)

    async def _people(self, membership: Membership) -> methods.MembersList:
        if membership.swarm.is_open:
            return methods.MembersList(membership.swarm.name, (), (), may_lead=True, is_founder=False, is_open=True)
        known = *member_list_key(membership), self._parts.reports.known, int(time.time() // _RELIST_S)
        if self._listed is None or self._listed[0] != known:  # there may be thousands of people
            self._listed = known, await asyncio.to_thread(_list_of, membership, self._parts.reports)
        return self._listed[1]

    @answers(methods.CONFIRM)
    async def _confirm(self, params: methods.MemberParams) -> methods.MembersChanged:
        def decide(membership: Membership, members: Members) -> Sequence[Content]:
            guest = find_person(members, params.name)
            if not guest.is_guest:
                raise UsageError(
                    sentence("{name} is a member already", name=guest.name), hint="potluck members shows who is a guest"
                )
            if not members.is_public(guest.invite):
                require_leader(membership)
            return [confirm(guest)]

        return await self._lead(params.swarm, decide, f"confirmed {params.name}")

    @answers(methods.REMOVE)
    async def _remove(self, params: methods.MemberParams) -> methods.MembersChanged:
        membership, members, person = self._find_person(params)
        is_you = person == membership.person(members)
        if not params.machine and is_you:
            raise UsageError(sentence("this is you"), hint=f"potluck leave {membership.swarm.name}")
        if not params.machine:
            done = f"removed {person_names(members)[person.key]}{_ways_back(members, person)}"
            return await self._lead(params.swarm, lambda own, all_: remove(own, all_, person), done)
        machine = find_machine(person, params.machine)
        if machine.key == self._configuration.swarms.machine().public_key:  # also in a line of somebody who left
            raise UsageError(
                sentence("this is the computer that you are using"), hint=f"potluck leave {membership.swarm.name}"
            )
        done = f"removed {machine_names(person)[machine.key]} of {person_names(members)[person.key]}"
        if is_you:
            name = membership.swarm.name
            is_known = await self._parts.members.change_own(name, lambda own: own.without_machine(machine.key))
            return methods.MembersChanged(name, done, is_known)
        return await self._lead(params.swarm, lambda own, _: remove_machine(own, person, machine.key), done)

    @answers(methods.DISMISS)
    async def _dismiss(self, params: methods.MemberParams) -> methods.MembersChanged:
        """Hide reports on this computer; another leader may still see them."""
        membership, members, person = self._find_person(params)
        machines = [find_machine(person, params.machine)] if params.machine else person.machines
        found = [self._parts.reports.dismiss(members, machine.key) for machine in machines]
        if not any(found):
            raise UsageError(
                sentence("nothing is reported about {name}", name=person.name), hint="potluck members shows reports"
            )
        return methods.MembersChanged(
            membership.swarm.name, f"dismissed the reports about {person.name}", is_known=True
        )

    def tick(self, now: float) -> None:
        self.tasks.start(self._renew_notice(self._configuration.membership))

    async def _renew_notice(self, membership: Membership | None) -> None:
        if membership is None or membership.swarm.is_open or not membership.reports:
            self._notice = NOTHING
        else:
            self._notice = _notice((await self._people(membership)).wrong_results)

    @property
    def notice(self) -> Sentence:
        return self._notice

    @answers(methods.PROMOTE)
    async def _promote(self, params: methods.PromoteParams) -> methods.MembersChanged:
        rank = Rank.ADMIN if params.is_admin else Rank.ENROLLER if params.is_enroller else Rank.MEMBER
        found: tuple[list[Person], list[Person]] = [], []

        def decide(membership: Membership, members: Members) -> Sequence[Content]:
            nonlocal found
            person = find_person(members, params.name)
            contents = promote(membership, members, person, rank, seats=params.seats)
            if rank is Rank.MEMBER:
                contents = dismiss(members, person, keep=params.keep)
            found = effects(members, membership, contents) if contents else found
            return contents

        if params.is_trial:
            membership = self._configuration.find(params.swarm, has_members=True)
            await asyncio.to_thread(decide, membership, membership.members())
            changed = methods.MembersChanged(membership.swarm.name, "", is_known=False)
        else:
            changed = await self._lead(params.swarm, decide, f"{params.name} is {_RANKS[rank]} now")
        names = person_names(self._configuration.find(params.swarm, has_members=True).members())
        lost, returned = (tuple(names.get(person.key, person.name) for person in people) for people in found)
        return structs.replace(changed, lost=lost, returned=returned)

    @answers(methods.DECISIONS)
    async def _decisions(self, params: methods.MemberParams) -> methods.Decisions:
        membership, members, person = self._find_person(params)
        names = {each.content.person: each.content.name for each in members if isinstance(each.content, Confirm)}
        names |= person_names(members)
        decided = tuple(_decision(record, names) for record in decisions(members, person))
        return methods.Decisions(membership.swarm.name, person.name, decided)

    @answers(methods.END_INVITE)
    async def _end_invite(self, params: methods.EndInviteParams) -> methods.MembersChanged:
        def decide(membership: Membership, members: Members) -> Sequence[Content]:
            require_leader(membership)
            return [EndInvite(find_invite(members, params.invite))]

        return await self._lead(params.swarm, decide, "ended the invite")

    @answers(methods.RECOVERY_CODE)
    async def _recovery_code(self, params: methods.SwarmParams) -> methods.RecoveryCode:
        membership = self._configuration.find(params.swarm, has_members=True)
        swarm, code = membership.swarm, recovery_code(membership)
        assert swarm.founder_key is not None
        memory = self._parts.memory
        shown = dict.fromkeys((*memory.state.codes_shown, swarm.founder_key.hex()))
        memory.update(codes_shown=tuple(shown))
        return methods.RecoveryCode(code, swarm.name)

    @answers(methods.RECOVER)
    async def _recover(self, params: methods.RecoveryCode) -> methods.MembersChanged:
        name = self._configuration.find(params.swarm, has_members=True).swarm.name
        self._configuration.swarms.change(name, lambda membership: recover(membership, params.code))
        self._configuration.reload()
        return methods.MembersChanged(name, "this computer has the founder's key again", is_known=True)

    def _find_person(self, params: methods.MemberParams) -> tuple[Membership, Members, Person]:
        """Return a swarm, its members, and the one that is named. Raises UsageError."""
        membership = self._configuration.find(params.swarm, has_members=True)
        members = membership.members()
        return membership, members, find_person(members, params.name)

    def _with_servers(self, found: methods.MembersList, membership: Membership) -> methods.MembersList:
        """Add the servers that this computer's node has seen, if it is in that swarm."""
        facts = self._supervisor.facts_of(membership.swarm)
        found = structs.replace(found, leader_heard_at=self._parts.members.leader_heard_at(membership.swarm))
        if facts.servers is None:
            return found
        at = round(time.time() - (time.monotonic() - facts.servers_at))
        return structs.replace(found, servers=facts.servers.servers, servers_at=float(at))

    async def _lead(self, swarm: str, decide: _Decide, done: str) -> methods.MembersChanged:
        """Write a leader's decision; a running node passes it on."""
        name = self._configuration.find(swarm, has_members=True).swarm.name
        _, _, is_known = await self._parts.members.lead(name, lambda own: decide(own, own.members()))
        log.info("members of %s: %s", name, done)
        return methods.MembersChanged(name, done, is_known)


def _notice(found: Sequence[methods.WrongResultsReport]) -> Sentence:
    """Return what the status says of reports, those about this computer first; nothing without reports."""
    if not found:
        return NOTHING
    first = min(found, key=lambda each: not each.is_here)
    names = ", ".join(first.found_by[:_MAX_SHOWN])
    if first.is_here:
        return sentence("This computer returned wrong results: found by {name}", name=names)
    who, what = first.name, first.machine
    return sentence("{who}'s {what} returned wrong results: found by {name}", who=who, what=what, name=names)


def _ways_back(members: Members, person: Person) -> str:
    """Return a remark about open invites with which a removed person could apply again; empty without one."""
    known = [key for key in members.invites if key == person.invite or members.inviters[key] == person.key]
    ids = short_ids(members.invites)
    open_ones = [ids[key] for key in known if members.free_seats(key) > 0 and not members.is_public(key)]
    return f", who can apply again until you end the invite {' and '.join(open_ones)}" if open_ones else ""


def _list_of(membership: Membership, book: ReportBook) -> methods.MembersList:
    members = membership.members()
    you = membership.person(members)
    has_key = membership.person_seed is not None
    asking = members.request_to(membership.person_public, time.time()) if has_key else None
    return methods.MembersList(
        swarm=membership.swarm.name,
        members=tuple(_people(membership, members, you)),
        invites=tuple(_invites(members)),
        may_lead=membership.founder_seed is not None or (has_key and you is not None and you.may_lead),
        is_founder=membership.founder_seed is not None,
        has_key=has_key,
        asking="" if asking is None or membership.has_machine(asking.key) else asking.name,
        wrong_results=tuple(book.wrong_results(membership, members)),
    )


def _people(membership: Membership, members: Members, you: Person | None) -> Iterable[methods.Member]:
    _, waiting = guests_to_confirm(membership, members)
    names, invites = person_names(members), short_ids(members.invites)
    ids = short_ids(names)
    for person in (*members.people.values(), *members.guests.values()):
        author = members.inviters.get(person.invite, b"")
        inviter = members.founder if author == members.swarm_key else members.person(author)
        machines = machine_names(person)
        yield methods.Member(
            names[person.key],
            ids[person.key],
            "founder" if person.is_founder else "guest" if person.is_guest else str(person.rank),
            float(members.heard.get(person.key, 0)),
            "" if person.is_founder else invites.get(person.invite, person.invite.hex()[:ID_LETTERS]),
            person == you,
            members.is_on_probation(person, time.time()),
            tuple(methods.MemberMachine(machines[each.key], peer_id_of(each.key)) for each in person.machines),
            names.get(inviter.key, inviter.name) if inviter is not None else "",
            person in waiting,
        )


def _invites(members: Members) -> Iterable[methods.OpenInvite]:
    ids = short_ids(members.invites)
    for key, seats in sorted(members.invites.items(), key=lambda each: (each[1].expires_s, each[0])):
        used = seats.people - members.free_seats(key)
        yield methods.OpenInvite(ids[key], float(seats.expires_s), seats.people, used, members.is_public(key))


def _decision(record: Record, names: dict[bytes, str]) -> methods.LeaderDecision:
    def name(person: bytes) -> str:
        return names.get(person, person.hex()[:ID_LETTERS])

    match record.content:
        case Confirm() as confirmed:
            return methods.LeaderDecision("confirm", confirmed.name)
        case Remove(person, machine):
            return methods.LeaderDecision("remove_machine" if machine else "remove", name(person))
        case Seats(invite):
            return methods.LeaderDecision("invite", invite.hex()[:ID_LETTERS])
        case EndInvite(invite):
            return methods.LeaderDecision("end_invite", invite.hex()[:ID_LETTERS])
        case Choose(model):
            return methods.LeaderDecision("model", model)
        case _:
            return methods.LeaderDecision("other", "")
