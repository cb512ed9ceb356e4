"""Prints what the app says of a running daemon: `python -m benchmarks.people.app_texts SOCKET`, one JSON object.

The texts of its window's sidebar and of pages with all folds open, as people read them, and the tray's tooltip.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from potluck_app.pages.page import Fold
from potluck_app.shell.link import DaemonLink
from potluck_app.shell.window import MainWindow
from potluck_app.widgets import theme
from potluck_app.words import language, states
from potluck_control.api.schema import Status
from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QApplication, QLabel, QWidget

_CALM_S, _PATIENCE_S = 0.7, 20.0


def main(socket: Path, pages: Sequence[str] = ("home", "swarm")) -> None:
    application = QApplication(["potluck", "-platform", "offscreen"])
    language.install(application, QLocale("en_GB"))
    theme.choose("light")
    link, heard = DaemonLink(socket), list[Status]()
    window = MainWindow(link)
    link.status_changed.connect(heard.append)
    link.status_changed.connect(window.show_status)
    link.start()
    window.resize(1000, 3000)
    window.show()
    said = {}
    while not heard:
        application.processEvents()
    for page in pages:
        window.open(page)
        _settle(application, window)
        for fold in window.findChildren(Fold):
            fold.open()
        said[page] = _settle(application, window)
    said["tooltip"] = states.tooltip(heard[-1])
    link.stop()
    print(json.dumps(said))


def _settle(application: QApplication, window: QWidget) -> str:
    """Return what the window says once it has stopped changing."""
    began = since = time.monotonic()
    before = ""
    while time.monotonic() - since < _CALM_S and time.monotonic() - began < _PATIENCE_S:
        application.processEvents()
        time.sleep(0.01)
        if (now := _texts(window)) != before:
            before, since = now, time.monotonic()
    return before


def _texts(window: QWidget) -> str:
    labels = (label for label in window.findChildren(QLabel) if label.isVisible())
    return "\n".join(label.text() for label in labels if label.text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
