"""Five minutes with a friend: two machines, one invite, both serve, one generates.

The machines are network namespaces that see each other through one cable and nothing else, each with its own folders.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import torch
from potluck_daemon.cli.completion import Text
from potluck_daemon.control import schema
from potluck_daemon.control.client import ControlClient
from potluck_daemon.control.schema import Status
from potluck_daemon.resources import DEMO_MODEL, resource
from potluck_daemon.states import State
from transformers import AutoModelForCausalLM

WAIT_S = 120.0
PROMPT, NUM_TOKENS = "Count from 7 to 18:", 24
GENERATE = ("generate", "--json", "--max-new-tokens", str(NUM_TOKENS), PROMPT)


@dataclass(frozen=True, slots=True)
class Machine:
    """A network namespace with one address, and a person's folders; `run` types a command there."""

    name: str
    address: str
    folder: Path

    def run(self, *arguments: str) -> str:
        """What the command printed; it has to succeed."""
        done = self.try_to_run(*arguments)
        assert done.returncode == 0, f"potluck {' '.join(arguments)}\n{done.stdout}{done.stderr}{self.log()}"
        return done.stdout

    def try_to_run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        python = ["ip", "netns", "exec", self.name, sys.executable, "-m", "potluck_daemon.cli.main"]
        return subprocess.run(
            [*python, *arguments], env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True
        )

    def wait_for(self, wanted: Callable[[Status], bool]) -> None:
        """Ask the daemon until its status is as wanted."""
        client = ControlClient(self.folder / "potluck" / "potluckd.sock")
        deadline = time.monotonic() + WAIT_S
        while not wanted(status := client.call(schema.STATUS)):
            assert time.monotonic() < deadline, f"{status}\n{self.log()}"
            time.sleep(0.2)

    def wait_state(self, state: State) -> None:
        self.wait_for(lambda status: status.state is state)

    def servers(self) -> list[tuple[int, int]]:
        """The spans that `potluck swarm show` lists, in order."""
        shown = json.loads(self.run("swarm", "show", "--json"))
        return [(server["start"], server["end"]) for server in shown["servers"] if server["state"] == "online"]

    def environment(self) -> dict[str, str]:
        hidden = ("DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "NOTIFY_SOCKET", "WATCHDOG_USEC")
        kept = {name: value for name, value in os.environ.items() if name not in hidden}
        places = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")
        settings = {"POTLUCK_SERVE_NUM_BLOCKS": "6", "POTLUCK_SERVE_THREADS": "1", "OMP_NUM_THREADS": "1"}
        return kept | dict.fromkeys(places, str(self.folder)) | settings

    def log(self) -> str:
        """Of the daemon."""
        path = self.folder / "potluck" / "potluckd.log"
        return path.read_text() if path.exists() else "(no log)"

    def processes(self) -> list[psutil.Process]:
        """Daemon, engine, p2pd: whatever still runs there."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("HOME") == str(self.folder):
                    found.append(process)
        return found


@pytest.fixture(scope="module")
def machines() -> Iterator[tuple[Machine, Machine]]:
    """Mine and a friend's, with a cable between them."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    with contextlib.ExitStack() as made:
        pair = made.enter_context(machine("mine", 1)), made.enter_context(machine("friend", 2))
        ends = [f"pot{os.getpid()}-{number}" for number in (1, 2)]
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])  # goes with its namespaces
        for one, end in zip(pair, ends, strict=True):
            ip("link", "set", end, "netns", one.name)
            ip("-n", one.name, "address", "add", f"{one.address}/24", "dev", end)
            ip("-n", one.name, "link", "set", end, "up")
        yield pair


@contextlib.contextmanager
def machine(name: str, number: int) -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="pl-") as folder:  # sockets need a short path
        made = Machine(f"potluck-{name}-{os.getpid()}", f"10.213.7.{number}", Path(folder))
        try:
            ip("netns", "add", made.name)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"network namespaces cannot be made here: {getattr(error, 'stderr', '') or error}")
        try:
            ip("-n", made.name, "link", "set", "lo", "up")
            yield made
        finally:
            made.try_to_run("stop")
            for process in made.processes():
                process.kill()
            ip("netns", "delete", made.name)


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def local_tokens() -> list[int]:
    """What Transformers alone says."""
    model = AutoModelForCausalLM.from_pretrained(resource(DEMO_MODEL), dtype=torch.float32).eval()
    prompt = Text(resource(DEMO_MODEL)).encode(PROMPT)
    tokens = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=NUM_TOKENS, do_sample=False)
    return [int(token) for token in tokens[0, prompt.shape[1] :]]


@pytest.mark.timeout(600)  # on two slow cores; half a minute of it a client waits in vain, as it should
def test_two_friends_serve_half_a_model_each_and_one_generates(machines: tuple[Machine, Machine]) -> None:
    mine, friend = machines
    mine.run("start", "--demo")
    mine.wait_state(State.SERVING)
    invite = mine.run("swarm", "invite").strip()

    friend.run("join", invite)
    friend.wait_state(State.SERVING)
    for one in machines:
        one.wait_for(lambda status: status.swarm is not None and status.swarm.coverage == (1,) * 12)
        assert one.servers() == [(0, 6), (6, 12)]

    assert json.loads(friend.run(*GENERATE))["tokens"] == local_tokens()

    mine.run("pause")
    mine.wait_state(State.PAUSED)
    alone = friend.try_to_run(*GENERATE)
    assert alone.returncode != 0
    assert "nobody serves the blocks 0:6" in alone.stderr

    mine.run("resume")
    mine.wait_state(State.SERVING)
    assert json.loads(friend.run(*GENERATE))["tokens"] == local_tokens()

    for one in machines:
        one.run("stop")
        assert psutil.wait_procs(one.processes(), timeout=20)[1] == []
