"""A real daemon with a real engine on loopback: serving, yielding, pausing, draining, dying."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import torch
from helpers.daemon_process import GAME, DaemonProcess, anonymous_bytes, scripted_game
from helpers.streamers import At
from helpers.tiny_models import save_llama
from potluck_control.api import schema
from potluck_control.states import Reason, State
from transformers import LlamaForCausalLM

from benchmarks.setup.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.client import RouteReport
from potluck.protocol.blocks import Span
from tests.helpers.fork_server import start_python

POTLUCK = ("-m", "potluck_cli.main")
PROMPT = torch.randint(3, 256, (1, 7), generator=torch.Generator().manual_seed(0))
GREEDY = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
WEIGHT_BYTES = 4 * 20 * (1 << 20)  # of the blocks below, roughly; freed memory is compared with half of it
SETTINGS = """
[serve]
checkpoint = "{checkpoint}"
blocks = "0:4"
listen = ["/ip4/127.0.0.1/tcp/0"]
threads = 1
[yield]
always = ["{game}"]
quiet_certain_s = 0.5
end_engine_after_s = 600
"""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four blocks of 20 MiB in float32.

    Stored as bfloat16: weights that need no conversion would be mapped from the file and not count as memory in use.
    """
    return save_llama(tmp_path_factory.mktemp("checkpoint"), 4, 2688, dtype=torch.bfloat16)


@pytest.fixture(scope="module")
def expected(checkpoint: Path) -> torch.Tensor:
    return LlamaForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval().generate(PROMPT, **GREEDY)


@pytest.fixture(scope="module")
def swarm(checkpoint: Path) -> Iterator[LocalSwarm]:
    """Only the meeting point: the daemons bring the engines."""
    with LocalSwarm(checkpoint, ()) as made:
        yield made


@pytest.fixture(scope="module")
def daemon(swarm: LocalSwarm, checkpoint: Path) -> Iterator[DaemonProcess]:
    """One that serves; a test may have drained it."""
    with DaemonProcess(SETTINGS.format(checkpoint=checkpoint, game=GAME)) as made:
        made.become_founder(swarm)
        made.wait_state(State.SERVING)
        yield made


@pytest.fixture
def serving(daemon: DaemonProcess) -> DaemonProcess:
    if not daemon.socket.exists():
        daemon.start()
    daemon.client.call(schema.RESUME)
    daemon.wait_state(State.SERVING)
    return daemon


def engine_pid(daemon: DaemonProcess) -> int:
    pid = daemon.status().engine.pid
    assert pid is not None
    return pid


def tree(pid: int) -> list[psutil.Process]:
    return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]


def generated(swarm: LocalSwarm, at_fourth: Callable[[], object] = lambda: None) -> tuple[torch.Tensor, RouteReport]:
    """Generate through the swarm, and do something when the fourth token comes."""
    with AutoDistributedModelForCausalLM.from_pretrained(str(swarm.checkpoint), swarm=swarm.membership) as model:
        tokens = model.generate(PROMPT, streamer=At(4, at_fourth), **GREEDY)
        (route,) = model.last_route()
        return tokens, route


def test_a_game_gets_the_memory_and_a_live_generation_ends_elsewhere_with_the_same_tokens(
    serving: DaemonProcess, swarm: LocalSwarm, expected: torch.Tensor, tmp_path: Path
) -> None:
    pid = engine_pid(serving)
    serving.wait_for(lambda status: status.swarm is not None and status.swarm.coverage == (1, 1, 1, 1))
    serving.wait_for(lambda status: status.load.memory_used_bytes > WEIGHT_BYTES)
    page = serving.command("status").stdout
    assert "Serving layers 1-4" in page
    assert GAME not in page
    mapped = Path(f"/proc/{serving.pid}/maps").read_text()
    assert not any(library in mapped for library in ("numpy", "libtorch"))  # the engine has them, not the daemon
    with contextlib.ExitStack() as playing:

        def play() -> None:
            serving.wait_for(lambda status: status.sessions == 1)
            before = anonymous_bytes(pid)
            swarm.add_engine(Span(0, 4)).wait_online()
            playing.enter_context(scripted_game(tmp_path))
            yielded = serving.wait_state(State.YIELDED)
            assert yielded.reason is Reason.EXCLUSIVE_APP
            assert GAME in yielded.text.text
            assert before - anonymous_bytes(pid) > WEIGHT_BYTES / 2

        assert torch.equal(generated(swarm, play)[0], expected)
        assert engine_pid(serving) == pid
    serving.wait_state(State.SERVING)
    assert engine_pid(serving) == pid
    swarm.engines[0].kill()
    assert torch.equal(generated(swarm)[0], expected)  # it really serves again


