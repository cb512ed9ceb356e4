"""Adding a computer by its code, between two daemons over loopback."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from helpers.own_daemon import Ask, asking, own_daemon
from potluck_control import schema
from potluck_control.client import ControlError
from potluck_control.methods import computers, members
from potluck_control.methods.computers import Adding, AddParams, CodeParams
from potluck_control.places import Places
from potluck_daemon.swarms import adding

from potluck.membership.pairing import PairingCode

HERE = AddParams(address="127.0.0.1")


@pytest_asyncio.fixture
async def laptop(tmp_path: Path, environment: dict[str, str]) -> AsyncIterator[Ask]:
    """Another computer of the same person, which has joined nothing."""
    folder = tmp_path / "b"
    folder.mkdir()
    places = Places(*(folder / name for name in ("config", "state", "run", "cache")))
    places.config.mkdir()
    async with own_daemon(places, environment) as daemon:
        yield asking(daemon)


@pytest.fixture(autouse=True)
async def _a_swarm(ask: Ask) -> None:
    await ask(schema.CREATE)


async def ended(ask: Ask) -> Adding:
    found: Adding = await ask(computers.ADDING)
    while not found.added and not found.problem:
        found = await ask(computers.ADDING)
    return found


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
