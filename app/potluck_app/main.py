"""The app put together: one link to the daemon, one tray icon, one window."""

from __future__ import annotations

import argparse
import re
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import platformdirs
from potluck_control.api import schema
from potluck_control.api.versions import Agreement
from potluck_control.methods import installation
from potluck_control.methods.installation import UpdatesState
from potluck_control.places import find_places, find_socket
from potluck_control.states import State
from PySide6.QtCore import QLocale, QObject, QSocketNotifier, QTimer
from PySide6.QtWidgets import QApplication

from potluck_app.pages.destination import Destination
from potluck_app.pages.preferences import THEMES, NewsKind, Preferences
from potluck_app.shell import process
from potluck_app.shell.link import Absence, DaemonLink
from potluck_app.shell.notifier import Notification, Notifier
from potluck_app.shell.starting import CommandStarter, Starter
from potluck_app.shell.tray import Tray
from potluck_app.widgets import icons, theme
from potluck_app.words import language

if TYPE_CHECKING:
    from potluck_control.api.client import Line

    from potluck_app.shell.window import MainWindow

P = TypeVar("P")
R = TypeVar("R")

_RARELY_MS = 15 * 60_000  # milestones and new versions can wait
_PEOPLE_MS = 2 * 60_000


class App(QObject):
    """The link, the tray icon and the window, wired together. The window is made when it is first needed."""

    def __init__(
        self, place: Path | Line, preferences: Preferences, starter: Starter, log_file: Path | None = None
    ) -> None:
        super().__init__()
        self._log_file = log_file
        self._versions = process.ProgramVersions()
        self.link, self.tray = DaemonLink(place), Tray()
        self.restart: bool | None = None  # whether the next process starts hidden; None: no restart
        self._preferences, self._notifier, self._starter = preferences, Notifier(), starter
        starter.progressed.connect(lambda text: self.window().away.show_progress(text))
        starter.ended.connect(lambda failure: self.window().away.show_failure(failure))
        self._window: MainWindow | None = None
        self._latest: schema.Status | None = None
        self._may_start = False
        self._away: tuple[str, Absence] | None = None
        self._agreement: Agreement | None = None
        self._updates: UpdatesState | None = None
        self.link.status_changed.connect(self._show_status)
        self.link.went_away.connect(lambda reason: self._show_away(reason, Absence.GONE))
        self.link.hung.connect(lambda reason: self._show_away(reason, Absence.HUNG))
        self.link.disagreed.connect(self._show_disagreement)
        self.link.agreed.connect(self._show_agreement)
        self.link.updates_changed.connect(self._show_updates)
        self._connect_tray()
        self._timers = (
            self._timer(_RARELY_MS, self._check_earnings),
            self._timer(_RARELY_MS, self._check_version),
            self._timer(_PEOPLE_MS, self._check_people),
        )

    def start(self, *, hidden: bool) -> None:
        """Show the icon, unless `hidden` the window too, and follow the daemon."""
        self._start_tray()
        for timer in self._timers:
            timer.start()
        self._may_start = self._starter.is_unasked and not hidden
        self.link.is_calm = True  # `_calm_down` ends this when a window is shown
        self.link.start()
        if not hidden or not self.tray.has_host:
            self.window().show()

    def open_link(self, link: str) -> None:
        """Come to the front; the link of a swarm, if it is one, leads to where its invite is entered."""
        if link:
            self.window().raise_at(Destination.JOIN, _swarm_of(link))
        else:
            self.window().raise_window()

    def window(self) -> MainWindow:
        """Return the window, made when it is first asked for."""
        if self._window is None:
            from potluck_app.shell.window import MainWindow  # an app that starts in the tray starts faster without it

            self._window = window = MainWindow(self.link, self._log_file)
            window.has_tray = self.tray.has_host
            window.seen_changed.connect(self._calm_down)
            window.restart_wanted.connect(lambda: self._restart(hidden=False))
            window.preference_changed.connect(self._apply_preference)
            window.closed_without_tray.connect(self.quit)
            self.link.setup_changed.connect(window.show_setup)
            self._connect_away(window)
            window.restoreGeometry(self._preferences.geometry)
            if self._agreement is not None:
                window.show_agreement(self._agreement)
            if self._updates is not None:
                window.show_updates(self._updates)
            if self._latest is not None:
                window.show_status(self._latest)
            elif self._away is not None:
                window.show_away(*self._away)
        return self._window

    def quit(self) -> None:
        """Quit as the user asked; a log-out ends the app at once."""
        self._starter.leave(self.link, QApplication.quit)

    def end(self) -> None:
        """Stop listening to the daemon, and remember where the window was."""
        self.link.stop()
        if self._window is not None:
            self._preferences.geometry = self._window.saveGeometry()

    def _timer(self, every_ms: int, act: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setInterval(every_ms)
        timer.timeout.connect(act)
        return timer

    def _calm_down(self, is_seen: bool) -> None:
        """Ask for fewer events while nobody sees a window."""
        self.link.is_calm = not is_seen
        if is_seen:
            self._check_version()

    def _show_status(self, status: schema.Status) -> None:
        self._latest, self._away, self._may_start = status, None, False
        self.tray.show_status(status)
        if self._window is not None:
            self._window.show_status(status)
        self._notify(self._notifier.status(status, time.time()))
        self._notify(self._notifier.coverage(status, time.time()))

    def _show_away(self, reason: str, absence: Absence) -> None:
        starts = self._may_start and absence is Absence.GONE
        self._latest, self._away, self._may_start = None, (reason, absence), False
        self.tray.show_status(None, reason if absence is not Absence.INCOMPATIBLE else "")
        if self._window is not None:
            self._window.show_away(reason, absence)
        if starts:
            self.window().away.show_starting()
            self._starter.start_unasked()

    def _show_disagreement(self, reason: str) -> None:
        self._show_away(reason, Absence.INCOMPATIBLE)
        self._check_version(is_usable=False)

    def _show_agreement(self, agreement: Agreement) -> None:
        self._agreement = agreement
        if self._window is not None:
            self._window.show_agreement(agreement)
        self._check_version()
        message = self._notifier.agreement(agreement)
        if self.restart is None:  # otherwise the next process shows it
            self._notify(message)
        self._check_earnings()
        if agreement.has(installation.UPDATES_STATE):
            self.link.call(installation.UPDATES_STATE, None, done=self._show_updates)

    def _show_updates(self, state: UpdatesState) -> None:
        self._updates = state
        self._notify(self._notifier.updates(state))
        self.tray.show_offer(state.offered.version if state.offered is not None else "")
        if self._window is not None:
            self._window.show_updates(state)

    def _check_version(self, *, is_usable: bool = True) -> None:
        """Restart after an update, for this process still runs the old program, part of which may be gone.

        A visible window that works, or one with unsaved text, only offers the restart.
        """
        new, window = self._versions.installed(), self._window
        is_seen = window is not None and window.isVisible()
        may_end = (window is None or not window.is_unsaved) and not (is_seen and is_usable)
        if new != self._versions.running and may_end:
            self._restart(hidden=not is_seen)
        elif window is not None:
            window.offer_restart(self._versions.running, new)

    def _restart(self, *, hidden: bool) -> None:
        self.restart = hidden
        QApplication.quit()

    def _check_earnings(self) -> None:
        """Ask for the points, to notice milestones."""
        from potluck_control.methods import earnings  # imported late, here and below, so that the icon shows sooner

        if self._latest is not None or self._agreement is not None:
            self.link.call(
                earnings.SUMMARY, None, done=lambda sums: self._notify(self._notifier.earned(sums.total.earned))
            )

    def _check_people(self) -> None:
        """Ask who is in the served swarm, to notice who joined."""
        from potluck_control.methods import members

        swarm = self._latest.swarm if self._latest is not None else None
        if swarm is not None and self._preferences.notifies_of(NewsKind.FRIEND):
            params = members.SwarmParams(swarm.name)
            self.link.call(members.LIST, params, done=lambda found: self._notify(self._notifier.people(found)))

    def _notify(self, message: Notification | None) -> None:
        if message is not None and self._preferences.notifies_of(message.news):
            self.tray.notify(message)

    def _apply_preference(self, name: str, value: object) -> None:
        if name == "language":
            QTimer.singleShot(0, self, lambda: self._set_language(str(value)))
        elif name == "notifications":
            self.tray.show_messages(bool(value))

    def _set_language(self, name: str) -> None:
        """Go on in another language: the window stays where it is, and the tray gets a new menu."""
        application, window = QApplication.instance(), self.window()
        assert application is not None
        language.install(application, QLocale(name) if name else None)
        self.tray.leave()
        self.tray = Tray()
        self._connect_tray()
        self._start_tray()
        self.tray.show_status(self._latest, self._away[0] if self._away is not None else "")
        if self._updates is not None and self._updates.offered is not None:
            self.tray.show_offer(self._updates.offered.version)
        window.rebuild()
        self._connect_away(window)
        if self._agreement is not None:
            window.show_agreement(self._agreement)
        self._check_version()

    def _connect_away(self, window: MainWindow) -> None:
        window.away.start_wanted.connect(self._starter.start)
        window.away.restart_wanted.connect(self._starter.restart)

    def _connect_tray(self) -> None:
        tray = self.tray
        tray.host_changed.connect(self._show_tray_host)
        tray.open_wanted.connect(lambda: self.window().raise_window())
        tray.update_wanted.connect(lambda: self.window().raise_at(Destination.INSTALLATION))
        tray.quit_wanted.connect(self.quit)
        tray.pause_wanted.connect(lambda params: self._send(schema.PAUSE, params))
        tray.resume_wanted.connect(lambda: self._send(schema.RESUME, None))
        tray.ignore_wanted.connect(lambda: self.window().raise_at(Destination.NEVER))
        tray.messages_wanted.connect(partial(setattr, self._preferences, "notifications"))

    def _start_tray(self) -> None:
        self.tray.start()
        self.tray.show_messages(self._preferences.notifications)

    def _send(self, method: schema.Method[P, R], params: P | None) -> None:
        """Send a command of the menu; the next status shows its effect, and the window why it failed."""
        self.link.call(method, params, failed=lambda error: self.window().show_error(error))

    def _show_tray_host(self, is_there: bool) -> None:
        if self._window is not None:
            self._window.has_tray = is_there
        if not is_there and (self._window is None or not self._window.isVisible()):
            self.window().showMinimized()  # a hidden window cannot be reached when the tray icon is gone


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the app; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="potluck-app", description="Potluck in the tray: load, earnings and controls."
    )
    parser.add_argument("--hidden", action="store_true", help="start in the tray, without a window")
    parser.add_argument("--theme", choices=THEMES, help="default: as chosen on the page Settings")
    parser.add_argument("link", nargs="?", default="", help="link of a swarm, potluck:..., to enter its invite")
    parser.add_argument("--socket", type=Path, help="the daemon's control socket (default: your own daemon's)")
    options = parser.parse_args(arguments)
    application = QApplication([sys.argv[0]])
    application.setApplicationName("potluck")
    application.setApplicationDisplayName("Potluck")
    application.setDesktopFileName("potluck")
    application.setStyle("Fusion")
    preferences = Preferences()
    language.install(application, QLocale(preferences.language) if preferences.language else None)
    theme.choose(options.theme or preferences.theme)
    application.setQuitOnLastWindowClosed(False)
    application.setWindowIcon(icons.icon(State.SERVING))
    place, starter = _daemon(options.socket)
    folder = place.parent if isinstance(place, Path) else platformdirs.user_state_path("potluck")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    instance = process.SingleInstance(folder)
    if not instance.acquire(options.link):
        return 0
    app = App(place, preferences, starter, _log_file(place))
    if not isinstance(place, Path):
        from potluck_app.windows.host import report_presence

        report_presence(app.link, place)
    instance.raise_wanted.connect(app.open_link)
    app.start(hidden=options.hidden)
    if options.link:
        app.open_link(options.link)
    with _quit_on_signals():
        status = application.exec()
    restart = app.restart
    app.end()
    instance.release()
    if restart is not None:
        process.restart_process(hidden=restart)
    return status


