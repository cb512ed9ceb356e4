"""Dialogs: a question before something that cannot be undone, and where to save a file, which is then written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QFileDevice, QSaveFile, QStandardPaths
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from potluck_app.words import sentences

StandardFolder = QStandardPaths.StandardLocation
_PRIVATE = QFileDevice.Permission.ReadOwner | QFileDevice.Permission.WriteOwner


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


def choose_file(
    window: QWidget,
    title: str,
    name: str,
    kinds: str = "",
    folder: StandardFolder = StandardFolder.DocumentsLocation,
) -> Path | None:
    """Ask where to save a file, proposing `name` in the user's `folder`; return None if they choose nothing."""
    suggested = Path(QStandardPaths.writableLocation(folder)) / name
    chosen, _ = QFileDialog.getSaveFileName(window, title, str(suggested), kinds)
    return Path(chosen) if chosen else None


def write_file(path: Path, data: bytes, *, is_private: bool = False) -> str:
    """Write a file as a whole or not at all; return why that failed, or "" if it did not.

    Args:
        is_private: only the user may read the file.
    """
    file = QSaveFile(str(path))
    if file.open(QSaveFile.OpenModeFlag.WriteOnly):
        if is_private:
            file.setPermissions(_PRIVATE)
        file.write(data)
        if file.commit():
            return ""
    return sentences.sentence(f"{path}: {file.errorString()}")
