"""The way from a page to the daemon, which says after a moment what the page still waits for, and for how long."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from potluck_control.api.schema import Method
from PySide6.QtCore import QObject, QTimer
from shiboken6 import isValid

from potluck.errors import PotluckError
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

_QUESTIONS = {  # method: what happens, and how many seconds the answer took over home lines, rounded up
    "members.list": (QT_TRANSLATE_NOOP("", "Asking who is in the swarm…"), 5),
    "swarms.contact": (QT_TRANSLATE_NOOP("", "Finding out how others can reach this computer…"), 10),
    "machine.get": (QT_TRANSLATE_NOOP("", "Looking at this computer…"), 5),
    "setup.state": (QT_TRANSLATE_NOOP("", "Looking at this computer…"), 5),
}
_COMMANDS = {  # the same for what only people call, while a page repeats its questions by itself
    "create": (QT_TRANSLATE_NOOP("", "Starting the swarm…"), 20),
    "join": (QT_TRANSLATE_NOOP("", "Joining the swarm…"), 15),
    "swarms.choose_model": (QT_TRANSLATE_NOOP("", "Asking the others about the other model…"), 10),
    "models.search": (QT_TRANSLATE_NOOP("", "Searching for models…"), 5),
    "models.on_disk": (QT_TRANSLATE_NOOP("", "Looking for models on this computer…"), 5),
    "models.delete": (QT_TRANSLATE_NOOP("", "Deleting the files…"), 5),
    "doctor.run": (QT_TRANSLATE_NOOP("", "Checking this computer…"), 10),
    "diag.export": (QT_TRANSLATE_NOOP("", "Writing the report…"), 10),
    "computers.back_up": (QT_TRANSLATE_NOOP("", "Encrypting your keys…"), 5),
    "computers.restore": (QT_TRANSLATE_NOOP("", "Reading the backup…"), 5),
    "updates.check": (QT_TRANSLATE_NOOP("", "Looking for a newer version…"), 5),
    "gateway.start": (QT_TRANSLATE_NOOP("", "Starting the address for other programs…"), 10),
}
P = TypeVar("P")
R = TypeVar("R")
_SILENT_S = 2.0  # people wonder about a longer wait


def waiting(method: str, passed_s: float) -> str:
    """Return what a call of `method` waits for. `passed_s`: since it began."""
    what, usual_s = (_COMMANDS | _QUESTIONS).get(method, (QT_TRANSLATE_NOOP("", "Waiting for Potluck…"), 0))
    if passed_s <= usual_s:
        far, seconds = tr("This takes about {seconds} s."), usual_s
    else:
        far, seconds = tr("{seconds} s so far."), int(passed_s)
    return f"{tr(what)} {far.format(seconds=seconds)}"


class DaemonCaller(Protocol):
    """A way to the daemon. A call returns at once; `done` or `failed` is called later, in Qt's thread."""

    def call(
        self,
        method: Method[P, R],
        params: P | None,
        *,
        done: Callable[[R], None] | None = None,
        failed: Callable[[PotluckError], None] | None = None,
    ) -> None: ...


class WatchedLink(QObject):
    """A page's way to the daemon. It drops answers that come after the page is gone.

    While a call takes long, `show` gets a sentence each second, and "" at the end. Questions that a page repeats by
    itself are waited for in silence once they were answered.
    """

    def __init__(self, page: QObject, link: DaemonCaller, show: Callable[[str], None]) -> None:
        super().__init__(page)
        self._link, self._show = link, show
        self._waits: dict[object, tuple[str, float]] = {}
        self._answered: set[str] = set()
        self._is_shown = False
        self._second = QTimer(self)
        self._second.setInterval(1000)
        self._second.timeout.connect(self._show_wait)

    def call(
        self,
        method: Method[P, R],
        params: P | None,
        *,
        done: Callable[[R], None] | None = None,
        failed: Callable[[PotluckError], None] | None = None,
    ) -> None:
        """Send a call on; see `DaemonCaller`."""
        wait = object()
        if method.name in _COMMANDS or method.name not in self._answered:
            self._waits[wait] = method.name, time.monotonic()
            self._second.start()

        def answered(result: R) -> None:
            self._answered.add(method.name)
            if self._end(wait) and done is not None:
                done(result)

        def refused(error: PotluckError) -> None:
            if self._end(wait) and failed is not None:
                failed(error)

        self._link.call(method, params, done=answered, failed=refused)

    def _end(self, wait: object) -> bool:
        """Tell whether the page is still there."""
        if not isValid(self):
            return False
        self._waits.pop(wait, None)
        self._show_wait()
        return True

    def _show_wait(self) -> None:
        """Show what the longest call waits for, once that is long."""
        now = time.monotonic()
        method, began = min(self._waits.values(), key=lambda wait: wait[1], default=("", now))
        is_long = now - began >= _SILENT_S
        if is_long or self._is_shown:
            self._is_shown = is_long
            self._show(waiting(method, now - began) if is_long else "")
        if not self._waits:
            self._second.stop()
