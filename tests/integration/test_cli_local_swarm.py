"""The commands against a real swarm on loopback, and what is left when things die."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest
from helpers.golden import CHECKPOINT

from benchmarks.setup.local_swarm import LocalSwarm
from potluck.protocol.blocks import Span
from tests.helpers.fork_server import start_python

POTLUCK = ("-m", "potluck_cli.main")
PIPE = subprocess.PIPE


def potluck(swarm: LocalSwarm, home: Path, *arguments: str, said: str = "") -> str:
    """Return what a command prints for somebody who has nothing but the swarm's invite."""
    environment = {**swarm.environment(), "XDG_CONFIG_HOME": str(home), "XDG_STATE_HOME": str(home)}
    with start_python(
        [*POTLUCK, *arguments], env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True
    ) as command:
        out, errors = command.communicate(said, timeout=250)
    assert command.returncode == 0, errors
    return str(out)


def test_show_lists_who_serves_what_and_no_gap(shared_swarm: LocalSwarm, tmp_path: Path) -> None:
    shown = potluck(shared_swarm, tmp_path, "swarm", "show", shared_swarm.invite)
    assert all(word in shown for word in ("engine-0", "engine-1", "Every layer is served"))


def test_generate_completes_prompts_after_joining(shared_swarm: LocalSwarm, tmp_path: Path) -> None:
    potluck(shared_swarm, tmp_path, "swarm", "join", shared_swarm.invite)
    options = ("--model", str(shared_swarm.checkpoint), "--max-new-tokens", "5", "--json")
    for prompt, words, said in (("-Hi 'you' $HOME", "-Hi 'you' $HOME", ""), ("two\nlines", "-", "two\nlines")):
        fields = json.loads(potluck(shared_swarm, tmp_path, "generate", *options, "--", words, said=said))
        assert fields["prompt"] == prompt
        assert len(fields["tokens"]) == 5
        assert [hop["blocks"] for hop in fields["route"]] == ["0:2", "2:4"]


def test_the_web_page_of_a_swarm_is_served(shared_swarm: LocalSwarm, tmp_path: Path) -> None:
    options = ("--invite-file", str(shared_swarm.invite_file), "--serve", "--port", "0", "--json")
    environment = {**shared_swarm.environment(), "XDG_STATE_HOME": str(tmp_path)}
    with start_python([*POTLUCK, "swarm", "page", *options], env=environment, stdout=PIPE, text=True) as serving:
        try:
            assert serving.stdout is not None
            address = json.loads(serving.stdout.readline())["address"]
            page = ""
            while "all 4 layers are online" not in page:
                assert serving.poll() is None
                with urllib.request.urlopen(address, timeout=60) as answer:
                    page = answer.read().decode()
            assert "engine-0" in page
        finally:
            serving.terminate()
    assert serving.returncode == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_serve_leaves_nothing_behind_and_tells_ctrl_c_from_a_request_to_stop(
    shared_swarm: LocalSwarm, number: signal.Signals, code: int
) -> None:
    options = ("--invite-file", str(shared_swarm.invite_file), "--blocks", "0:2", "--json")
    with start_python(
        [*POTLUCK, "serve", str(shared_swarm.checkpoint), *options],
        env=shared_swarm.environment(),
        stdout=PIPE,
        stderr=PIPE,
        text=True,
    ) as command:
        assert command.stdout is not None
        while '"joining"' not in (line := command.stdout.readline()):
            assert line, "it ended by itself"
        children = psutil.Process(command.pid).children(recursive=True)
        assert children
        command.send_signal(number)
        errors = command.communicate()[1]
    assert command.returncode == code, errors[-2000:]
    assert "Traceback" not in errors
    assert psutil.wait_procs(children, timeout=60)[1] == []


@pytest.mark.usefixtures("as_in_a_terminal")
def test_ctrl_c_ends_a_command_without_a_traceback_while_it_imports_torch(shared_swarm: LocalSwarm) -> None:
    arguments = ["serve", "--invite-file", str(shared_swarm.invite_file), str(shared_swarm.checkpoint)]
    with subprocess.Popen(
        [sys.executable, *POTLUCK, *arguments],
        env={**shared_swarm.environment(), "PYTHONVERBOSE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=PIPE,
        text=True,
    ) as command:
        assert command.stderr is not None
        while "torch/" not in (line := command.stderr.readline()):
            assert line, "it ended by itself"
        command.send_signal(signal.SIGINT)
        errors = command.stderr.read()
    assert command.returncode == 130, errors[-2000:]
    assert "Traceback" not in errors
    assert "internal error" not in errors


_HOST = """
import sys
from pathlib import Path
from potluck.protocol.blocks import Span
from benchmarks.setup.local_swarm import LocalSwarm

with LocalSwarm(Path(sys.argv[1]), [Span(0, 4)]) as swarm:
    swarm.engines[0].freeze()
    print(swarm.folder, flush=True)
    sys.stdin.read()
"""


def test_a_swarm_keeps_its_invite_to_itself_and_leaves_nothing_when_it_is_killed_even_with_a_frozen_engine() -> None:
    with subprocess.Popen([sys.executable, "-c", _HOST, str(CHECKPOINT)], stdin=PIPE, stdout=PIPE, text=True) as parent:
        assert parent.stdout is not None
        folder = Path(parent.stdout.readline().strip())
        children = psutil.Process(parent.pid).children(recursive=True)
        words = [word for child in children for word in child.cmdline()]
        mode = folder.stat().st_mode
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        assert psutil.wait_procs(children, timeout=60)[1] == []
    assert not folder.exists()
    assert mode & 0o077 == 0
    assert {"bootstrap", "serve", "-connManager=1"} <= set(words)
    assert not any("potluck4:" in word for word in words)


def test_leftovers_name_what_runs_and_listens_and_a_closed_swarm_has_none() -> None:
    with LocalSwarm(CHECKPOINT, [Span(0, 4)]) as swarm:
        left = "\n".join(swarm.leftovers())
    assert all(name in left for name in ("(p2pd)", "port ", "socket ", f"file {swarm.folder}"))
    assert swarm.leftovers() == []
