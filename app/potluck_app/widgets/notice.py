"""A strip with a sentence that matters now, and perhaps one thing to do about it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame

from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Sign, text
from potluck_app.widgets.layout import column, row


class Notice(QFrame):
    """A strip, hidden while it has nothing to say. `glyph` and the colour `role` show its kind. Signal: `pressed()`."""

    pressed = Signal()

    def __init__(self, glyph: str = "warning", role: str = "yielded") -> None:
        super().__init__()
        self.setObjectName(f"notice-{role}")
        self._text, self._button = text(), Button()
        self._button.clicked.connect(self.pressed)
        parts = row(column(Sign(glyph, role), None), (self._text, 1), column(self._button, None))
        parts.setContentsMargins(theme.SPACE_M, theme.SPACE_S, theme.SPACE_M, theme.SPACE_S)
        self.setLayout(parts)
        self.hide()

    def say(self, message: str, button: str = "") -> None:
        """Show `message`; "" hides the strip."""
        self._text.setText(message)
        self._button.setText(button)
        self._button.setVisible(bool(button))
        self.setVisible(bool(message))
        self.setAccessibleName(message)
