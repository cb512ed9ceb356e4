"""A strip with a sentence that matters now, and perhaps one thing to do about it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout

from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Sign, text


class Notice(QFrame):
    """Hidden until it says something. `glyph` and `role`, a colour, say of what kind it is. Signal: `pressed()`."""

    pressed = Signal()

    def __init__(self, glyph: str = "warning", role: str = "yielded") -> None:
        super().__init__()
        self.setObjectName(f"notice-{role}")
        self._text, self._button = text(), Button()
        self._button.clicked.connect(self.pressed)
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.SPACE_M, theme.SPACE_S, theme.SPACE_M, theme.SPACE_S)
        row.setSpacing(theme.SPACE_M)
        row.addWidget(Sign(glyph, role), 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._text, 1)
        row.addWidget(self._button, 0, Qt.AlignmentFlag.AlignTop)
        self.hide()

    def say(self, message: str, button: str = "") -> None:
        """ "" hides it."""
        self._text.setText(message)
        self._button.setText(button)
        self._button.setVisible(bool(button))
        self.setVisible(bool(message))
        self.setAccessibleName(message)
