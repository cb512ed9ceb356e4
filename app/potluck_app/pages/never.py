"""The offer to never step aside for the program that runs now, with a question, for the answer stays."""

from __future__ import annotations

from potluck_control.schema import Status
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, text
from potluck_app.widgets.layout import column, row
from potluck_app.words import sentences, states


class NeverYield(QWidget):
    """Hidden unless there is a program to speak of. Signal: `never_wanted(str)`, the program as the daemon names it."""

    never_wanted = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._app = ""
        self._offer, self._question = Button(glyph="off", act=self.ask), text()
        self._yes = Button(self.tr("Never step aside"), act=self._confirm)
        self._no = Button(self.tr("Cancel"), act=self._take_back)
        self._asking = Card("", self._question, row(None, self._yes, self._no))
        self.setLayout(column(row(self._offer, None), self._asking))
        self.hide()

    def show_status(self, status: Status) -> None:
        """Forget the question when another program runs, or none."""
        if status.app == self._app:
            return
        self._app = status.app
        self._offer.setText(sentences.menu_text(states.never(status)))
        self._question.setText(states.never_question(status))
        self._yes.setAccessibleDescription(self._question.text())
        self._turn(is_asking=False)
        self.setVisible(bool(self._app))

    def ask(self) -> None:
        """Show the question, with the keyboard on the answer that changes nothing."""
        if self._app:
            self._turn(is_asking=True)
            self._no.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 (Qt's name)
        if event.key() == Qt.Key.Key_Escape and self._asking.isVisible():
            self._take_back()
        else:
            super().keyPressEvent(event)

    def _confirm(self) -> None:
        self._turn(is_asking=False)
        self.never_wanted.emit(self._app)

    def _take_back(self) -> None:
        self._turn(is_asking=False)
        self._offer.setFocus()

    def _turn(self, *, is_asking: bool) -> None:
        self._offer.setVisible(not is_asking)
        self._asking.setVisible(is_asking)
