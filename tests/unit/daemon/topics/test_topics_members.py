"""The people of a swarm over a real socket."""

import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from helpers.members import enrolled, founded, invited
from helpers.own_daemon import Ask, ask_until
from potluck_control.api import schema
from potluck_control.api.client import ControlError
from potluck_control.api.schema import InviteParams
from potluck_control.methods import members, swarms
from potluck_control.methods.members import (
    EndInviteParams,
    LeaderDecision,
    Member,
    MemberParams,
    MembersList,
    PromoteParams,
    RecoveryCode,
    SeenServer,
    SwarmParams,
)
from potluck_control.methods.swarms import LeaveParams
from potluck_control.processes.engine_messages import Confirmed, Examined, StandbyOnline, SwarmServers
from potluck_control.processes.engine_messages import MemberRecords as News
from potluck_daemon.daemon import Daemon
from potluck_daemon.settings.state import StateFile
from potluck_daemon.swarms.names import find_machine, find_person, machine_names, short_ids
from potluck_daemon.swarms.reports import ReportBook
from potluck_daemon.topics.members import MembersTopic

from potluck.errors import AmbiguousError
from potluck.membership.identity import Identity, peer_id_of
from potluck.membership.invite import Invite, accept
from potluck.membership.leadership import DAY_S, confirm, seats
from potluck.membership.members import Members, Person
from potluck.membership.membership import Membership
from potluck.membership.records import NOTHING, Machine, Record, WrongResults, read_all, write_report
from potluck.protocol.swarm import new_swarm

ADDRESS = "/ip4/192.0.2.1/tcp/31337/p2p/12D3KooWNzKKqPfbmrQqVZPkLfk52MCgPRZDirP7dSajsgaRG6WK"
ANA, BOB, EVE = (Identity.generate() for _ in range(3))
Bob = tuple[Membership, str]
"""A person's membership, and the id of the invite they joined with."""


@pytest.fixture
async def bob(ask: Ask, daemon: Daemon) -> Bob:
    """Found a swarm into which the founder lets Bob with an invite."""
    await ask(schema.CREATE)
    return enrol(daemon, "Bob")


def apply_for(
    daemon: Daemon, name: str, *, at_s: float = 0.0, machine: Identity | None = None
) -> tuple[Membership, str]:
    """Return somebody who has an invite of the founder, made at `at_s`, and of whom the daemon has not heard."""
    at_s = at_s or time.time()
    offer, seed = seats(at_s)
    founder, new = daemon.parts.configuration.swarms.lead("home", lambda own: [offer])
    invite = Invite(founder.swarm, seed, new[-1].data)
    return accept(invite, name, machine or Identity.generate(), f"{name}'s laptop", at_s), offer.invite.hex()


def enrol(daemon: Daemon, name: str, machine: Identity | None = None) -> Bob:
    newcomer, invite = apply_for(daemon, name, machine=machine)
    joined = daemon.parts.configuration.swarms
    joined.learn("home", [newcomer.application, newcomer.machines])
    founder, _ = joined.lead("home", lambda own: [confirm(guest) for guest in own.members().guests.values()])
    daemon.parts.configuration.reload()
    return newcomer.with_records(read_all(founder.records), time.time()), invite


