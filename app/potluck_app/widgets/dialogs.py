"""A question in a window of its own, before something that cannot be undone.

Asks the user where to save a file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QStandardPaths
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget


class ConfirmDialog(QMessageBox):
    """A question to show with `open()`, which does not wait. `act` is called when the user presses `button`."""

    def __init__(self, parent: QWidget, question: str, details: str, button: str, act: Callable[[], object]) -> None:
        super().__init__(parent)
        self._act = act
        self.setText(question)
        self.setInformativeText(details)
        self._button = self.addButton(button, QMessageBox.ButtonRole.DestructiveRole)
        self.addButton(self.tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
        self.finished.connect(self._finish)

    def _finish(self) -> None:
        if self.clickedButton() is self._button:
            self._act()
        self.deleteLater()


Place = QStandardPaths.StandardLocation


def choose_file(
    window: QWidget, title: str, name: str, kinds: str = "", place: Place = Place.DocumentsLocation
) -> Path | None:
    """Return the file that the user chose, at first `name` in their folder `place`; None if they chose none."""
    suggested = Path(QStandardPaths.writableLocation(place)) / name
    chosen, _ = QFileDialog.getSaveFileName(window, title, str(suggested), kinds)
    return Path(chosen) if chosen else None
