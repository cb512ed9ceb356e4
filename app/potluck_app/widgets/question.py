"""A question in a window of its own, before something that cannot be undone."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QMessageBox, QWidget


class Question(QMessageBox):
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
