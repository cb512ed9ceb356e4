"""The app on Windows: it sets up the daemon's Linux, and tells the daemon about the user."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from potluck_control.client import ControlClient, Line

from potluck.errors import PotluckError
from potluck_app.shell.link import DaemonLink
from potluck_app.shell.starting import Starter
from potluck_app.windows import signals
from potluck_app.windows.agent import PresenceAgent
from potluck_app.windows.distribution import set_up
from potluck_app.windows.places import PACKAGE, disk_folder
from potluck_app.windows.quitting import QuitSequence
from potluck_app.windows.wsl import Wsl, WslError
from potluck_app.words import sentences

_STOP_S = 60.0  # `potluck stop` first gives a daemon that hangs the chance to end in order


class WslStarter(Starter):
    """Sets up what is missing of the Linux and its daemon, in a thread: the first time takes minutes."""

    def __init__(self, wsl: Wsl, package: Path = PACKAGE) -> None:
        super().__init__(is_unasked=True)
        self._wsl = wsl
        self._package = package
        self._leaving: QuitSequence | None = None

    def start(self) -> None:
        threading.Thread(target=self._work, name="set-up", daemon=True).start()

    def start_unasked(self) -> None:
        """Leave it to the button to fetch a Linux."""
        threading.Thread(target=self._work, kwargs={"may_fetch": False}, name="start", daemon=True).start()

    def restart(self) -> None:
        threading.Thread(target=self._work, kwargs={"ends_first": True}, name="restart", daemon=True).start()

    def leave(self, link: DaemonLink, done: Callable[[], None]) -> None:
        if self._leaving is None:
            self._leaving = QuitSequence(link, self._wsl, done)
        self._leaving.press()

    def _work(self, *, ends_first: bool = False, may_fetch: bool = True) -> None:
        try:
            if ends_first:
                self._wsl.inside("/usr/bin/potluck", "stop", limit_s=_STOP_S)
            if not self._package.exists():
                raise WslError(f"{self._package} is missing", hint="install Potluck again")
            tell = self.progressed.emit
            set_up(self._wsl, self._package, version("potluck"), disk_folder(), tell, may_fetch=may_fetch)
            failure = ""
        except PotluckError as error:
            failure = sentences.failure(error)
        with suppress(RuntimeError):  # the app may end first
            self.ended.emit(failure)


def report_presence(link: DaemonLink, line: Line) -> PresenceAgent:
    """Report what Windows knows of its user, while the daemon answers."""
    agent = PresenceAgent(ControlClient(line), signals.look)
    link.agreed.connect(lambda _: agent.is_connected.set())
    link.went_away.connect(lambda _: agent.is_connected.clear())
    agent.start()
    return agent
