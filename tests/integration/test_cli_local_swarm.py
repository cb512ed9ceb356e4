"""The commands against a real swarm on loopback, and what is left when things die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from helpers.golden import CHECKPOINT
from helpers.small_model import golden_with_tokenizer

from benchmarks.local_swarm import LocalSwarm
from potluck.errors import PotluckError
from potluck.protocol.blocks import Span

POTLUCK = [sys.executable, "-m", "potluck_cli.main"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return golden_with_tokenizer(tmp_path_factory.mktemp("model") / "golden")


@pytest.fixture(scope="module")
def swarm(folder: Path) -> Iterator[LocalSwarm]:
    with LocalSwarm(folder, [Span(0, 2), Span(2, 4)]) as swarm:
        yield swarm


def potluck(swarm: LocalSwarm, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*POTLUCK, *arguments], env=swarm.environment(), input=stdin, capture_output=True, text=True, timeout=250
    )


def test_show_lists_who_serves_what_and_no_gap(swarm: LocalSwarm) -> None:
    shown = potluck(swarm, "swarm", "show", swarm.invite)
    assert shown.returncode == 0, shown.stderr
    assert "engine-0" in shown.stdout
    assert "engine-1" in shown.stdout
    assert "Every block is served" in shown.stdout


def test_the_web_page_is_served_to_whoever_has_its_address(swarm: LocalSwarm, tmp_path: Path) -> None:
    arguments = ["swarm", "page", "--invite-file", str(swarm.invite_file), "--serve", "--port", "0", "--json"]
    environment = {**swarm.environment(), "XDG_STATE_HOME": str(tmp_path)}
    serving = subprocess.Popen([*POTLUCK, *arguments], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert serving.stdout is not None
        address = json.loads(serving.stdout.readline())["address"]
        while "engine-1" not in (page := _content(address)):
            assert serving.poll() is None
            time.sleep(0.2)
        assert "all 4 layers are online" in page
        assert "engine-0" in page
        assert "100 % of 1 reading" in page
        with pytest.raises(urllib.error.HTTPError, match="404"):
            _content(address.rpartition("/")[0].rpartition("/")[0])
    finally:
        serving.terminate()
        serving.communicate(timeout=60)
    assert serving.returncode == 0


def _content(address: str) -> str:
    with urllib.request.urlopen(address, timeout=20) as answer:
        return str(answer.read().decode())


def test_no_process_of_a_swarm_has_the_invite_in_its_command_line(swarm: LocalSwarm) -> None:
    assert swarm.invite_file.parent.stat().st_mode & 0o077 == 0
    for engine in swarm.engines:
        assert not any("potluck2:" in word for process in engine.processes() for word in process.cmdline())


def test_generate_completes_a_prompt_after_joining(swarm: LocalSwarm, folder: Path) -> None:
    assert potluck(swarm, "swarm", "join", swarm.invite).returncode == 0
    arguments = ("--model", str(folder), "--max-new-tokens", "5", "--json")
    done = potluck(swarm, "generate", *arguments, "--", "-Hi 'you' $HOME")
    assert done.returncode == 0, done.stderr
    fields = json.loads(done.stdout)
    assert fields["prompt"] == "-Hi 'you' $HOME"
    assert len(fields["tokens"]) == 5
    assert [hop["blocks"] for hop in fields["route"]] == ["0:2", "2:4"]


def test_generate_reads_a_prompt_from_standard_input(swarm: LocalSwarm, folder: Path) -> None:
    arguments = ("--swarm", swarm.invite, "--model", str(folder), "--max-new-tokens", "3", "--json", "-")
    assert json.loads(potluck(swarm, "generate", *arguments, stdin="two\nlines").stdout)["prompt"] == "two\nlines"


def test_an_engine_that_cannot_start_is_quoted() -> None:
    with pytest.raises(PotluckError, match="0:9 do not exist"), LocalSwarm(CHECKPOINT, [Span(0, 9)]):
        pass


_HOST = """
import sys, time
from pathlib import Path
from potluck.protocol.blocks import Span
from benchmarks.local_swarm import LocalSwarm

with LocalSwarm(Path(sys.argv[1]), [Span(0, 4)]) as swarm:
    swarm.engines[0].freeze()
    print(swarm.folder, flush=True)
    sys.stdin.read()
"""


def test_nothing_is_left_when_the_parent_is_killed_even_with_a_frozen_engine() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", _HOST, str(CHECKPOINT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    folder = Path(parent.stdout.readline().strip())
    children = psutil.Process(parent.pid).children(recursive=True)
    assert any(child.name() == "p2pd" for child in children)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    _, alive = psutil.wait_procs(children, timeout=60)
    parent.stdin.close()
    parent.stdout.close()
    assert alive == []
    assert not folder.exists()


def test_leftovers_name_what_runs_and_listens_and_a_closed_swarm_has_none() -> None:
    with LocalSwarm(CHECKPOINT, [Span(0, 4)]) as swarm:
        left = "\n".join(swarm.leftovers())
    assert f"process {swarm.engines[0].pid}" in left
    assert "p2pd" in left
    assert "port " in left
    assert "socket " in left
    assert f"file {swarm.folder}" in left
    assert swarm.leftovers() == []


@pytest.mark.parametrize(
    ("name", "library"), [("generate", "torch"), ("generate", "transformers.utils"), ("serve", "torch")]
)
def test_ctrl_c_ends_a_command_without_a_traceback_while_it_imports(
    swarm: LocalSwarm, folder: Path, name: str, library: str
) -> None:
    environment = {**swarm.environment(), "PYTHONVERBOSE": "1"}
    model = ["--model", str(folder), "two words"] if name == "generate" else [str(folder)]
    command = subprocess.Popen(
        [*POTLUCK, name, "--invite-file", str(swarm.invite_file), *model],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert command.stderr is not None
    while f"{library.replace('.', '/')}/" not in (line := command.stderr.readline()):
        assert line, "it ended by itself"
    command.send_signal(signal.SIGINT)
    errors = command.communicate()[1]
    assert command.returncode == 130, errors[-2000:]
    assert "Traceback" not in errors
    assert "internal error" not in errors


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_serve_leaves_nothing_behind_and_tells_ctrl_c_from_a_request_to_stop(
    swarm: LocalSwarm, folder: Path, number: signal.Signals, code: int
) -> None:
    command = subprocess.Popen(
        [*POTLUCK, "serve", str(folder), "--invite-file", str(swarm.invite_file), "--blocks", "0:2", "--json"],
        env=swarm.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
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
