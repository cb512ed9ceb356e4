"""Starting the daemon when somebody opens the app or presses the button, and what happens to it when they quit."""

from __future__ import annotations

import sys
from collections.abc import Callable

from potluck_control.processes.python_command import python_command
from PySide6.QtCore import QObject, QProcess, Signal

from potluck_app.shell.link import DaemonLink


class Starter(QObject):
    """Starts the daemon. Signals: `progressed(str)` with the present step; `ended(str)` with why it failed, or "".

    Args:
        is_unasked: opening the app is enough to start the daemon.
    """

    progressed = Signal(str)
    ended = Signal(str)

    def __init__(self, *, is_unasked: bool = False) -> None:
        super().__init__()
        self.is_unasked = is_unasked

    def start(self) -> None:
        """Start the daemon, with everything that takes. Returns at once."""
        raise NotImplementedError

    def start_unasked(self) -> None:
        """Start the daemon as far as that needs nobody's consent; if that is not enough, `ended` says so."""
        self.start()

    def restart(self) -> None:
        """End a daemon that hangs, and start it as it was started before. Returns at once."""
        raise NotImplementedError

    def leave(self, link: DaemonLink, done: Callable[[], None]) -> None:
        """Quit the app by calling `done`, now or later. Here the daemon keeps running."""
        done()


class CommandStarter(Starter):
    """Starts the daemon with `potluck start`, which returns once the daemon answers, or says why it does not."""

    def start(self) -> None:
        self._run("start", lambda: self.ended.emit(""))

    def restart(self) -> None:
        self._run("stop", self.start)

    def _run(self, name: str, then: Callable[[], None]) -> None:
        command = QProcess(self)

        def end(code: int) -> None:
            problem = bytes(command.readAllStandardError().data()).decode(errors="replace").strip()
            if code == 0:
                then()
            else:
                self.ended.emit(problem or self.tr("Potluck does not start. The log says more: potluck logs"))
            command.deleteLater()

        command.finished.connect(end)
        command.errorOccurred.connect(lambda _: end(1))
        program, *words = python_command(sys.executable, "-m", "potluck_cli.main", name)
        command.start(program, words)
