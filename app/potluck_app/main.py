"""Puts the app together: one link to the daemon, one tray icon, one window."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from potluck_daemon.control import schema
from potluck_daemon.control.schema import Status, Transition
from potluck_daemon.settings.places import find_socket
from potluck_daemon.states import State
from PySide6.QtCore import QObject, QProcess, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from potluck.errors import PotluckError
from potluck_app import icons, theme, words
from potluck_app.instance import SingleInstance
from potluck_app.link import DaemonLink
from potluck_app.tray import Tray
from potluck_app.window import MainWindow

_SIGNAL_POLL_MS = 500  # Python's signal handlers run only when Qt lets Python run


class App(QObject):
    """Wires the parts; owns nothing that is shown."""

    def __init__(self, socket: Path) -> None:
        super().__init__()
        self.link, self.tray, self.window = DaemonLink(socket), Tray(), MainWindow()
        self.link.status_changed.connect(self._show_status)
        self.link.went_away.connect(self._show_away)
        self.link.transitioned.connect(self._tell)
        self.tray.host_changed.connect(self._tray_host_changed)
        self.tray.open_wanted.connect(self.window.raise_up)
        self.tray.quit_wanted.connect(QApplication.quit)
        self.window.closed_without_tray.connect(QApplication.quit)
        self.window.away.start_wanted.connect(self._start_daemon)
        for source in (self.tray, self.window.home):
            source.pause_wanted.connect(self._pause)
            source.resume_wanted.connect(self._resume)
        self.tray.never_asked.connect(self.window.ask_never)
        self.window.home.never.never_wanted.connect(self._never_yield)
        self.window.first_run.join_wanted.connect(self._join)
        self.window.first_run.start_wanted.connect(self._start_swarm)
        self.window.home.invite_wanted.connect(self._copy_invite)

    def start(self, *, hidden: bool) -> None:
        self.tray.start()
        self.link.start()
        if not hidden or not self.window.has_tray:
            self.window.show()

    def _show_status(self, status: Status) -> None:
        self.tray.show_status(status)
        self.window.show_status(status)

    def _show_away(self, reason: str) -> None:
        self.tray.show_status(None)
        self.window.show_away(reason)

    def _tell(self, transition: Transition) -> None:
        if transition.state is State.ERROR:
            self.tray.say("Potluck needs attention", transition.text)

    def _tray_host_changed(self, is_there: bool) -> None:
        self.window.has_tray = is_there
        if not is_there and not self.window.isVisible():
            self.window.showMinimized()  # without a tray icon a hidden window could never be reached

    def _start_daemon(self) -> None:
        """As `potluck start` does, which returns once the daemon answers, or says why it does not."""
        command = QProcess(self)

        def end(code: int) -> None:
            said = bytes(command.readAllStandardError().data()).decode(errors="replace").strip()
            self.window.away.show_failure("" if code == 0 else said or "The daemon does not start.")
            command.deleteLater()

        command.finished.connect(end)
        command.errorOccurred.connect(lambda _: end(1))
        command.start(sys.executable, ["-m", "potluck_daemon.cli.main", "start"])

    def _pause(self, params: schema.PauseParams) -> None:
        self.link.call(schema.PAUSE, params, done=self._show_status, failed=self._complain)

    def _resume(self) -> None:
        self.link.call(schema.RESUME, None, done=self._show_status, failed=self._complain)

    def _never_yield(self, app: str) -> None:
        try:
            params = schema.NeverYieldParams(app)
        except ValueError as error:
            self.window.home.show_error(words.sentence(str(error)))
            return
        self.link.call(schema.NEVER_YIELD, params, done=self._show_status, failed=self._complain)

    def _join(self, invite: str) -> None:
        page = self.window.first_run
        try:
            params = schema.JoinParams(invite)
        except ValueError as error:
            page.show_error(str(error))
            return
        self.link.call(schema.JOIN, params, done=lambda _: page.clear(), failed=self._complain_at_first)

    def _start_swarm(self) -> None:
        page = self.window.first_run
        self.link.call(schema.CREATE, None, done=lambda _: page.clear(), failed=self._complain_at_first)

    def _copy_invite(self) -> None:
        self.link.call(schema.INVITE, None, done=self._put_on_clipboard, failed=self._complain)

    def _put_on_clipboard(self, invite: schema.Invite) -> None:
        QGuiApplication.clipboard().setText(invite.invite)
        self.window.home.confirm_copied()

    def _complain_at_first(self, error: PotluckError) -> None:
        self.window.first_run.show_error(words.failure(error))

    def _complain(self, error: PotluckError) -> None:
        self.window.home.show_error(words.failure(error))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the app; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="potluck-app", description="Potluck in the tray: load, earnings and controls."
    )
    parser.add_argument("--hidden", action="store_true", help="start in the tray, without a window")
    parser.add_argument("--theme", choices=("system", "light", "dark"), default="system", help="default: %(default)s")
    parser.add_argument("--socket", type=Path, help="the daemon's control socket (default: your own daemon's)")
    options = parser.parse_args(arguments)
    application = QApplication([sys.argv[0]])
    application.setApplicationName("potluck")
    application.setApplicationDisplayName("Potluck")
    application.setDesktopFileName("potluck")
    application.setStyle("Fusion")
    theme.choose(options.theme)
    application.setQuitOnLastWindowClosed(False)
    application.setWindowIcon(icons.icon(State.SERVING, theme.colours()))
    socket = options.socket or find_socket()
    socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    instance = SingleInstance(socket.parent)
    if not instance.acquire():
        return 0
    app = App(socket)
    instance.raise_wanted.connect(app.window.raise_up)
    app.start(hidden=options.hidden)
    with _quit_on_signals():
        status = application.exec()
    app.link.stop()
    instance.release()
    return status


class _quit_on_signals:  # noqa: N801 (used like a function)
    """SIGINT and SIGTERM end the event loop, as the session manager expects."""

    def __enter__(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: QApplication.quit())
        self._timer = QTimer()
        self._timer.timeout.connect(lambda: None)
        self._timer.start(_SIGNAL_POLL_MS)

    def __exit__(self, *_: object) -> None:
        self._timer.stop()
