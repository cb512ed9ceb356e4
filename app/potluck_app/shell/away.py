"""The page while no daemon answers, or one that this app cannot speak to."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Pot, text
from potluck_app.widgets.layout import column, row
from potluck_app.widgets.theme import Type

_POT = 64
_PATIENCE_MS = 120_000  # longer than an update takes between one daemon and the next


class AwayPage(QWidget):
    """A page with a reason and a button. Signal: `start_wanted()`."""

    start_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._title = text(kind=Type.TITLE)
        self._reason, self._progress, self._failure = text("muted"), text("muted"), text("error")
        self._button = Button(self.tr("Start Potluck"), "play", "primary")
        self._button.clicked.connect(self._press)
        self._is_updating, self._patience = False, QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.timeout.connect(self._button.show)
        for widget in (self._title, self._reason, self._progress, self._failure):
            widget.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._progress.hide()
        self._failure.hide()
        self.setFocusProxy(self._button)
        texts = column(self._title, self._reason, self._progress, self._failure)
        parts = (None, row(None, Pot(_POT), None), texts, row(None, self._button, None), None, None)
        self.setLayout(column(*parts, spacing=theme.SPACE_XL, margin=theme.SPACE_XXL))

    def show_reason(self, reason: str, *, is_running: bool, is_updating: bool = False) -> None:
        """Show why no page is there; the first line of `reason` is the heading.

        Args:
            is_running: a daemon answers, but of a version that this app cannot speak to.
            is_updating: the daemon will come back by itself.
        """
        if is_updating and not is_running:
            self._title.setText(self.tr("Potluck is being updated"))
            self._reason.setText(self.tr("The new version starts in a moment."))
        else:
            heading, _, details = reason.partition("\n")
            self._title.setText(self.tr("Potluck was updated") if is_running else heading)
            self._reason.setText(reason if is_running else details)
        if not is_updating:
            self._patience.stop()
            self._button.setVisible(not is_running)
        elif not self._is_updating:
            self._button.hide()
            self._patience.start(_PATIENCE_MS)  # then somebody may start it, whatever became of the update
        self._is_updating = is_updating

    def show_progress(self, sentence: str) -> None:
        """Show the present step of starting it; "" for none."""
        self._progress.setText(sentence)
        self._progress.setVisible(bool(sentence))

    def show_failure(self, message: str) -> None:
        """Show why it does not start; "" if it does."""
        self.show_progress("")
        self._failure.setText(message)
        self._failure.setVisible(bool(message))
        self._button.setEnabled(True)

    def _press(self) -> None:
        self.show_failure("")
        self._button.setEnabled(False)
        self.start_wanted.emit()
