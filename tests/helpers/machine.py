"""One person's machine in a network namespace: folders of its own, commands typed there, a daemon to be waited for."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import torch
from potluck_control.api import schema
from potluck_control.api.client import ControlClient
from potluck_control.api.schema import Status
from potluck_control.resources import DEMO_MODEL, resource
from potluck_control.states import State
from potluck_gateway.answers.completion import TextTokenizer
from transformers import AutoModelForCausalLM

from tests.helpers.killing import kill_all

WAIT_S = 120.0
PROMPT, NUM_TOKENS = "Count from 7 to 18:", 24
GENERATE = ("generate", "--json", "--max-new-tokens", str(NUM_TOKENS), PROMPT)


@dataclass(frozen=True, slots=True)
class Machine:
    """The namespace `name`; `run` types a command there."""

    name: str
    folder: Path
    num_blocks: int = 6  # that its engine serves

    def run(self, *arguments: str) -> str:
        """What the command printed; it has to succeed."""
        done = self.try_to_run(*arguments)
        assert done.returncode == 0, f"potluck {' '.join(arguments)}\n{done.stdout}{done.stderr}{self.log()}"
        return done.stdout

    def try_to_run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True
        )

    def command(self, *arguments: str) -> list[str]:
        return ["ip", "netns", "exec", self.name, sys.executable, "-m", "potluck_cli.main", *arguments]

    def wait_for(self, wanted: Callable[[Status], bool]) -> None:
        """Ask the daemon until its status is as wanted."""
        deadline = time.monotonic() + WAIT_S
        while not wanted(status := self.status()):
            assert time.monotonic() < deadline, f"{status}\n{self.log()}"
            time.sleep(0.2)

    def status(self) -> Status:
        return ControlClient(self.folder / "potluck" / "potluckd.sock").call(schema.STATUS)

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
        settings = {
            "POTLUCK_SERVE_NUM_BLOCKS": str(self.num_blocks),
            "POTLUCK_SERVE_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        return kept | dict.fromkeys(places, str(self.folder)) | settings

    def log(self) -> str:
        """Of the daemon."""
        path = self.folder / "potluck" / "potluckd.log"
        return path.read_text() if path.exists() else "(no log)"

    def end(self) -> None:
        """Nothing runs there after it, or writes into `folder`."""
        self.try_to_run("stop")
        kill_all(self.processes())

    def processes(self) -> list[psutil.Process]:
        """Daemon, engine, p2pd: whatever still runs there."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("HOME") == str(self.folder):
                    found.append(process)
        return found


def local_tokens() -> list[int]:
    """What Transformers alone says."""
    model = AutoModelForCausalLM.from_pretrained(resource(DEMO_MODEL), dtype=torch.float32).eval()
    prompt = TextTokenizer(resource(DEMO_MODEL)).encode(PROMPT)
    tokens = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=NUM_TOKENS, do_sample=False)
    return [int(token) for token in tokens[0, prompt.shape[1] :]]
