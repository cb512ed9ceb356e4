"""An engine that other people proved wrong serves nobody until the swarm tries it again, whoever has the device."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from helpers.engine_peers import until
from helpers.lone_engine import Machine
from potluck_control.engine_messages import FoundWrong, Online
from potluck_engine import server

from potluck.audit.accusations import Accusation, Finding, Opinion, Verdict
from potluck.audit.consequences import Case
from potluck.protocol.blocks import PersonId
from potluck.protocol.codes import Code, RemoteError

ANN, BEN, CEM, EVE = map(PersonId, ("ann", "ben", "cem", "eve"))
ID = b"charge"
CASE = Case(
    Accusation(ID, ANN, EVE, b"server", 0.0),
    (Opinion(ID, BEN, Finding.WRONG), Opinion(ID, CEM, Finding.WRONG)),
    Verdict.PROVEN,
)


class Court:
    """What the directory knows of this engine, and how often the engine asked."""

    case: Case | None = None
    asked = 0

    def case_against_me(self) -> Case | None:
        self.asked += 1
        return self.case


@pytest.fixture
async def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Machine]:
    monkeypatch.setattr(server, "INTERVAL_S", 0.01)
    made = Machine(tmp_path)
    async with made.engine:
        yield made


@pytest.fixture
async def court(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Court:
    made = Court()
    monkeypatch.setattr(machine.engine.node.directory, "case_against_me", made.case_against_me)
    return made


def verdicts(machine: Machine) -> list[int]:
    """How many people found it wrong, as the daemon was told."""
    return [event.people for event in machine.events if isinstance(event, FoundWrong)]


async def refuses(machine: Machine) -> bool:
    with pytest.raises(RemoteError) as refused:
        await machine.begin("another")
    return refused.value.code is Code.DRAINING


async def test_an_engine_excluded_while_it_was_offloaded_does_not_come_back(machine: Machine, court: Court) -> None:
    await machine.engine.offload()
    court.case = CASE
    await machine.engine.restore()
    await until(lambda: verdicts(machine) == [2])
    assert await refuses(machine)
    court.case = None
    await until(lambda: verdicts(machine) == [2, 0])
    await machine.begin()


async def test_an_engine_that_is_excluded_while_it_finishes_frees_its_weights(machine: Machine, court: Court) -> None:
    await machine.begin()
    await machine.engine.drain()
    court.case = CASE
    await until(lambda: verdicts(machine) == [2])
    layers = machine.engine.state.blocks.whole.layers
    assert not any(parameter.untyped_storage().nbytes() for parameter in layers.parameters())
    court.case = None
    await until(lambda: verdicts(machine) == [2, 0])
    await machine.begin()


async def test_an_offloaded_engine_leaves_the_device_alone_after_its_exclusion(machine: Machine, court: Court) -> None:
    court.case = CASE
    await until(lambda: verdicts(machine) == [2])
    await machine.engine.offload()
    court.case = None
    asked = court.asked
    await until(lambda: court.asked >= asked + 3)
    assert [type(event) for event in machine.events].count(Online) == 1
    await machine.engine.restore()
    await until(lambda: verdicts(machine) == [2, 0])
    await machine.begin()
