"""Calls through the real `potluck control`, to the real server in this process."""

import asyncio
import os
import random
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
from potluck_control import schema
from potluck_control.all_methods import METHODS
from potluck_control.client import ControlClient, DaemonAwayError
from potluck_control.piped import PipedLine
from potluck_control.states import Reason, State
from potluck_daemon.control.events import Broadcast
from potluck_daemon.control.peers import AccessRule
from potluck_daemon.control.server import ControlServer

from potluck.errors import PotluckError

SERVING = schema.Status(State.SERVING, Reason.NONE, "serving", 1.0, "test")
COMMAND = (sys.executable, "-m", "potluck_cli.main", "control", "--wait=0")


async def answer(_: object) -> object:
    return SERVING


async def be_silent(_: object) -> object:
    return await asyncio.Event().wait()


@pytest_asyncio.fixture()
async def broadcast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Broadcast]:
    """Of a server at the place where the command looks."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    made = Broadcast()
    handlers = dict.fromkeys(METHODS, answer) | {schema.RESUME.name: be_silent}
    control = ControlServer(tmp_path / "potluck/potluckd.sock", AccessRule(os.getuid()), handlers, made)
    await control.start()
    yield made
    await control.close()


@pytest_asyncio.fixture()
async def line() -> AsyncIterator[PipedLine]:
    made = PipedLine(COMMAND, lambda said: PotluckError(said.decode().strip(), hint="explained"))
    yield made
    await asyncio.to_thread(made.close)


def running() -> list[psutil.Process]:
    return [item for item in psutil.Process().children() if "control" in item.cmdline()]


async def test_calls_share_one_command_one_after_the_other(broadcast: Broadcast, line: PipedLine) -> None:
    client = ControlClient(line)
    assert await asyncio.to_thread(client.call, schema.STATUS) == SERVING
    (process,) = running()
    assert await asyncio.to_thread(client.call, schema.STATUS) == SERVING
    assert running() == [process]
    process.kill()
    psutil.wait_procs([process])
    assert await asyncio.to_thread(client.call, schema.STATUS) == SERVING, "one that died is replaced"
    await asyncio.to_thread(line.close)
    assert not running()


async def test_events_come_through_and_end_with_their_reader(broadcast: Broadcast, line: PipedLine) -> None:
    transition = schema.Transition(3.0, State.SERVING, State.PAUSED, Reason.USER, "paused by you")
    events = ControlClient(line).events()
    assert await asyncio.to_thread(next, events) == SERVING
    broadcast.publish_transition(transition)
    assert await asyncio.to_thread(next, events) == transition
    assert await asyncio.to_thread(ControlClient(line).call, schema.STATUS) == SERVING  # beside it
    await asyncio.to_thread(events.close)
    await asyncio.to_thread(line.close)
    assert not running()


async def test_a_daemon_that_is_silent_is_away_and_its_command_ended(broadcast: Broadcast, line: PipedLine) -> None:
    client = ControlClient(line, timeout_s=2.0)
    with pytest.raises(DaemonAwayError, match="no answer in time"):
        await asyncio.to_thread(client.call, schema.RESUME)
    assert not running()


async def test_what_a_command_says_in_failing_is_explained_and_one_that_is_missing_is_named(
    line: PipedLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(DaemonAwayError, match="the daemon is not running") as away:
        await asyncio.to_thread(ControlClient(line).call, schema.STATUS)
    assert away.value.hint == "explained"
    with pytest.raises(DaemonAwayError, match="nothing-like-this"):
        ControlClient(PipedLine(("/nothing-like-this",), lambda _: PotluckError(""))).call(schema.STATUS)


def test_whatever_a_command_says_instead_of_a_daemon_is_an_error_for_people(tmp_path: Path) -> None:
    """Seeded: noise, answers that are cut, too long, or of other types, and an end with any code."""
    rng = random.Random(14)
    good = b'HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n{"jsonrpc":"2.0","id":1,"result":{"a":1}}'
    for number in range(6):
        said = bytearray(good)
        for _ in range(rng.randrange(4)):
            said[rng.randrange(len(said))] = rng.randrange(256)
        said = said[: rng.randrange(len(said))] if number % 2 else said + rng.randbytes(rng.randrange(100_000))
        (tmp_path / "said").write_bytes(rng.randbytes(50) if number == 0 else said)
        line = PipedLine(("sh", "-c", f"cat {tmp_path}/said; exit {number % 3}"), lambda _: PotluckError("explained"))
        with pytest.raises(PotluckError):
            ControlClient(line, timeout_s=60).call(schema.STATUS)
        line.close()


async def test_whatever_goes_into_the_command_the_daemon_answers_the_next_caller(
    broadcast: Broadcast, line: PipedLine
) -> None:
    """Seeded: noise, several requests at once, a head without an end, and an input that ends anywhere."""
    rng = random.Random(14)
    good = (
        b"POST /rpc HTTP/1.1\r\nHost: potluckd.local\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    )
    inputs = (b"", good * 50, rng.randbytes(300_000), good[: rng.randrange(len(good))], b"A: b\r\n" * 20_000)
    for data in inputs:
        command = await asyncio.create_subprocess_exec(
            *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        said, _ = await command.communicate(data)
        assert not said or said.startswith(b"HTTP/1.1 ")
        assert command.returncode == 0
    assert await asyncio.to_thread(ControlClient(line).call, schema.STATUS) == SERVING
