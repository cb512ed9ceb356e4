"""Starts the daemon when somebody presses the button for it; and what becomes of it when the app is quit."""

from __future__ import annotations

import sys
from collections.abc import Callable

from PySide6.QtCore import QObject, QProcess, Signal

from potluck_app.shell.link import DaemonLink


class Starter(QObject):
    """Signals: `progressed(str)`, a sentence for people; `ended(str)`, why it does not start, "" if it does."""

    progressed = Signal(str)
    ended = Signal(str)

    def start(self) -> None:
        """Returns at once."""
        raise NotImplementedError

    def leave(self, link: DaemonLink, done: Callable[[], None]) -> None:
        """Somebody quits the app; `done` ends it, now or later. The daemon goes on by itself."""
        done()


class CommandStarter(Starter):
    """As `potluck start` does, which returns once the daemon answers, or says why it does not."""

    def start(self) -> None:
        command = QProcess(self)

        def end(code: int) -> None:
            said = bytes(command.readAllStandardError().data()).decode(errors="replace").strip()
            self.ended.emit(
                "" if code == 0 else said or self.tr("Potluck does not start. The log says more: potluck logs")
            )
            command.deleteLater()

        command.finished.connect(end)
        command.errorOccurred.connect(lambda _: end(1))
        command.start(sys.executable, ["-m", "potluck_cli.main", "start"])
