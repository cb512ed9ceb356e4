"""The app on Windows: it sets up the daemon's Linux, reports the user to the daemon, and ends the Linux at the end.

Nothing keeps the Linux alive after the app, so on quitting the daemon finishes first:

quit -> the daemon drains, as by `potluck drain`; the tray shows how far it is
the daemon has ended -> the Linux is ended, and Windows has its memory back at once -> done
quit again -> done at once; "Keep serving" -> quitting is cancelled
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from importlib.metadata import version
from pathlib import Path

from potluck_control.api import schema
from potluck_control.api.client import ControlClient, Line
from potluck_control.states import Reason, State
from PySide6.QtCore import QObject, Signal

from potluck.errors import PotluckError
from potluck_app.shell.link import DaemonLink
from potluck_app.shell.starting import Starter
from potluck_app.windows import user_session
from potluck_app.windows.distribution import PACKAGE_FILE, disk_folder, set_up
from potluck_app.windows.presence import PresenceReporter
from potluck_app.windows.wsl import DISTRIBUTION, Wsl, WslError
from potluck_app.words import sentences

_STOP_S = 60.0  # `potluck stop` first gives a daemon that hangs the chance to end in order


class _Step(Enum):
    STAYING = auto()
    ASKED = auto()  # the daemon was asked to drain
    FINISHING = auto()  # a status says that it drains
    ENDED = auto()


class QuitSequence(QObject):
    """The steps from quitting to `done`, which is called when the app may end."""

    _linux_ended = Signal()

    def __init__(self, link: DaemonLink, wsl: Wsl, done: Callable[[], None]) -> None:
        super().__init__()
        self._link, self._wsl, self._done = link, wsl, done
        self._step = _Step.STAYING
        self._linux_ended.connect(done)
        link.status_changed.connect(self._follow_status)
        link.went_away.connect(lambda _: self._end_linux())

    def press(self) -> None:
        """Begin to quit, or quit at once if that has begun; returns at once."""
        if self._step is not _Step.STAYING:
            self._done()
            return
        self._step = _Step.ASKED
        self._link.call(schema.DRAIN, schema.DrainParams(), failed=lambda _: self._done())

    def _follow_status(self, status: schema.Status) -> None:
        is_finishing = status.state is State.DRAINING and status.reason is Reason.SHUTDOWN
        if self._step is _Step.ASKED and is_finishing:
            self._step = _Step.FINISHING
        elif self._step is _Step.FINISHING and not is_finishing:
            self._step = _Step.STAYING

    def _end_linux(self) -> None:
        if self._step in (_Step.STAYING, _Step.ENDED):
            return
        self._step = _Step.ENDED
        self._link.stop()  # asking again would start it again
        threading.Thread(target=self._terminate, name="end-linux", daemon=True).start()

    def _terminate(self) -> None:
        with suppress(PotluckError):  # then Windows ends it, a little later
            self._wsl.run("--terminate", DISTRIBUTION)
        with suppress(RuntimeError):  # the app may end first
            self._linux_ended.emit()


class WslStarter(Starter):
    """Sets up what is missing of the Linux and its daemon, in a thread: the first time takes minutes."""

    def __init__(self, wsl: Wsl, package: Path = PACKAGE_FILE) -> None:
        super().__init__(is_unasked=True)
        self._wsl = wsl
        self._package = package
        self._leaving: QuitSequence | None = None

    def start(self) -> None:
        threading.Thread(target=self._work, name="set-up", daemon=True).start()

    def start_unasked(self) -> None:
        """Start the daemon; only the button fetches a Linux."""
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


def report_presence(link: DaemonLink, line: Line) -> PresenceReporter:
    """Report what Windows knows of its user, for as long as the daemon answers."""
    agent = PresenceReporter(ControlClient(line), user_session.read_session)
    link.agreed.connect(lambda _: agent.is_connected.set())
    link.went_away.connect(lambda _: agent.is_connected.clear())
    agent.start()
    return agent
