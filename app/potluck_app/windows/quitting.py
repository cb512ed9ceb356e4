"""Quitting on Windows, where nothing keeps the daemon's Linux alive after the app, so the daemon finishes first.

quit -> the daemon drains, as by `potluck drain`; the tray shows how far it is
it has ended -> the Linux is ended, whose memory Windows has back at once -> done
quit again -> done at once; "Keep serving" -> all of it is taken back
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto

from potluck_control import schema
from potluck_control.schema import Status
from potluck_control.states import Reason, State
from PySide6.QtCore import QObject, Signal

from potluck.errors import PotluckError
from potluck_app.shell.link import DaemonLink
from potluck_app.windows.wsl import DISTRIBUTION, Wsl


class _Step(Enum):
    STAYING = auto()
    ASKED = auto()  # to drain
    FINISHING = auto()  # a status has shown it
    ENDED = auto()


class QuitSequence(QObject):
    """The steps from quitting to `done`, which is called when the app may end."""

    _linux_ended = Signal()

    def __init__(self, link: DaemonLink, wsl: Wsl, done: Callable[[], None]) -> None:
        super().__init__()
        self._link, self._wsl, self._done = link, wsl, done
        self._step = _Step.STAYING
        self._linux_ended.connect(done)
        link.status_changed.connect(self._hear)
        link.went_away.connect(lambda _: self._end_linux())

    def press(self) -> None:
        """Begin to quit, or quit at once if that has begun; returns at once."""
        if self._step is not _Step.STAYING:
            self._done()
            return
        self._step = _Step.ASKED
        self._link.call(schema.DRAIN, schema.DrainParams(), failed=lambda _: self._done())

    def _hear(self, status: Status) -> None:
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
            self._wsl.ask("--terminate", DISTRIBUTION)
        with suppress(RuntimeError):  # the app may end first
            self._linux_ended.emit()
