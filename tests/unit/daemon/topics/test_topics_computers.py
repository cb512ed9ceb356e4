"""A person's own computers, between two daemons whose nodes a test takes the place of."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from helpers.own_daemon import Ask, asking, own_daemon
from potluck_control.api import schema
from potluck_control.api.client import ControlError
from potluck_control.api.schema import JoinParams
from potluck_control.methods import members, swarms
from potluck_control.methods import members as computers
from potluck_control.methods.members import BackupParams, ConfirmParams, MemberParams, RestoreParams
from potluck_control.methods.swarms import LeaveParams
from potluck_control.places import Places
from potluck_daemon.daemon import Daemon

from potluck.membership.identity import peer_id_of

ADDRESS = "/ip4/192.0.2.1/tcp/31337/p2p/12D3KooWNzKKqPfbmrQqVZPkLfk52MCgPRZDirP7dSajsgaRG6WK"
PASSWORD = "ten letters at least"


@pytest_asyncio.fixture
async def laptop(ask: Ask, tmp_path: Path, environment: dict[str, str]) -> AsyncIterator[Daemon]:
    """Another computer of a person who has founded a swarm; it has joined nothing."""
    await ask(schema.CREATE)
    folder = tmp_path / "b"
    folder.mkdir()
    places = Places(*(folder / name for name in ("config", "state", "run", "cache")))
    places.config.mkdir()
    async with own_daemon(places, environment) as daemon:
        yield daemon


def exchange(one: Daemon, other: Daemon) -> None:
    """Have two computers know the same, as their nodes do when they compare."""
    for reader, writer in ((one, other), (other, one)):
        told = writer.parts.configuration.swarms.find("home")
        reader.parts.configuration.swarms.learn("home", filter(None, [*told.records, told.application, told.machines]))
        reader.parts.configuration.reload()


def has_pass(daemon: Daemon) -> bool:
    launch = daemon.parts.configuration.launch
    return launch is not None and bool(launch.membership.ticket)


async def test_an_invite_for_one_machine_makes_a_computer_the_same_persons(
    ask: Ask, daemon: Daemon, laptop: Daemon
) -> None:
    with pytest.raises(ControlError, match="cannot be found by others yet"):
        await ask(computers.ADD_COMPUTER)
    assert daemon.parts.configuration.swarm is not None
    daemon.parts.configuration.remember_met(daemon.parts.configuration.swarm, [ADDRESS])
    made = await ask(computers.ADD_COMPUTER)
    assert 0 < made.expires_at - time.time() <= 600
    ask_laptop = asking(laptop)
    await ask_laptop(schema.JOIN, JoinParams(made.invite))
    exchange(daemon, laptop)
    assert laptop.parts.configuration.standing.is_applicant
    name = (await ask(members.LIST)).asking
    with pytest.raises(ControlError, match="no computer named other asks"):
        await ask(computers.CONFIRM_COMPUTER, ConfirmParams("other"))
    await ask(computers.CONFIRM_COMPUTER, ConfirmParams(name))
    exchange(daemon, laptop)
    (you,) = (await ask(members.LIST)).members
    assert [machine.name for machine in you.machines] == [f"{name} ({each.peer_id[-8:]})" for each in you.machines]
    assert (await ask(members.LIST)).asking == ""
    theirs = await ask_laptop(members.LIST)
    assert [each.is_you for each in theirs.members] == [True]
    assert (theirs.may_lead, theirs.has_key, laptop.parts.configuration.standing.is_confirmed) == (False, False, True)
    with pytest.raises(ControlError, match="cannot add others"):
        await ask_laptop(computers.ADD_COMPUTER)
    added = peer_id_of(laptop.parts.configuration.swarms.machine().public_key)
    await ask(members.REMOVE, MemberParams(you.name, added))
    exchange(daemon, laptop)
    assert len((await ask(members.LIST)).members[0].machines) == 1


async def test_a_restored_computer_lists_itself_once_its_node_has_compared(
    ask: Ask, daemon: Daemon, laptop: Daemon
) -> None:
    sealed = await ask(computers.BACK_UP, BackupParams(PASSWORD))
    ask_laptop = asking(laptop)
    with pytest.raises(ControlError, match="password"):
        await ask_laptop(computers.RESTORE, RestoreParams(sealed.data, "another password"))
    assert (await ask_laptop(computers.RESTORE, RestoreParams(sealed.data, PASSWORD))).swarms == ("home",)
    exchange(daemon, laptop)
    listed = await ask_laptop(members.LIST)
    assert (listed.is_founder, len(listed.members[0].machines)) == (True, 1)
    assert has_pass(laptop)
    laptop.parts.configuration.swarms.tend("home")
    exchange(daemon, laptop)
    assert not has_pass(laptop)
    assert len((await ask(members.LIST)).members[0].machines) == 2
    await ask_laptop(swarms.LEAVE, LeaveParams("home", is_sure=True))