def told(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> list[News]:
    """Have a standby node in the swarm, as far as the daemon knows. Return the list of what it is told."""
    heard: list[News] = []
    monkeypatch.setattr(daemon.parts.supervisor, "send", heard.append)
    daemon.parts.supervisor._standby.addresses = ("/ip4/127.0.0.1/tcp/1",)
    daemon.parts.supervisor._standby.swarm = daemon.parts.configuration.swarm
    return heard


def hear(daemon: Daemon, records: Iterable[bytes] = (), **more: bool) -> None:
    """Have the node say what it learned."""
    launch = daemon.parts.configuration.launch
    assert launch is not None
    daemon.parts.members.apply(launch, News(tuple(records), **more))


async def member(ask: Ask, name: str = "Bob") -> Member:
    return next(each for each in (await ask(members.LIST)).members if each.name == name)


async def until_ranked(ask: Ask, name: str, rank: str) -> MembersList:
    def is_ranked(listed: MembersList) -> bool:
        return any((each.name, each.rank) == (name, rank) for each in listed.members)

    return await ask_until(ask, members.LIST, is_ranked)


async def test_the_list_says_who_invited_whom(ask: Ask, bob: Bob) -> None:
    listed = await ask(members.LIST)
    guest, you = sorted(listed.members, key=lambda each: each.is_you)
    assert (you.is_you, you.rank, you.invite) == (True, "founder", "")
    assert (guest.name, guest.rank, guest.invite, guest.invited_by) == ("Bob", "member", bob[1][:8], you.name)
    assert [machine.name for machine in guest.machines] == ["Bob's laptop"]
    assert (listed.may_lead, listed.is_founder, listed.is_open, listed.asking) == (True, True, False, "")
    assert [(invite.id, invite.people, invite.used) for invite in listed.invites] == [(bob[1][:8], 10, 1)]


async def test_the_list_has_who_serves_the_served_swarm(ask: Ask, daemon: Daemon, bob: Bob) -> None:
    assert (await ask(members.LIST)).servers_at is None
    (machine,) = (await member(ask)).machines
    seen = SeenServer(machine.peer_id, 0, 4, "online", 12.5, 0.02)
    before = time.time()
    daemon.parts.supervisor._set_launch(daemon.parts.configuration.launch)
    daemon.parts.supervisor._apply(SwarmServers((seen,)))
    listed = await ask(members.LIST)
    assert listed.servers == (seen,)
    assert listed.servers_at is not None
    assert before - 1.0 <= listed.servers_at <= time.time() + 1.0


async def test_a_computer_is_removed_by_its_peer_id_and_a_person_by_name(ask: Ask, bob: Bob) -> None:
    (machine,) = (await member(ask)).machines
    await ask(members.REMOVE, MemberParams("Bob", machine.peer_id))
    assert (await member(ask)).machines == ()
    with pytest.raises(ControlError, match="no computer named"):
        await ask(members.REMOVE, MemberParams("Bob", machine.peer_id))
    await ask(members.REMOVE, MemberParams("Bob"))
    (you,) = (await ask(members.LIST)).members
    with pytest.raises(ControlError, match="this is you"):
        await ask(members.REMOVE, MemberParams(you.name))
    with pytest.raises(ControlError, match="that you are using"):
        await ask(members.REMOVE, MemberParams(you.name, you.machines[0].peer_id))


async def test_the_computer_in_use_is_not_removed_from_the_line_of_somebody_who_left(
    ask: Ask, daemon: Daemon, bob: Bob
) -> None:
    enrol(daemon, "Earlier", daemon.parts.configuration.swarms.machine())
    (machine,) = (await member(ask, "Earlier")).machines
    with pytest.raises(ControlError, match="that you are using"):
        await ask(members.REMOVE, MemberParams("Earlier", machine.peer_id))


def report(reporter: Membership, machine: bytes, now_s: float | None = None) -> Record:
    found = WrongResults(peer_id_of(machine), (0, 4), (32, 64), (), 0.5, 0.002)
    key = reporter.person_key
    assert key is not None
    swarm_key = reporter.members().swarm_key
    at_s = time.time() if now_s is None else now_s
    return write_report(swarm_key, reporter.person_public, machine, found, key, at_s)


async def test_a_leader_sees_who_reports_a_computer_until_they_dismiss_it(ask: Ask, daemon: Daemon, bob: Bob) -> None:
    eve, _ = enrol(daemon, "Eve")
    (machine,) = eve.members().people[eve.person_public].machines
    hear(daemon, [report(bob[0], machine.key).data])
    listed = await ask_until(ask, members.LIST, lambda listed: bool(listed.wrong_results))
    (found,) = listed.wrong_results
    assert (found.name, found.machine, found.found_by) == ("Eve", "Eve's laptop", ("Bob",))
    assert (found.is_confirmed, found.is_here) == (False, False)
    daemon.parts.supervisor._set_launch(daemon.parts.configuration.launch)
    daemon.parts.supervisor._apply(Confirmed(peer_id_of(machine.key), eve.person_public.hex()))  # who reported it once
    (found,) = (await ask(members.LIST)).wrong_results
    assert not found.is_confirmed
    daemon.parts.supervisor._apply(Confirmed(peer_id_of(machine.key), bob[0].person_public.hex()))
    (found,) = (await ask(members.LIST)).wrong_results
    assert found.is_confirmed
    (topic,) = (each for each in daemon._topics if isinstance(each, MembersTopic))
    topic.tick(time.time())
    await topic.tasks.wait()
    assert str(topic.notice) == "Eve's Eve's laptop returned wrong results: found by Bob"
    await ask(members.DISMISS, MemberParams("Eve"))
    hear(daemon, [report(bob[0], machine.key, time.time() + 600).data])  # as long as it goes on
    assert (await ask(members.LIST)).wrong_results == ()
    topic.tick(time.time())
    await topic.tasks.wait()
    assert not topic.notice
    with pytest.raises(ControlError, match="nothing is reported about Eve"):
        await ask(members.DISMISS, MemberParams("Eve"))
    hear(daemon, [report(bob[0], machine.key, time.time() + 700).data])
    daemon.parts.supervisor._apply(Confirmed(peer_id_of(machine.key), bob[0].person_public.hex()))  # what was dismissed
    (found,) = (await ask(members.LIST)).wrong_results
    assert found.is_confirmed


async def test_an_owner_sees_reports_about_this_computer_and_what_was_checked(
    ask: Ask, daemon: Daemon, bob: Bob
) -> None:
    hear(daemon, [report(bob[0], daemon.parts.configuration.swarms.machine().public_key).data])
    listed = await ask_until(ask, members.LIST, lambda listed: bool(listed.wrong_results))
    (found,) = listed.wrong_results
    assert (found.is_here, found.found_by, found.checked_at) == (True, ("Bob",), None)
    daemon.parts.supervisor._set_launch(daemon.parts.configuration.launch)
    daemon.parts.supervisor._apply(Examined("mlp.weight"))
    (found,) = (await ask(members.LIST)).wrong_results
    assert found.damaged == "mlp.weight"
    assert found.checked_at is not None


def test_ordinary_members_see_reports_about_their_own_computers_alone() -> None:
    ana, made = invited(founded(ANA), people=3)
    ana, bob = enrolled(ana, made, "Bob", BOB)
    ana, eve = enrolled(ana, made, "Eve", EVE)
    ana = ana.with_records([report(eve, BOB.public_key)], time.time())
    bob, eve = (each.with_records(read_all(ana.all_records), time.time()) for each in (bob, eve))
    book = ReportBook(StateFile(Path("unused")), lambda: ANA.public_key)
    found = [[each.name for each in book.wrong_results(who, who.members())] for who in (ana, bob, eve)]
    assert found == [["Bob"], ["Bob"], []]


async def test_the_founder_sees_what_a_dismissal_undoes(ask: Ask, daemon: Daemon, bob: Bob) -> None:
    admin, _ = bob
    await ask(members.PROMOTE, PromoteParams("Bob", is_admin=True, seats=5))
    assert (await member(ask)).rank == "admin"
    offer, seed = seats(time.time(), people=5)
    admin = admin.with_records(read_all(daemon.parts.configuration.swarms.find("home").records), time.time())
    admin, new = admin.writing([offer], time.time())
    cleo = accept(Invite(admin.swarm, seed, new[-1].data), "Cleo", Identity.generate(), "laptop", time.time())
    admin = admin.with_records(read_all([cleo.application]), time.time())
    admin, _ = admin.writing([confirm(guest) for guest in admin.members().guests.values()], time.time())
    daemon.parts.configuration.swarms.learn("home", admin.records)
    decided = (await ask(members.DECISIONS, MemberParams("bob"))).decisions
    assert decided == (LeaderDecision("invite", offer.invite.hex()[:8]), LeaderDecision("confirm", "Cleo"))
    demotion = PromoteParams("Bob", is_admin=False, keep=1, is_trial=True)
    assert (await ask(members.PROMOTE, demotion)).lost == ("Cleo",)
    assert (await member(ask)).rank == "admin"
    changed = await ask(members.PROMOTE, PromoteParams("Bob", is_admin=False))
    assert (changed.lost, changed.returned) == ((), ())
    assert [(await member(ask, name)).rank for name in ("Bob", "Cleo")] == ["member", "member"]


async def test_an_invite_is_ended_with_its_guests(ask: Ask, daemon: Daemon, bob: Bob) -> None:
    guest, invite = apply_for(daemon, "Cleo")
    daemon.parts.configuration.swarms.learn("home", [guest.application])
    assert (await member(ask, "Cleo")).rank == "guest"
    await ask(members.END_INVITE, EndInviteParams(invite[:6]))
    assert [each.name for each in (await ask(members.LIST)).members if not each.is_you] == ["Bob"]
    with pytest.raises(ControlError, match="no invite"):
        await ask(members.END_INVITE, EndInviteParams(invite[:6]))


async def test_an_admin_invites_no_more_people_than_the_founder_allows(ask: Ask, daemon: Daemon, bob: Bob) -> None:
    admin, _ = bob
    await ask(members.PROMOTE, PromoteParams("Bob", is_admin=True, seats=5))
    founder = daemon.parts.configuration.swarms.find("home")
    learned = admin.with_records(read_all(founder.records), time.time())
    daemon.parts.configuration.swarms.change("home", lambda _: learned)
    daemon.parts.configuration.remember_met(founder.swarm, [ADDRESS])
    with pytest.raises(ControlError, match="more people than you may invite"):
        await ask(schema.INVITE, InviteParams(people=6))
    assert (await ask(schema.INVITE, InviteParams(people=5))).people == 5


async def test_guests_are_confirmed_once_a_node_is_in_the_swarm(
    ask: Ask, daemon: Daemon, bob: Bob, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest, _ = apply_for(daemon, "Cleo")
    daemon.parts.configuration.reload()
    hear(daemon, [guest.application, guest.machines])
    await until_ranked(ask, "Cleo", "guest")
    news = told(daemon, monkeypatch)
    launch = daemon.parts.configuration.launch
    assert launch is not None
    daemon.parts.members.apply(launch, StandbyOnline("12D3", ()))
    assert not any(each.waits for each in (await until_ranked(ask, "Cleo", "member")).members)
    await daemon.parts.members.close()  # it is in the file before the node hears of it
    spread = read_all([record for message in news for record in message.records])
    assert guest.person_public in launch.membership.with_records(spread, time.time()).members().people


async def test_a_node_that_was_launched_earlier_hears_what_was_decided_since(
    ask: Ask, daemon: Daemon, bob: Bob, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = daemon.parts.configuration.launch
    assert launch is not None
    assert not (await ask(members.REMOVE, MemberParams("Bob"))).is_known
    news = told(daemon, monkeypatch)
    daemon.parts.members.apply(launch, StandbyOnline("12D3", ()))
    spread = read_all([record for message in news for record in message.records])
    assert bob[0].person_public not in launch.membership.with_records(spread, time.time()).members().people


async def test_a_guest_who_came_too_late_waits_for_a_click(
    ask: Ask, daemon: Daemon, bob: Bob, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(daemon, monkeypatch)
    guest, _ = apply_for(daemon, "Cleo", at_s=time.time() - 15 * DAY_S)
    hear(daemon, [guest.application])
    assert (await until_ranked(ask, "Cleo", "guest")).members[-1].waits
    assert (await ask(members.CONFIRM, MemberParams("Cleo"))).is_known
    assert (await member(ask, "Cleo")).rank == "member"
    with pytest.raises(ControlError, match="member already"):
        await ask(members.CONFIRM, MemberParams("Cleo"))


async def test_the_status_says_who_is_confirmed_and_when_a_leader_was_heard(ask: Ask, daemon: Daemon, bob: Bob) -> None:
    status = await ask(schema.STATUS)
    assert (status.is_confirmed, status.leader_heard_at) == (True, None)
    hear(daemon, leader_heard=True)
    assert (await ask(members.LIST)).leader_heard_at == pytest.approx(time.time(), abs=60)
    guest, _ = apply_for(daemon, "Cleo")
    daemon.parts.configuration.swarms.change("home", lambda _: guest)
    daemon.parts.configuration.reload()
    assert daemon.parts.configuration.standing.is_applicant
    founder = bob[0].with_records(read_all([guest.invite, guest.application]), time.time())
    daemon.parts.configuration.swarms.learn("home", founder.records)
    status = await ask(schema.RELOAD)
    assert (status.is_confirmed, daemon.parts.configuration.standing.is_applicant) == (False, False)


async def test_a_founder_leaves_when_the_recovery_code_is_written_down(ask: Ask, daemon: Daemon, bob: Bob) -> None:
    with pytest.raises(ControlError, match="nobody can appoint admins"):
        await ask(swarms.LEAVE, LeaveParams("home"))
    code = (await ask(members.RECOVERY_CODE)).code
    await ask(swarms.LEAVE, LeaveParams("home"))
    daemon.parts.configuration.swarms.adopt(bob[0])
    assert not (await ask(members.LIST)).is_founder
    with pytest.raises(ControlError, match="wrong letter"):
        await ask(members.RECOVER, RecoveryCode(code[:-1]))
    await ask(members.RECOVER, RecoveryCode(code))
    assert (await ask(members.LIST)).is_founder


async def test_a_founder_leaves_a_swarm_that_has_an_admin(ask: Ask, bob: Bob) -> None:
    await ask(members.PROMOTE, PromoteParams("Bob", is_admin=True))
    assert (await ask(swarms.LEAVE, LeaveParams("home"))).name == "home"


async def test_an_open_swarm_has_no_members(ask: Ask, daemon: Daemon) -> None:
    daemon.parts.configuration.swarms.create(new_swarm("all", "model", 4), is_open=True)
    daemon.parts.configuration.reload()
    listed = await ask(members.LIST, SwarmParams("all"))
    assert (listed.is_open, listed.members) == (True, ())
    with pytest.raises(ControlError, match="open to everybody"):
        await ask(members.REMOVE, MemberParams("Bob", swarm="all"))


async def test_a_name_like_an_id_is_not_taken_for_its_person(daemon: Daemon, bob: Bob) -> None:
    def known() -> Members:
        return daemon.parts.configuration.swarms.find("home").members()

    victim = find_person(known(), "bob")
    enrol(daemon, victim.id[:8])
    assert find_person(known(), victim.id[:8]) == victim
    enrol(daemon, victim.id[:4])
    with pytest.raises(AmbiguousError, match="several are called"):
        find_person(known(), victim.id[:4])


async def test_people_who_are_called_alike_are_shown_and_removed_one_by_one(ask: Ask, daemon: Daemon, bob: Bob) -> None:
    enrol(daemon, "bob")
    enrol(daemon, "Eve")
    listed = {each.name: each for each in (await ask(members.LIST)).members if not each.is_you}
    first, second = (each for name, each in listed.items() if name != "Eve")
    assert {first.name, second.name} == {f"Bob ({first.id})", f"bob ({second.id})"}
    with pytest.raises(AmbiguousError, match="several are called Bob") as refused:
        await ask(members.REMOVE, MemberParams("Bob"))
    assert refused.value.hint == f"use one of their ids: {first.id} (Bob's laptop), {second.id} (bob's laptop)"
    await ask(members.REMOVE, MemberParams(second.name))
    assert {each.name for each in (await ask(members.LIST)).members} >= {"Bob", "Eve"}


def test_names_that_look_alike_differ_whatever_their_owners_do() -> None:
    keys = [bytes([number]) * 32 for number in (1, 2, 3)]
    twin = keys[0][:16] + keys[1][:16]
    assert short_ids([*keys, twin]) == {
        keys[0]: keys[0].hex(),
        keys[1]: "02020202",
        keys[2]: "03030303",
        twin: twin.hex(),
    }
    vm = [Machine(key, "vm", b"") for key in keys]
    unseen = Machine(twin, "V\u3164m ", b"")
    person = Person(keys[0], "Root", b"", machines=(*vm, unseen, Machine(bytes(32), "pc", b"")))
    names = machine_names(person)
    assert len(set(names.values())) == len(names)
    assert names[bytes(32)] == "pc"
    assert [find_machine(person, names[machine.key]) for machine in person.machines] == list(person.machines)
    assert find_machine(person, peer_id_of(keys[1])) == vm[1]
    with pytest.raises(AmbiguousError, match="several are called vm"):
        find_machine(person, "vm")


async def test_what_is_decided_before_the_node_has_met_others_goes_into_a_chain_of_its_own(
    ask: Ask, daemon: Daemon, bob: Bob, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk may have been restored, and others hold what this computer wrote later."""

    def num_chains() -> int:
        return len(daemon.parts.configuration.find("home").members().chains.of(NOTHING))

    assert num_chains() == 1
    await ask(members.PROMOTE, PromoteParams("Bob", is_admin=True))
    assert num_chains() == 2
    told(daemon, monkeypatch)
    await ask(members.PROMOTE, PromoteParams("Bob", is_admin=False))
    assert num_chains() == 2


async def test_a_removal_names_the_invites_that_lead_back(ask: Ask, bob: Bob) -> None:
    changed = await ask(members.REMOVE, MemberParams("Bob"))
    assert changed.done == f"removed Bob, who can apply again until you end the invite {bob[1][:8]}"