def test_a_pause_ends_the_engine_survives_a_restart_of_the_daemon_and_ends_with_its_game_or_time(
    serving: DaemonProcess, tmp_path: Path
) -> None:
    processes = tree(engine_pid(serving))
    refused = serving.command("pause", "until", "the", "game", "ends")
    assert refused.returncode == 1
    assert "potluck pause 2h" in refused.stderr
    with scripted_game(tmp_path):
        serving.wait_state(State.YIELDED)
        assert "until the game ends" in serving.command("pause", "until", "the", "game", "ends").stdout
        paused = serving.wait_for(lambda status: status.engine.pid is None)
        assert (paused.state, paused.reason) == (State.PAUSED, Reason.USER)
        serving.kill()
        serving.start()
        serving.wait_for(lambda status: any(probe.state is schema.ProbeState.SEEN for probe in status.probes))
        assert serving.status().state is State.PAUSED
    assert psutil.wait_procs(processes, timeout=60)[1] == []
    serving.wait_for(lambda status: status.state is not State.PAUSED)
    assert serving.command("pause", "30m").stdout.startswith("Paused by you until ")
    paused = serving.wait_state(State.PAUSED)
    assert paused.reason is Reason.TIMER
    assert paused.until is not None
    assert "Paused by you" in [item.text.text for item in serving.client.call(schema.HISTORY).transitions]
    serving.kill()
    serving.start()
    assert serving.status().state is State.PAUSED
    until_resumed = serving.command("pause", "until", "I", "resume").stdout
    assert until_resumed == "Paused by you until you resume. To end the pause: potluck resume\n"
    assert (status := serving.status()).reason is Reason.USER
    assert status.until is None
    serving.client.call(schema.PAUSE, schema.PauseParams(seconds=1))
    serving.wait_state(State.SERVING)


def test_a_killed_engine_is_started_again_and_the_reason_is_kept(serving: DaemonProcess) -> None:
    pid = engine_pid(serving)
    leftovers = tree(pid)
    restarts = serving.status().engine.restarts
    os.kill(pid, signal.SIGKILL)
    failed = serving.wait_for(lambda status: status.engine.restarts > restarts)
    assert "killed" in failed.engine.last_failure.text
    assert psutil.wait_procs(leftovers, timeout=60)[1] == []
    assert serving.wait_for(lambda status: status.engine.pid is not None).engine.pid != pid


def test_drained_it_lets_a_generation_end_here_and_takes_no_new_one(
    serving: DaemonProcess, swarm: LocalSwarm, expected: torch.Tensor
) -> None:
    drained: list[subprocess.Popen[str]] = []

    def drain() -> None:
        serving.wait_for(lambda status: status.sessions == 1)
        command = [*POTLUCK, "drain", "--within", "90s", "--json"]
        drained.append(start_python(command, env=serving.environment, stdout=subprocess.PIPE, text=True))
        serving.wait_for(lambda status: status.state is State.DRAINING)
        assert "Finishing" in serving.status().text.text

    tokens, route = generated(swarm, drain)
    assert not route.replaced
    assert torch.equal(tokens, expected)
    said, _ = drained[0].communicate(timeout=240)
    assert json.loads(said)["sessions_cut"] == 0
    assert serving.wait_ended() == 0
    assert serving.processes() == []
    assert not serving.socket.exists()


