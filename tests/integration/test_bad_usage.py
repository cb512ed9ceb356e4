"""What people get wrong on the command line: one line that says what to do, an exit code, and nothing left running."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from helpers.command_line import CommandLine, Outcome
from helpers.small_model import golden_with_tokenizer

from benchmarks.local_swarm import LocalSwarm
from potluck.membership.identity import Identity
from potluck.membership.invite import encode_invite
from potluck.membership.joined import JoinedSwarms
from potluck.membership.leadership import invite
from potluck.protocol.blocks import Span
from potluck.protocol.swarm import new_swarm

FAILED, USAGE, NETWORK = 1, 2, 3


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="potluck-bad-"))  # pytest's own folders are too deep for Unix sockets
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    return golden_with_tokenizer(folder / "golden")


@pytest.fixture(scope="module")
def swarm(model: Path, folder: Path) -> Iterator[LocalSwarm]:
    """Blocks 0:2 of 4 are served; nobody serves the rest."""
    with LocalSwarm(model, [Span(0, 2)]) as swarm:
        yield swarm


@pytest.fixture(scope="module", autouse=True)
def patient(swarm: LocalSwarm) -> Iterator[subprocess.Popen[str]]:
    """A `generate` that waits for the missing blocks beside all other tests."""
    folder = Path(tempfile.mkdtemp(prefix="potluck-bad-"))
    command = CommandLine(folder).start(
        "generate", "--swarm", swarm.invite, "--model", str(swarm.checkpoint), "--max-wait", "20s", "hello"
    )
    yield command
    command.kill()
    command.communicate()
    shutil.rmtree(folder)


@pytest.fixture
def potluck(folder: Path) -> Iterator[CommandLine]:
    """After each test, nothing of it runs any more."""
    command_line = CommandLine(folder)
    yield command_line
    _, alive = psutil.wait_procs(command_line.processes(), timeout=60)
    assert alive == []
    assert not list(folder.rglob("*.sock"))


@pytest.fixture(scope="module")
def nowhere(swarm: LocalSwarm, folder: Path) -> str:
    """An invite whose bootstrap address does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]  # free again at once
    address = f"/ip4/127.0.0.1/tcp/{port}/p2p/{Identity.generate().peer_id}"
    founder = JoinedSwarms(folder / "founder.json", folder / "founder.key")
    elsewhere = founder.create(replace(new_swarm("nowhere", swarm.swarm.model, 4, "local"), bootstrap_peers=(address,)))
    return encode_invite(invite(elsewhere, time.time())[1])


def assert_one_line(outcome: Outcome, code: int, *words: str) -> None:
    """One line for people on standard error, with advice in brackets; no traceback anywhere."""
    assert outcome.code == code, outcome
    assert "Traceback" not in outcome.out + outcome.err
    lines = [line for line in outcome.err.splitlines() if "other users of this computer" not in line]
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("potluck: ")
    assert lines[0].endswith(")"), "no advice"
    for word in words:
        assert word in lines[0]


def test_what_is_wrong_with_the_words_alone_is_said_at_once(potluck: CommandLine, swarm: LocalSwarm) -> None:
    text, model = swarm.invite, str(swarm.checkpoint)
    cases = {
        ("serve", model, "--swarm", "nosuch", "--blocks", "0:2"): ("nosuch",),
        ("serve", model, "--swarm", text[:-9], "--blocks", "0:2"): ("invite", "copy the whole line"),
        ("serve", model, "--swarm", text.replace(text[40], "~", 1), "--blocks", "0:2"): ("not an invite",),
        ("serve", model, "--swarm", text, "--blocks", "2:9"): ("2:9", "0:4"),
        ("serve", "--swarm", text, "--blocks", "0:2"): ("on no hub",),
        ("generate", "--swarm", text, "--model", "/gone", "hello"): ("no folder /gone",),
        ("generate", "--swarm", "potluck9:AAAA", "hello"): ("newer version", "update"),
        ("swarm", "join", "nonsense"): ("not an invite",),
        ("swarm", "show", "nosuch"): ("nosuch",),
        ("swarm", "leave", "nosuch"): ("nosuch",),
    }
    for (arguments, words), outcome in zip(cases.items(), potluck.run_together(list(cases)), strict=True):
        assert_one_line(outcome, USAGE, *words)
        assert outcome.out == "", arguments


def test_a_model_that_is_not_there_or_only_pickled_is_named(
    potluck: CommandLine, swarm: LocalSwarm, folder: Path
) -> None:
    pickled = folder / "pickled"
    pickled.mkdir()
    shutil.copy(swarm.checkpoint / "config.json", pickled)
    (pickled / "pytorch_model.bin").write_bytes(b"never opened")
    options = ("--swarm", swarm.invite, "--blocks", "0:2", "--host", "127.0.0.1")
    missing, binary, asked = potluck.run_together(
        [
            ("serve", "./nowhere", *options),
            ("serve", str(pickled), *options),
            ("generate", "--swarm", swarm.invite, "--model", str(pickled), "hello"),
        ]
    )
    assert_one_line(missing, USAGE, "nowhere")
    assert_one_line(binary, FAILED, "save_pretrained()")
    assert_one_line(asked, FAILED, "save_pretrained()")


def test_a_name_that_no_hub_knows_is_an_error_with_advice(potluck: CommandLine, swarm: LocalSwarm) -> None:
    outcome = potluck.run(
        "serve", "nobody/nothing", "--swarm", swarm.invite, "--num-blocks", "1", "--host", "127.0.0.1"
    )
    assert_one_line(outcome, FAILED, "nobody/nothing")


def test_a_bootstrap_address_that_does_not_answer_is_said_by_commands_that_end(
    potluck: CommandLine, swarm: LocalSwarm, nowhere: str
) -> None:
    model = str(swarm.checkpoint)
    show, generate = potluck.run_together(
        [
            ("swarm", "show", nowhere),
            ("generate", "--swarm", nowhere, "--model", model, "--max-wait", "0s", "hello"),
        ]
    )
    assert_one_line(show, NETWORK, "no bootstrap peer answers")
    assert_one_line(generate, NETWORK, "no bootstrap peer answers")


def test_generate_names_the_blocks_that_nobody_serves(patient: subprocess.Popen[str]) -> None:
    _, said = patient.communicate(timeout=250)
    assert patient.returncode == NETWORK
    assert "2:4" in said.splitlines()[-1]
    assert "Traceback" not in said
