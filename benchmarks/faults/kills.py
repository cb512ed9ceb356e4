"""Every part is killed at any moment and in any order: `kills_200`. The seed is fixed, so a series can be repeated.

A daemon with the bundled model, an app in a tray, and commands that ask, write settings, pause. Whoever is struck is
killed -9; a person starts daemon and app again, everything else has to come back by itself. Counted: processes that
outlive the one they belong to, states without a way back to serving, files that cannot be read afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from potluck_control.api import schema
from potluck_control.states import State

from benchmarks.figures import Measured, figure
from potluck.checked_files import read_copy
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess
from tests.helpers.desktop import Desktop, desktop
from tests.helpers.tray_host import TrayHost

SEED = 20
TARGETS = {
    "daemon": "potluck_cli.daemon",
    "engine": "potluck_engine",
    "p2pd": "p2pd",
    "app": "potluck_app",
}
_COMMANDS = (
    ("status",),
    ("top", "-n", "2", "--json"),
    ("history",),
    ("doctor",),
    ("config", "set", "serve.threads", "1"),
    ("config", "set", "serve.threads", "2"),
    ("config", "set", "yield.always", "some,games"),
    ("config", "unset", "yield.always"),
    ("pause", "for", "1h"),
    ("resume",),
)
_COMMAND_S = 0.6  # what most commands take, so that they are struck at every moment of their life
_LONGEST_PAUSE_S = 3.0  # longest time before a kill: less than an engine takes to start, so that starts are struck too
_CHECK_EVERY = 4  # kills
_ORPHAN_AFTER_S = 10.0
_STUCK_AFTER_S = 60.0
_READERS: dict[str, Callable[[str], object]] = {
    ".json": json.loads,
    ".jsonl": lambda text: [json.loads(line.partition("\t")[0]) for line in text.splitlines()],
    ".toml": tomllib.loads,
}


@dataclass(slots=True)
class Faults:
    orphans: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    corrupt: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return len(self.orphans) + len(self.stuck) + len(self.corrupt)


@figure("kills_200", unit="faults", reach=0, shown=True)
def faults(soak: bool) -> Measured:
    """Of 200 random kills of daemon, engine, p2pd, app and commands (20 without soak): orphans, stuck states, corrupt
    files.
    """
    with ExitStack() as stack:
        screen = stack.enter_context(desktop(window_manager=True))
        daemon = stack.enter_context(DaemonProcess(LOOPBACK, environment=screen.environment))
        series = stack.enter_context(Series(screen, daemon))
        daemon.client.call(schema.CREATE)
        series.check("at the start")
        for number in range(1, (200 if soak else 20) + 1):
            series.kill_one()
            if number % _CHECK_EVERY == 0:
                series.check(f"after {number} kills")
        series.end()
    found = series.faults
    detail = {
        "kills": dict(series.killed),
        "orphans": found.orphans,
        "stuck": found.stuck,
        "corrupt": found.corrupt,
        "seed": SEED,
    }
    return Measured(found.total, detail)


class Series:
    """The kills of one run, and what went wrong."""

    def __init__(self, screen: Desktop, daemon: DaemonProcess) -> None:
        self.faults = Faults()
        self.killed: Counter[str] = Counter()
        self._daemon = daemon
        self._rng = random.Random(SEED)
        self._runner = asyncio.Runner()
        self._tray = TrayHost(screen.bus_address)
        self._app: subprocess.Popen[bytes]

    def __enter__(self) -> Series:
        self._runner.run(self._tray.start())
        self._start_app()
        return self

    def __exit__(self, *_: object) -> None:
        self._kill_app()
        self._runner.run(self._tray.leave())
        self._runner.close()

    def kill_one(self) -> None:
        """Kill one part that runs, after a moment, and start what a person would start."""
        time.sleep(self._rng.uniform(0.0, _LONGEST_PAUSE_S))
        running = self._running()
        name = self._rng.choice(sorted((*running, "command")))
        self.killed[name] += 1
        if name == "command":
            self._kill_command()
            return
        victim = running[name]
        family = victim.children(recursive=True)
        match name:
            case "daemon":
                self._daemon.kill()
            case "app":
                self._kill_app()
            case _:
                victim.kill()
        _, alive = psutil.wait_procs(family, timeout=_ORPHAN_AFTER_S)
        self.faults.orphans += [f"{process.name()} of a killed {name}" for process in alive]
        match name:
            case "daemon":
                self._daemon.start()
            case "app":
                self._start_app()

    def check(self, when: str) -> None:
        """Serving and shown in the tray, within a time; the user asks for another try instead of waiting for it."""
        self._daemon.client.call(schema.RESUME)
        if not within(_STUCK_AFTER_S, lambda: self._daemon.status().state is State.SERVING):
            self.faults.stuck.append(f"{when}: {self._daemon.status().text}")
        elif not within(_STUCK_AFTER_S, lambda: "Serving" in self._runner.run(self._tooltip())):
            self.faults.stuck.append(f"{when}: the app shows {self._runner.run(self._tooltip())!r}")
        self.faults.corrupt += [f"{when}: {notice}" for notice in self._daemon.status().notices]

    def end(self) -> None:
        """Stop everything and look at what is left."""
        self._kill_app()
        self._daemon.stop()
        self.faults.orphans += [f"{process.name()} at the end" for process in self._daemon.processes()]
        self.faults.corrupt += _unreadable(self._daemon.folder)

    def _running(self) -> dict[str, psutil.Process]:
        found = {}
        for process in self._daemon.processes():
            with contextlib.suppress(psutil.Error):
                words = {Path(word).name for word in process.cmdline()[:3]}
                found.update({name: process for name, word in TARGETS.items() if word in words})
        return found

    def _kill_command(self) -> None:
        words = self._rng.choice(_COMMANDS)
        command = subprocess.Popen(
            [sys.executable, "-m", "potluck_cli.main", *words],
            env=self._daemon.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(self._rng.uniform(0.0, _COMMAND_S))
        command.kill()
        command.wait()

    def _start_app(self) -> None:
        command = [sys.executable, "-m", "potluck_app", "--hidden"]
        self._app = subprocess.Popen(command, env=self._daemon.environment)

    def _kill_app(self) -> None:
        self._app.kill()
        self._app.wait()

    async def _tooltip(self) -> str:
        """Return the tooltip of the newest icon; it is empty while the app behind it is gone."""
        try:
            return await (await self._tray.item()).tooltip()
        except AssertionError:  # the bus answered with an error
            return ""


def within(seconds: float, is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _unreadable(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if ".broken-" in path.name or ".repaired-" in path.name:
            yield f"{path.name} was kept aside"
        reader = _READERS.get(path.suffix)
        if reader is not None and "cache" not in path.relative_to(folder).parts:
            try:
                reader((read_copy(path) or path.read_bytes()).decode())  # some are kept with a checksum
            except ValueError as error:
                yield f"{path.name}: {error}"
