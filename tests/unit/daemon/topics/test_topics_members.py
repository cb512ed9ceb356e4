"""The people of a swarm over a real socket."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from helpers.own_daemon import Ask, ask_until, asking, own_daemon
from potluck_control import schema
from potluck_control.client import ControlError
from potluck_control.engine_messages import Servers
from potluck_control.methods import computers, members
from potluck_control.methods.computers import Adding, AddParams, CodeParams
from potluck_control.methods.members import Member, MemberParams, PromoteParams, SeenServer, SwarmParams, WithdrawParams
from potluck_control.places import Places
from potluck_daemon.daemon import Daemon
from potluck_daemon.swarms import adding
from potluck_daemon.topics.members import find_person

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.invite import accept
from potluck.membership.leadership import invite
from potluck.membership.membership import read_all
from potluck.membership.pairing import PairingCode
from potluck.membership.roster import Roster
from potluck.membership.statements import countersign, read_statement
from potluck.protocol.swarm import new_swarm


@pytest.fixture
async def bob(ask: Ask, daemon: Daemon) -> str:
    """Found a swarm into which the founder lets Bob with an invite. Return the invite's id."""
    await ask(schema.CREATE)
    return enrol(daemon, "Bob")


def enrol(daemon: Daemon, name: str) -> str:
    founder = daemon.configuration.swarms.find("home")
    statement, made = invite(founder, time.time())
    machine = Identity.generate()
    applicant = accept(made, name, machine, f"{name}'s laptop", time.time())
    key = founder.swarm.founder_key
    assert key is not None
    assert founder.person_key is not None
    enrolled = countersign(key, read_statement(key, applicant.application), founder.person_key)
    found = [statement, enrolled, *read_all(key, applicant.statements)]
    daemon.configuration.learn_members(founder.swarm, [item.data for item in found])
    return statement.content.invite.hex()  # type: ignore[union-attr]


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


async def test_an_admin_is_appointed_and_an_invite_withdrawn(ask: Ask, bob: str) -> None:
    await ask(members.PROMOTE, PromoteParams("Bob", is_admin=True))
    assert (await bob_of(ask)).rank == "admin"
    await ask(members.WITHDRAW, WithdrawParams(bob[:6]))
    assert (await ask(members.LIST)).invites == ()


async def test_an_open_swarm_has_no_members(ask: Ask, daemon: Daemon) -> None:
    daemon.configuration.swarms.create(new_swarm("all", "model", 4), is_open=True)
    daemon.configuration.reload()
    listed = await ask(members.LIST, SwarmParams("all"))
    assert (listed.is_open, listed.members) == (True, ())
    with pytest.raises(ControlError, match="open to everybody"):
        await ask(members.REMOVE, MemberParams("Bob", swarm="all"))


async def test_a_name_like_an_id_is_not_taken_for_its_person(daemon: Daemon, bob: str) -> None:
    def roster() -> Roster:
        return daemon.configuration.swarms.find("home").roster(time.time())

    victim = find_person(roster(), "bob")
    enrol(daemon, victim.id[:8])
    assert find_person(roster(), victim.id[:8]) == victim
    enrol(daemon, "bob")
    with pytest.raises(UsageError, match="several people"):
        find_person(roster(), "Bob")


# -- adding a computer, between two daemons over loopback --------------------------------------------------------------

HERE = AddParams(address="127.0.0.1")


@pytest_asyncio.fixture
async def laptop(ask: Ask, tmp_path: Path, environment: dict[str, str]) -> AsyncIterator[Ask]:
    """Another computer of a person who has founded a swarm; it has joined nothing."""
    await ask(schema.CREATE)
    folder = tmp_path / "b"
    folder.mkdir()
    places = Places(*(folder / name for name in ("config", "state", "run", "cache")))
    places.config.mkdir()
    async with own_daemon(places, environment) as daemon:
        yield asking(daemon)


async def ended(ask: Ask) -> Adding:
    return await ask_until(ask, computers.ADDING, lambda found: found.added or found.problem)


async def test_a_code_makes_a_computer_the_same_persons_and_works_once(ask: Ask, laptop: Ask) -> None:
    code = (await ask(computers.ADD, HERE)).code
    added = await laptop(computers.JOIN, CodeParams(code.lower()))
    (you,) = (await ask(members.LIST)).members
    assert (added.swarm, added.person) == ("home", you.name)
    found = await ended(ask)
    assert (found.code, found.problem) == ("", "")
    assert len((await ask(members.LIST)).members[0].machines) == 2
    theirs = await laptop(members.LIST)
    assert [each.is_you for each in theirs.members] == [True]
    assert (theirs.may_lead, theirs.has_key) == (False, False)
    with pytest.raises(ControlError, match="cannot be reached"):
        await laptop(computers.JOIN, CodeParams(code))
    with pytest.raises(ControlError, match="cannot add others"):
        await laptop(computers.ADD, HERE)


async def test_a_few_wrong_codes_end_the_right_one(ask: Ask, laptop: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding, "MAX_WRONG", 2)  # each takes a second
    right = PairingCode.read((await ask(computers.ADD, HERE)).code)
    wrong = str(PairingCode.generate(right.host, right.port))
    for _ in range(2):
        with pytest.raises(ControlError, match="refuses"):
            await laptop(computers.JOIN, CodeParams(wrong))
    assert (await ended(ask)).problem == "somebody tried wrong codes"
    with pytest.raises(ControlError, match="cannot be reached"):
        await laptop(computers.JOIN, CodeParams(str(right)))


async def test_a_code_survives_strangers_who_only_connect_and_ends_when_it_is_cancelled(ask: Ask, laptop: Ask) -> None:
    for is_cancelled in (False, True):
        code = (await ask(computers.ADD, HERE)).code
        at = PairingCode.read(code)
        for said in (b"", b"\xff" * 8, (32).to_bytes(4, "big") + bytes(32)):
            _, writer = await asyncio.open_connection(at.host, at.port)
            writer.write(said)
            writer.close()
        if is_cancelled:
            assert await ask(computers.CANCEL) == Adding()
            with pytest.raises(ControlError, match="cannot be reached"):
                await laptop(computers.JOIN, CodeParams(code))
        else:
            assert (await laptop(computers.JOIN, CodeParams(code))).swarm == "home"
