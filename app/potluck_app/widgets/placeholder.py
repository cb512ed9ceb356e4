"""What stands where there is nothing to show: nothing yet, still loading, or it went wrong. Always says what to do."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Sign, text
from potluck_app.widgets.theme import Type

_SIDE = 32


class Placeholder(QWidget):
    """A glyph, a line, a sentence and perhaps a button. Signal: `pressed()`."""

    pressed = Signal()

    def __init__(self, glyph: str, title: str, explanation: str = "", button: str = "") -> None:
        super().__init__()
        self._sign = Sign(glyph, side=_SIDE)
        self._title, self._explanation = text(kind=Type.STRONG), text("muted")
        self._button = Button()
        self._button.clicked.connect(self.pressed)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.SPACE_XL, theme.SPACE_XL, theme.SPACE_XL, theme.SPACE_XL)
        column.setSpacing(theme.SPACE_S)
        column.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignHCenter)
        for label in (self._title, self._explanation):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            column.addWidget(label)
        column.addSpacing(theme.SPACE_XS)
        column.addWidget(self._button, 0, Qt.AlignmentFlag.AlignHCenter)
        self.say(glyph, title, explanation, button)

    def say(self, glyph: str, title: str, explanation: str = "", button: str = "") -> None:
        self._sign.show_glyph(glyph, "error" if glyph == "problem" else "muted")
        self._title.setText(title)
        self._explanation.setText(explanation)
        self._explanation.setVisible(bool(explanation))
        self._button.setText(button)
        self._button.setVisible(bool(button))