def _swarm_of(link: str) -> str:
    """Return the name of the swarm in a link (see `potluck.membership.invite`); "" if it is no such link."""
    match = re.fullmatch(r"potluck:([A-Za-z0-9][A-Za-z0-9_-]{0,39}):[0-9a-f]{64}", link.strip())
    return match[1] if match is not None else ""


def _daemon(socket: Path | None) -> tuple[Path | Line, Starter]:
    """Return the way to the daemon, and what starts it."""
    if sys.platform != "win32":
        return socket or find_socket(), CommandStarter(is_unasked=socket is None)
    from potluck_app.windows.host import WslStarter
    from potluck_app.windows.wsl import Wsl

    wsl = Wsl()
    return wsl.line(), WslStarter(wsl)


def _log_file(place: Path | Line) -> Path | None:
    """Return the log of the daemon at `place`; None if it is in another system or somewhere unusual."""
    if not isinstance(place, Path) or place != find_socket():
        return None
    return find_places().log_file


class _quit_on_signals:  # noqa: N801 (used like a function)
    """Ends the event loop on SIGINT and SIGTERM, as the session manager expects.

    Python's handlers run only when Qt lets Python run, so the number is also written to a socket that Qt watches.
    """

    def __enter__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._theirs.setblocking(False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(self._theirs.fileno())
        self._notifier = QSocketNotifier(self._ours.fileno(), QSocketNotifier.Type.Read)
        self._notifier.activated.connect(QApplication.quit)

    def __exit__(self, *_: object) -> None:
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(-1)
        self._ours.close()
        self._theirs.close()
