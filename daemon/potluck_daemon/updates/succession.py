"""Replaces the running daemon by another version's: drains the old one, starts the new one and watches it.

systemd does so where it manages the daemon, else this process. The module also starts the process that updates so that
it outlives the daemon that asks for it: systemd ends everything that a service started together with the service.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from potluck_control import schema
from potluck_control.client import ControlClient, DaemonAwayError
from potluck_control.own_python import child_environment, python_command

from potluck.errors import PotluckError
from potluck.sentences import sentence
from potluck_daemon.host.started_daemon import StartedDaemon
from potluck_daemon.host.units import UNIT, start_service, stop_service
from potluck_daemon.updates.versions import PROVED_S

START_TIMEOUT_S = 60.0
_POLL_S = 0.1
_ANSWER_S = 10.0  # from a daemon that is busy
_QUESTIONS = 3  # unanswered ones mean that it hangs
_DRAIN_WITHIN = "10m"
_UPDATING_UNIT = "potluck-update"
_AFTERWARDS = f"ExecStopPost=systemctl --user start {UNIT}"  # even if the process that updates was killed
_HELLO = schema.HelloParams("potluck update")
_PASSED_ON = ("HOME", "PATH", "LANG", "http_proxy", "https_proxy", "no_proxy", "HTTPS_PROXY", "NO_PROXY")


class LocalSuccessor:
    """The successor on this machine, reached through the daemon's `socket`; systemd starts it if it has a `unit`."""

    def __init__(self, socket: Path, unit: Path | None) -> None:
        self._client = ControlClient(socket, timeout_s=_ANSWER_S)
        self._unit = unit
        self._daemon: StartedDaemon | None = None  # without systemd
        self._pid = 0  # the daemon that answered

    def drain(self) -> bool:
        try:
            self._client.call(schema.HELLO, _HELLO)
        except DaemonAwayError as error:
            if isinstance(error.__cause__, FileNotFoundError | ConnectionRefusedError):
                return False
            raise  # a daemon that hangs can be neither drained nor ignored
        command = python_command(sys.executable, "-m", "potluck_cli.main", "drain", "--within", _DRAIN_WITHIN)
        done = subprocess.run(command, env=child_environment(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise PotluckError(sentence("the daemon does not end: {why}", why=done.stderr.strip()), hint="potluck logs")
        return True

    def start(self, folder: Path) -> str:
        if self._unit is not None:
            start_service(self._unit)
        else:
            self._daemon = StartedDaemon([folder / "bin" / "potluckd"], child_environment(python=folder))
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self._daemon is not None:
                self._daemon.keep()
            if (hello := self._hello()) is not None:
                self._pid = hello.pid
                if self._daemon is not None:
                    self._daemon.leave()
                return hello.version
            time.sleep(_POLL_S)
        raise PotluckError(sentence("the daemon does not answer"))

    def watch(self) -> None:
        deadline = time.monotonic() + PROVED_S
        while time.monotonic() < deadline:
            time.sleep(_POLL_S)
            hello = next(filter(None, (self._hello() for _ in range(_QUESTIONS))), None)
            if hello is None or hello.pid != self._pid:
                raise PotluckError(sentence("its daemon did not last"))

    def end(self) -> None:
        if self._unit is not None:
            stop_service(self._unit)
        elif self._daemon is not None:
            self._daemon.kill()

    def _hello(self) -> schema.DaemonHello | None:
        """Return the daemon's greeting; None if it doesn't answer. A daemon with another API version answers, too."""
        try:
            return self._client.call(schema.HELLO, _HELLO)
        except DaemonAwayError:
            return None


def start_outside(command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
    """Start `command` so that it outlives this daemon. Raises PotluckError."""
    words = [str(word) for word in command]
    if _is_in_unit():
        given = [f"--setenv={name}={value}" for name, value in environment.items() if _is_passed_on(name)]
        unit = [f"--unit={_UPDATING_UNIT}", f"--property={_AFTERWARDS}"]
        words = ["systemd-run", "--user", "--quiet", "--collect", *unit, *given, "--", *words]
    else:
        words = ["setsid", "--fork", *words]
    try:
        done = subprocess.run(
            words,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=START_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        done = None
    if done is None or done.returncode != 0:
        raise PotluckError(
            sentence("the update cannot be started from here"), hint=sentence("in a terminal: potluck update")
        )


def _is_passed_on(name: str) -> bool:
    return name in _PASSED_ON or name.startswith(("XDG_", "POTLUCK_"))


def _is_in_unit() -> bool:
    """Return whether systemd started this daemon, according to its control group."""
    groups = Path("/proc/self/cgroup")
    return groups.exists() and any(line.endswith(f"/{UNIT}") for line in groups.read_text().splitlines())
