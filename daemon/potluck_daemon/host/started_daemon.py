"""Starts a daemon that outlives this process, again while another one still holds the lock."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from potluck.errors import PotluckError
from potluck.sentences import sentence
from potluck_daemon.host.instance import EXIT_ALREADY_RUNNING


class StartedDaemon:
    """The process of `command`, which is started by the first `keep`."""

    def __init__(self, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        self._command = command
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def keep(self) -> None:
        """Start the process if none runs. Raises PotluckError with its last words if it failed."""
        code = EXIT_ALREADY_RUNNING if self._process is None else self._process.poll()
        if code is None:
            return
        said = self._last_words()
        if code != EXIT_ALREADY_RUNNING:
            raise PotluckError(
                sentence("the daemon does not start: {why}", why=str(said or code)), hint="potluck doctor"
            )
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self.leave()
            self._process = None

    def leave(self, daemon: int | None = None) -> None:
        """Let the process go on alone, or end it if it isn't the `daemon` that answers, because that came first."""
        if self._process is not None and daemon not in (None, self._process.pid):
            self.kill()
        elif self._process is not None and self._process.stderr is not None:
            self._process.stderr.close()

    def _last_words(self) -> str:
        """Return the last line of the process that has ended; empty if there is none."""
        if self._process is None or self._process.stderr is None:
            return ""
        said = self._process.stderr.read().decode(errors="replace").strip().splitlines()
        self.leave()
        return said[-1] if said else ""
