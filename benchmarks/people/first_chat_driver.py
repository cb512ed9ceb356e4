"""Runs inside the installed app, as its `sitecustomize`: presses two buttons and reports when the first token shows.

It knows the app by what stands on the screen, apart from the class of an answer. Other processes import it for nothing.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

_BUTTONS = ("Try it on this computer", "What is Potluck?")
_POLL_MS, _POLL_S = 20, 0.005
_DRIVERS: list[Driver] = []  # keeps it alive


class Driver:
    """Lives in the app's main thread."""

    def __init__(self, report: Path) -> None:
        from PySide6.QtCore import QTimer

        self._report = report
        self._steps: dict[str, float] = {}
        self._left = list(_BUTTONS)
        self._timer = QTimer()
        self._timer.timeout.connect(self._look)
        self._timer.start(_POLL_MS)

    def _look(self) -> None:
        if self._left:
            self._press(self._left[0])
        else:
            self._find_answer()

    def _press(self, said: str) -> None:
        from PySide6.QtWidgets import QApplication, QPushButton

        for widget in QApplication.allWidgets():
            if isinstance(widget, QPushButton) and widget.text() == said and widget.isVisible() and widget.isEnabled():
                self._steps[said] = time.time()
                self._left.pop(0)
                widget.click()
                return

    def _find_answer(self) -> None:
        from potluck_app.pages.chat.bubble import Bubble
        from PySide6.QtWidgets import QApplication

        bubbles = [widget for widget in QApplication.allWidgets() if isinstance(widget, Bubble)]
        said = [bubble.content for bubble in bubbles if bubble.content not in ("", _BUTTONS[-1])]
        if said:
            self._steps["token"] = time.time()
            self._timer.stop()
            found = {"clicks": len(_BUTTONS), "steps": self._steps, "answer": said[0]}
            half = self._report.with_suffix(".half")
            half.write_text(json.dumps(found))
            half.rename(self._report)


def wait_for_window(report: Path) -> None:
    """Wait, in a thread of its own, until the app runs, and then have its main thread make the driver."""
    while True:
        widgets = sys.modules.get("PySide6.QtWidgets")
        application = getattr(widgets, "QApplication", None)
        if application is not None and application.instance() is not None:
            from PySide6.QtCore import QTimer

            QTimer.singleShot(0, application.instance(), lambda: _DRIVERS.append(Driver(report)))
            return
        time.sleep(_POLL_S)


if any(argument.endswith("potluck-app") for argument in sys.orig_argv) and "FIRST_CHAT_REPORT" in os.environ:
    threading.Thread(target=wait_for_window, args=(Path(os.environ["FIRST_CHAT_REPORT"]),), daemon=True).start()
