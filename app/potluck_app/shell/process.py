"""The app as a process: one for each user, and its restart after an update.

An update exchanges files under an open app, except on Windows, which keeps the files of a running program.
"""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path
from typing import NoReturn

from PySide6.QtCore import QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from potluck.own_version import own_version

_TIMEOUT_MS = 1000
_MOST_LINK_BYTES = 1000
_HIDDEN = "--hidden"


class SingleInstance(QObject):
    """The lock that keeps one app running for each user; a second start asks the first to show its window.

    Signal: `raise_wanted(str)`, when somebody starts the app again, with the link that they opened, or "".
    """

    raise_wanted = Signal(str)

    def __init__(self, folder: Path) -> None:
        super().__init__()
        # Windows names pipes without folders, for all users alike.
        self._name = str(folder / "app.sock") if os.name == "posix" else f"potluck-{getpass.getuser()}"
        self._lock = QLockFile(str(folder / "app.lock"))
        self._lock.setStaleLockTime(0)  # a lock is stale when its holder is gone, however old it is
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._accept)

    def acquire(self, link: str = "") -> bool:
        """Return True if this is the only app; otherwise ask the other one to show its window, and to open `link`."""
        if not self._lock.tryLock(0):
            socket = QLocalSocket()
            socket.connectToServer(self._name)
            if socket.waitForConnected(_TIMEOUT_MS):
                socket.write(link.encode())
                socket.disconnectFromServer()
                if socket.state() is not QLocalSocket.LocalSocketState.UnconnectedState:
                    socket.waitForDisconnected(_TIMEOUT_MS)
            return False
        QLocalServer.removeServer(self._name)  # left behind by one that was killed
        self._server.listen(self._name)
        return True

    def release(self) -> None:
        self._server.close()
        self._lock.unlock()

    def _accept(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.disconnected.connect(lambda socket=socket: self._read(socket))
            if socket.state() is not QLocalSocket.LocalSocketState.ConnectedState:
                self._read(socket)

    def _read(self, socket: QLocalSocket) -> None:
        link = bytes(socket.read(_MOST_LINK_BYTES).data()).decode(errors="replace")
        socket.disconnected.disconnect()
        socket.deleteLater()
        self.raise_wanted.emit(link)


class ProgramVersions:
    """The running version, which is the one installed when this is made, and the version installed now."""

    def __init__(self) -> None:
        self.running = own_version()

    def installed(self) -> str:
        """Return the version that a restart would run; the running one while files are being exchanged."""
        try:
            return own_version()
        except ModuleNotFoundError:
            return self.running


def restart_command(*, hidden: bool) -> list[str]:
    """Return the command that started this process, which leads to the installed version; `hidden`: in the tray."""
    _, *arguments = sys.orig_argv
    kept = [argument for argument in arguments if argument != _HIDDEN]
    return [sys.executable, *kept, *([_HIDDEN] if hidden else [])]


def restart_process(*, hidden: bool) -> NoReturn:
    """Replace this process by the new version; systemd, which watches it, sees the same process."""
    words = restart_command(hidden=hidden)
    os.execv(words[0], words)
