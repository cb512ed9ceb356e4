"""The app's window beside the running daemon: opens the chat after a while, asks, and prints the seconds to an answer.

`python -m benchmarks.people.chat_window WAIT_S`, in the daemon's environment; part of `chat_ready`.
"""

from __future__ import annotations

import sys
import time

from potluck_app.pages.chat.bubble import Bubble
from potluck_app.pages.chat.page import ChatPage
from potluck_app.shell.link import DaemonLink
from potluck_app.shell.window import MainWindow
from potluck_control.places import find_socket
from potluck_control.states import State
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

_POLL_MS = 5
_QUESTION = "Count from 3 to 9:"


class Asker:
    """Asks once the window shows that the computer serves. The time runs from opening the page."""

    def __init__(self, window: MainWindow, wait_s: float) -> None:
        self._window = window
        self._wait_s = wait_s
        self._has_begun = False
        self._opened_at = 0.0
        self._poll = QTimer()
        self._poll.timeout.connect(self._look)

    def show_status(self, status: object) -> None:
        self._window.show_status(status)  # type: ignore[arg-type]
        if not self._has_begun and getattr(status, "state", None) is State.SERVING:
            self._has_begun = True
            QTimer.singleShot(round(1000 * self._wait_s), self._ask)

    def _ask(self) -> None:
        self._opened_at = time.monotonic()
        self._window.open("chat")
        assert isinstance(self._window.page, ChatPage)
        self._window.page.ask_model(_QUESTION)
        self._poll.start(_POLL_MS)

    def _look(self) -> None:
        assert isinstance(self._window.page, ChatPage)
        answers = self._window.page.findChildren(Bubble)[1:]  # the first is the question
        if any(answer.content for answer in answers):
            print(time.monotonic() - self._opened_at, flush=True)
            QApplication.quit()


def main(wait_s: float) -> None:
    app = QApplication([])
    link = DaemonLink(find_socket())
    window = MainWindow(link)
    asker = Asker(window, wait_s)
    link.status_changed.connect(asker.show_status)
    link.start()
    window.show()
    app.exec()
    link.stop()


if __name__ == "__main__":
    main(float(sys.argv[1]))
