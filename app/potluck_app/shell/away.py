"""What the window shows while no daemon answers, or one that this app cannot speak to."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Pot, text
from potluck_app.widgets.theme import Type
from potluck_app.words import states

_POT = 64
_PATIENCE_MS = 120_000  # longer than an update takes between one daemon and the next


class AwayPage(QWidget):
    """Comes and goes by itself. Signal: `start_wanted()`."""

    start_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._title = text(kind=Type.TITLE)
        self._reason, self._progress, self._failure = text("muted"), text("muted"), text("error")
        self._button = Button(self.tr("Start it"), "play", "primary")
        self._button.clicked.connect(self._press)
        self._is_updating, self._patience = False, QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.timeout.connect(self._button.show)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.SPACE_XXL, theme.SPACE_XXL, theme.SPACE_XXL, theme.SPACE_XXL)
        column.setSpacing(theme.SPACE_M)
        column.addStretch(1)
        column.addWidget(Pot(_POT), 0, Qt.AlignmentFlag.AlignCenter)
        for widget in (self._title, self._reason, self._progress, self._failure):
            widget.setAlignment(Qt.AlignmentFlag.AlignCenter)
            column.addWidget(widget)
        self._progress.hide()
        self._failure.hide()
        column.addSpacing(theme.SPACE_M)
        self.setFocusProxy(self._button)
        column.addWidget(self._button, 0, Qt.AlignmentFlag.AlignCenter)
        column.addStretch(2)

    def show_reason(self, reason: str, *, is_running: bool, is_updating: bool = False) -> None:
        """`is_running`: somebody answers, in words that this app does not know. `is_updating`: it will come back."""
        if is_updating and not is_running:
            self._title.setText(self.tr("Potluck is being updated"))
            self._reason.setText(self.tr("The new version starts in a moment; if it does not, this one does."))
        else:
            self._title.setText(self.tr("Potluck was updated") if is_running else states.away())
            self._reason.setText(reason)
        if not is_updating:
            self._patience.stop()
            self._button.setVisible(not is_running)
        elif not self._is_updating:
            self._button.hide()
            self._patience.start(_PATIENCE_MS)  # then somebody may start it, whatever became of the update
        self._is_updating = is_updating

    def show_progress(self, sentence: str) -> None:
        """What starting it does right now; "" for nothing."""
        self._progress.setText(sentence)
        self._progress.setVisible(bool(sentence))

    def show_failure(self, message: str) -> None:
        """What became of starting it; "" if it worked."""
        self.show_progress("")
        self._failure.setText(message)
        self._failure.setVisible(bool(message))
        self._button.setEnabled(True)

    def _press(self) -> None:
        self.show_failure("")
        self._button.setEnabled(False)
        self.start_wanted.emit()
