"""What people get wrong on the command line: one line that says what to do, an exit code, and nothing left running."""

import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from helpers.command_line import CommandLine
from helpers.golden import CHECKPOINT

from benchmarks.setup.local_swarm import LocalSwarm
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite, encode_invite
from potluck.membership.joined import JoinedSwarms
from potluck.membership.leadership import seats
from potluck.protocol.swarm import new_swarm

FAILED, USAGE, NETWORK = 1, 2, 3


@pytest.fixture
def potluck() -> Iterator[CommandLine]:
    """Everything of it has ended after a test."""
    folder = Path(tempfile.mkdtemp(prefix="potluck-bad-"))  # pytest's own folders are too deep for Unix sockets
    command_line = CommandLine(folder)
    yield command_line
    _, alive = psutil.wait_procs(command_line.processes(), timeout=60)
    assert alive == []
    assert not list(folder.rglob("*.sock"))
    shutil.rmtree(folder)


@pytest.fixture
def nowhere(shared_swarm: LocalSwarm, tmp_path: Path) -> Iterator[str]:
    """An invite whose bootstrap address does not answer, because whoever has its port does not listen."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"/ip4/127.0.0.1/tcp/{silent.getsockname()[1]}/p2p/{Identity.generate().peer_id}"
        swarm = new_swarm("nowhere", shared_swarm.swarm.model, 4, "local")
        founder = JoinedSwarms(tmp_path / "founder.json", tmp_path / "founder.key")
        founder.create(replace(swarm, bootstrap_peers=(address,)))
        offer, seed = seats(time.time())
        elsewhere, entries = founder.lead("nowhere", lambda _: [offer])
        yield encode_invite(Invite(elsewhere.swarm, seed, entries[-1].data))


def test_whatever_is_wrong_a_command_says_so_in_one_line_with_advice(
    potluck: CommandLine, shared_swarm: LocalSwarm, nowhere: str, tmp_path: Path
) -> None:
    shutil.copy(CHECKPOINT / "config.json", tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"never opened")
    text, model, pickled = shared_swarm.invite, str(shared_swarm.checkpoint), str(tmp_path)
    blocks = ("--blocks", "0:2", "--host", "127.0.0.1")
    cases = {
        ("serve", model, "--swarm", "nosuch", *blocks): (USAGE, "nosuch"),
        ("serve", model, "--swarm", text[:-9], *blocks): (USAGE, "copy the whole line"),
        ("serve", model, "--swarm", text, "--blocks", "2:9"): (USAGE, "3-9", "1-4"),
        ("serve", "--swarm", text, *blocks): (USAGE, "on no hub"),
        ("serve", "./nowhere", "--swarm", text, *blocks): (USAGE, "nowhere"),
        ("serve", pickled, "--swarm", text, *blocks): (FAILED, "save_pretrained()"),
        ("serve", "nobody/nothing", "--swarm", text, *blocks): (FAILED, "nobody/nothing"),
        ("generate", "--swarm", text, "--model", "/gone", "hello"): (USAGE, "no folder /gone"),
        ("generate", "--swarm", text, "--model", pickled, "hello"): (FAILED, "save_pretrained()"),
        ("generate", "--swarm", "potluck9:AAAA", "hello"): (USAGE, "newer version", "update"),
        ("generate", "--swarm", nowhere, "--model", model, "--max-wait", "0s", "hello"): (NETWORK, "no bootstrap peer"),
        ("swarm", "show", nowhere): (NETWORK, "no bootstrap peer answers"),
        ("swarm", "join", "nonsense"): (USAGE, "no invite in this text"),
        ("leave", "nosuch"): (FAILED, "potluck start"),
    }
    for (arguments, (code, *words)), outcome in zip(cases.items(), potluck.run_together(list(cases)), strict=True):
        assert outcome.code == code, (arguments, outcome)
        assert outcome.out == "" or code != USAGE, arguments
        lines = [line for line in outcome.err.splitlines() if not line.endswith(" ...")]  # without what it waited for
        (line,) = (line for line in lines if "other users of this computer" not in line)
        assert line.startswith("potluck: ")
        assert line.endswith(")"), "no advice"
        assert all(word in line for word in words), line
