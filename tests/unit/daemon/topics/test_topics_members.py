"""The people of a swarm over a real socket."""

import time

import pytest
from helpers.own_daemon import Ask
from potluck_control import schema
from potluck_control.client import ControlError
from potluck_control.engine_messages import Servers
from potluck_control.methods import computers, members
from potluck_control.methods.computers import ConfirmParams
from potluck_control.methods.members import (
    EndInviteParams,
    Member,
    MemberParams,
    PromoteParams,
    SeenServer,
    SwarmParams,
)
from potluck_daemon.daemon import Daemon
from potluck_daemon.topics.members import find_person

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite, accept, machine_invite
from potluck.membership.leadership import confirm, seats
from potluck.membership.members import Members
from potluck.protocol.swarm import new_swarm


@pytest.fixture
async def bob(ask: Ask, daemon: Daemon) -> str:
    """Found a swarm into which the founder lets Bob with an invite. Return the invite's id."""
    await ask(schema.CREATE)
    return enrol(daemon, "Bob")


def enrol(daemon: Daemon, name: str, *, is_confirmed: bool = True) -> str:
    """Have somebody apply with a new invite. Return the invite's id."""
    swarms = daemon.configuration.swarms
    offer, seed = seats(time.time())
    founder, entries = swarms.lead("home", lambda _: [offer])
    made = Invite(founder.swarm, seed, entries[-1].data)
    applicant = accept(made, name, Identity.generate(), f"{name}'s laptop", time.time())
    swarms.learn("home", [applicant.application, applicant.machines])
    if is_confirmed:
        swarms.lead("home", lambda known: [confirm(guest) for guest in known.members().guests.values()])
    daemon.configuration.reload()
    return offer.invite.hex()


async def bob_of(ask: Ask) -> Member:
    return next(each for each in (await ask(members.LIST)).members if each.name == "Bob")


async def test_the_list_says_who_invited_whom(ask: Ask, bob: str) -> None:
    listed = await ask(members.LIST)
    guest, you = sorted(listed.members, key=lambda each: each.is_you)
    assert (you.is_you, you.rank, you.invited_by) == (True, "founder", "")
    assert (guest.name, guest.invite, guest.invited_by) == ("Bob", bob[:8], you.name)
    assert [machine.name for machine in guest.machines] == ["Bob's laptop"]
    assert (listed.may_lead, listed.is_founder, listed.is_open) == (True, True, False)


async def test_the_list_has_who_serves_the_served_swarm(ask: Ask, daemon: Daemon, bob: str) -> None:
    assert (await ask(members.LIST)).servers_at is None
    (machine,) = (await bob_of(ask)).machines
    seen = SeenServer(machine.peer_id, 0, 4, "online", 12.5, 0.02)
    before = time.time()
    daemon._supervisor._heard(Servers((seen,)))
    listed = await ask(members.LIST)
    assert listed.servers == (seen,)
    assert listed.servers_at is not None
    assert before - 1.0 <= listed.servers_at <= time.time() + 1.0


async def test_a_computer_is_removed_by_its_peer_id_and_a_person_by_name(ask: Ask, bob: str) -> None:
    (machine,) = (await bob_of(ask)).machines
    await ask(members.REMOVE, MemberParams("Bob", machine.peer_id))
    assert (await bob_of(ask)).machines == ()
    with pytest.raises(ControlError, match="no computer named"):
        await ask(members.REMOVE, MemberParams("Bob", machine.peer_id))
    await ask(members.REMOVE, MemberParams("Bob"))
    assert [each.is_you for each in (await ask(members.LIST)).members] == [True]


async def test_an_admin_is_appointed_and_an_invite_ended(ask: Ask, bob: str) -> None:
    await ask(members.PROMOTE, PromoteParams("Bob", is_admin=True))
    assert (await bob_of(ask)).rank == "admin"
    await ask(members.END_INVITE, EndInviteParams(bob[:6]))
    assert (await ask(members.LIST)).invites == ()


async def test_an_open_swarm_has_no_members(ask: Ask, daemon: Daemon) -> None:
    daemon.configuration.swarms.create(new_swarm("all", "model", 4), is_open=True)
    daemon.configuration.reload()
    listed = await ask(members.LIST, SwarmParams("all"))
    assert (listed.is_open, listed.members) == (True, ())
    with pytest.raises(ControlError, match="open to everybody"):
        await ask(members.REMOVE, MemberParams("Bob", swarm="all"))


async def test_a_name_like_an_id_is_not_taken_for_its_person(daemon: Daemon, bob: str) -> None:
    def known() -> Members:
        return daemon.configuration.swarms.find("home").members()

    victim = find_person(known(), "bob")
    enrol(daemon, victim.id[:8])
    assert find_person(known(), victim.id[:8]) == victim
    enrol(daemon, "bob")
    with pytest.raises(UsageError, match="several people"):
        find_person(known(), "Bob")


async def test_a_guest_is_confirmed_by_a_click(ask: Ask, daemon: Daemon, bob: str) -> None:
    enrol(daemon, "Eve", is_confirmed=False)
    eve = next(each for each in (await ask(members.LIST)).members if each.name == "Eve")
    assert (eve.rank, eve.waits) == ("guest", False)
    await ask(members.CONFIRM, MemberParams("Eve"))
    assert {each.rank for each in (await ask(members.LIST)).members} == {"founder", "member"}


async def test_a_dismissal_is_tried_first_and_takes_back_the_decisions_that_shall_not_count(
    ask: Ask, daemon: Daemon, bob: str
) -> None:
    await ask(members.PROMOTE, PromoteParams("Bob", is_admin=True))
    found = await ask(members.DECISIONS, MemberParams("Bob"))
    assert found.decisions == ()
    tried = await ask(members.PROMOTE, PromoteParams("Bob", is_admin=False, keep=0, is_trial=True))
    assert (tried.lost, tried.returned) == ((), ())
    assert (await bob_of(ask)).rank == "admin"
    await ask(members.PROMOTE, PromoteParams("Bob", is_admin=False, keep=0))
    assert (await bob_of(ask)).rank == "member"


async def test_a_computer_that_asks_with_an_invite_for_one_machine_is_listed_once_its_name_is_confirmed(
    ask: Ask, daemon: Daemon, bob: str
) -> None:
    made = machine_invite(daemon.configuration.swarms.find("home"), time.time())
    asking_one = accept(made, "", Identity.generate(), "Laptop", time.time())
    assert asking_one.person_seed is None
    daemon.configuration.swarms.learn("home", [asking_one.application])
    daemon.configuration.reload()
    assert (await ask(members.LIST)).asking == "Laptop"
    with pytest.raises(ControlError):
        await ask(computers.CONFIRM, ConfirmParams("Another"))
    await ask(computers.CONFIRM, ConfirmParams("Laptop"))
    listed = await ask(members.LIST)
    you = next(each for each in listed.members if each.is_you)
    assert (len(you.machines), listed.asking) == (2, "")
