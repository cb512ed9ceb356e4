"""A question before something that is lost when it is done: asked once, in a window of its own."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMessageBox, QWidget


class Question(QMessageBox):
    """Opened with `open()`, which does not wait. Signal: `confirmed()`, the user pressed `button`."""

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
