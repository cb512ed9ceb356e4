"""A question in a window of its own, before something that cannot be undone."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMessageBox, QWidget


class Question(QMessageBox):
    """A question to show with `open()`, which does not wait. Signal: `confirmed()`, when the user presses `button`."""

    confirmed = Signal()

    def __init__(self, parent: QWidget, question: str, button: str) -> None:
        super().__init__(parent)
        self.setText(question)
        self._button = self.addButton(button, QMessageBox.ButtonRole.DestructiveRole)
        self.addButton(self.tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
        self.finished.connect(self._finish)

    def _finish(self) -> None:
        if self.clickedButton() is self._button:
            self.confirmed.emit()
        self.deleteLater()
