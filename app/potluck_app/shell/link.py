"""The app's connection to the daemon: its status as a signal, and commands that never block the window.

One thread reads the daemon's events and starts over when the daemon goes away; another watches whether it hangs.
Each command runs in a short thread of its own. Signals cross into Qt's thread by themselves. The daemon may die, come
back, or be of another version at any time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import TypeVar

from potluck_control.api import schema
from potluck_control.api.client import ControlClient, Line
from potluck_control.api.liveness import LOOK_S, HangWatch, peer_of, read_pulse
from potluck_control.api.versions import Agreement, agree
from potluck_control.methods.installation import SetupState, UpdatesState
from PySide6.QtCore import QObject, Signal, SignalInstance

from potluck.errors import PotluckError
from potluck.own_version import own_version
from potluck_app.words import sentences, states

P = TypeVar("P")
R = TypeVar("R")

CLIENT_NAME = "potluck-app"
_CALM_S = 10.0  # the speed in the tray's tooltip may be this old
_NEWS = (
    "state",
    "reason",
    "text",
    "until",
    "ends",
    "app",
    "duty",
    "sessions",
    "notices",
)  # the fields of a status that matter while nobody looks
_END_S = 0.1
_RETRY_S = 1.0  # a started daemon is found within a second; an attempt costs one connect
_PIPED_RETRY_S = 5.0  # an attempt starts a command


class Absence(Enum):
    """A reason why no page can be shown."""

    GONE = "gone"  # no daemon runs
    HUNG = "hung"  # one runs but does not respond
    INCOMPATIBLE = "incompatible"  # one answers, but of a version that this app cannot speak to


class DaemonLink(QObject):
    """The connection to the daemon.

    Signals: `status_changed(Status)`, `agreed(Agreement)` at each connection, `setup_changed(SetupState)` while
    somebody looks, `updates_changed(UpdatesState)`, `went_away(str)` and `hung(str)` with a heading and a line on the
    reason, `disagreed(str)` if a daemon answers that this app cannot speak to. After `hung`, the next status says that
    the daemon responds again.
    """

    status_changed = Signal(object)
    agreed = Signal(object)
    setup_changed = Signal(object)
    updates_changed = Signal(object)
    went_away = Signal(str)
    hung = Signal(str)
    disagreed = Signal(str)
    _answered = Signal(object, object)

    def __init__(self, place: Path | Line) -> None:
        super().__init__()
        self._place = place
        self._version = own_version()  # the running version; an update may install another one
        self._stopped = threading.Event()
        self.is_calm = False  # set while nobody sees a window
        self._last_news: tuple[str, ...] = ()
        self._last_at = 0.0
        self._watch: HangWatch | None = None  # None: no daemon is known
        self._is_hung = False
        self._hang_lock = threading.Lock()  # guards `_is_hung` and the signals about it
        self._answered.connect(lambda deliver, value: deliver(value))

    def start(self) -> None:
        threading.Thread(target=self._run, name="daemon-events", daemon=True).start()
        threading.Thread(target=self._watch_pulse, name="daemon-pulse", daemon=True).start()

    def stop(self) -> None:
        """Send no more signals; the threads end with the process."""
        self._stopped.set()

    def call(
        self,
        method: schema.Method[P, R],
        params: P | None,
        *,
        done: Callable[[R], None] | None = None,
        failed: Callable[[PotluckError], None] | None = None,
    ) -> None:
        """Send a command; `done` or `failed` is called later, in Qt's thread."""

        def work() -> None:
            deliver: Callable[..., None] | None
            value: object
            try:
                deliver, value = done, self._client().call(method, params)
            except PotluckError as error:
                deliver, value = failed, error
            if deliver is not None and not self._stopped.is_set():
                with suppress(RuntimeError):  # see `_send`
                    self._answered.emit(deliver, value)

        threading.Thread(target=work, name=f"daemon-{method.name}", daemon=True).start()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._follow()
            except PotluckError as error:
                is_silent = isinstance(error.__cause__, TimeoutError)
                gone, reason = (self.hung if is_silent else self.went_away), _why_away(error)
            except _DisagreementError as error:
                gone, reason = self.disagreed, str(error)
            else:
                self._stopped.wait(_END_S)  # the next attempt finds out how the daemon ended
                continue
            self._watch, self._is_hung = None, False
            self._send(gone, reason)
            self._stopped.wait(_RETRY_S if isinstance(self._place, Path) else _PIPED_RETRY_S)

    def _watch_pulse(self) -> None:
        """Report once that the daemon hangs."""
        while not self._stopped.wait(LOOK_S):
            watch = self._watch
            if watch is not None and watch.look(time.monotonic()):
                with self._hang_lock:
                    if not self._is_hung:
                        self._is_hung = True
                        self._send(self.hung, states.unresponsive())

    def _record_life(self) -> None:
        """Record a sign of life. After a silence the next status counts as news."""
        if self._watch is not None:
            self._watch.heard(time.monotonic())
        with self._hang_lock:
            if self._is_hung:
                self._is_hung, self._last_news = False, ()

    def _follow(self) -> None:
        """Send all events as signals until the daemon ends."""
        client, ours, self._last_news = self._client(), self._version, ()
        pid = peer_of(self._place) if isinstance(self._place, Path) else None
        self._watch = HangWatch(lambda: read_pulse(pid), time.monotonic())
        hello = client.call(schema.HELLO, schema.HelloParams(CLIENT_NAME, version=ours))
        self._record_life()
        agreement: Agreement = agree(hello, ours)
        if not agreement.is_usable:
            raise _DisagreementError(sentences.difference(agreement))
        self._send(self.agreed, agreement)
        for event in client.events(self._is_wanted):
            if self._stopped.is_set():
                break
            self._emit(event)

    def _client(self) -> ControlClient:
        return ControlClient(self._place)

    def _is_wanted(self, told: object) -> bool:
        """Tell whether an event matters now; while nobody looks, numbers do so only now and then."""
        self._record_life()
        if not isinstance(told, dict) or not self.is_calm:
            return True
        if "state" not in told:
            return "ready" not in told  # the progress of a set-up matters only in a window
        news, now = tuple(str(told.get(name)) for name in _NEWS), time.monotonic()
        if news == self._last_news and now - self._last_at < _CALM_S:
            return False
        self._last_news, self._last_at = news, now
        return True

    def _emit(self, event: schema.Event) -> None:
        if isinstance(event, schema.Status):
            self._send(self.status_changed, event)
        elif isinstance(event, SetupState):
            self._send(self.setup_changed, event)
        elif isinstance(event, UpdatesState):
            self._send(self.updates_changed, event)

    def _send(self, signal: SignalInstance, value: object) -> None:
        """Send a signal, unless the app is ending: Qt's objects may be gone while this thread still runs."""
        if not self._stopped.is_set():
            with suppress(RuntimeError):
                signal.emit(value)


def _why_away(error: PotluckError) -> str:
    match error.__cause__:
        case FileNotFoundError():
            return states.absent()
        case ConnectionRefusedError():
            return states.killed()
        case TimeoutError():
            return states.unresponsive()
        case _:
            return f"{states.away()}\n{sentences.failure(error)}"


class _DisagreementError(Exception):
    """The daemon speaks a version of the API that this app does not know; the text says what to do."""