def _daemons(daemon: DaemonProcess) -> list[psutil.Process]:
    found = []
    for process in daemon.processes():
        with contextlib.suppress(psutil.NoSuchProcess):
            if "potluck_cli.daemon" in process.cmdline():
                found.append(process)
    return found


def test_many_starts_at_once_make_one_daemon() -> None:
    with DaemonProcess() as daemon:
        daemon.stop()
        starts = [
            start_python([*POTLUCK, "start"], env=daemon.environment, stdout=subprocess.DEVNULL) for _ in range(4)
        ]
        assert [process.wait(120) for process in starts] == [0, 0, 0, 0]
        deadline = time.monotonic() + 60
        while len(_daemons(daemon)) > 1:  # those that came late are on their way out
            assert time.monotonic() < deadline
        assert len(_daemons(daemon)) == 1
        assert daemon.command("stop").returncode == 0
        assert daemon.wait_all_gone() == []
        assert "not running" in daemon.command("status").stderr


def test_commands_tell_a_daemon_that_hangs_from_one_that_was_killed_and_one_that_ended() -> None:
    with DaemonProcess() as daemon:
        os.kill(daemon.pid, signal.SIGSTOP)
        hangs = f"the daemon (process {daemon.pid}) does not respond"
        assert hangs in daemon.command("status").stderr
        assert hangs in daemon.command("doctor").stdout
        assert hangs in daemon.command("start").stderr
        assert daemon.command("stop").returncode == 0  # it can end in order once it goes on
        assert daemon.wait_all_gone() == []
        assert "the daemon is not running" in daemon.command("doctor").stdout
        assert daemon.command("start").returncode == 0
        (again,) = _daemons(daemon)
        again.kill()
        again.wait()
        assert "the daemon was killed or has crashed" in daemon.command("status").stderr


def test_a_daemon_outlives_its_folder_its_socket_and_its_log(tmp_path: Path) -> None:
    with DaemonProcess() as daemon:
        daemon.stop()
        here = tmp_path / "here"
        here.mkdir()
        (here / "types.py").write_text("raise SystemExit('this is not ours')")  # Python itself would import it
        start = [sys.executable, "-P", *POTLUCK, "start"]
        subprocess.run(start, env=daemon.environment, cwd=here, check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(here)
        (process,) = _daemons(daemon)
        assert process.cwd() == "/"
        log = daemon.state_folder / "potluckd.log"
        log.unlink()
        shutil.rmtree(daemon.socket.parent)
        daemon.socket.parent.touch()  # so that it cannot be made again yet
        away = daemon.command("status").stderr
        assert f"the daemon runs as process {process.pid} without its socket {daemon.socket}" in away
        daemon.socket.parent.unlink()
        assert f"already running as process {process.pid}" in daemon.command("start").stdout  # once it is there again
        assert daemon.command("status").returncode == 0
        assert "the control socket was gone" in log.read_text()
        shutil.rmtree(daemon.folder / "run")  # as logind does; the socket comes to the state folder
        assert f"already running as process {process.pid}" in daemon.command("start").stdout
        assert (daemon.state_folder / "run" / "potluckd.sock").is_socket()
        shutil.rmtree(daemon.state_folder / "run")
        assert "has ended" in daemon.command("stop").stdout
        assert daemon.wait_all_gone() == []


def test_an_edited_file_is_obeyed_without_a_restart_and_a_mistake_in_it_is_not() -> None:
    with DaemonProcess("[yield]\nfull_screen = true\n") as daemon:

        def is_off(status: schema.Status) -> bool:
            return any(item.name.text == "Full-screen windows" and item.state == "off" for item in status.probes)

        daemon.write_settings("[yield]\nfull_screen = false\n")
        daemon.wait_for(is_off)
        daemon.write_settings("[yield]\nfull_screen = 7\n")
        told = daemon.wait_for(lambda status: bool(status.notices))
        assert "settings.toml line 2: yield.full_screen" in told.notices[0].text
        assert is_off(told)
        assert "settings.toml line 2: yield.full_screen" in daemon.log()
        daemon.write_settings("[yield]\nfull_screen = true\n")
        daemon.wait_for(lambda status: not status.notices and not is_off(status))
