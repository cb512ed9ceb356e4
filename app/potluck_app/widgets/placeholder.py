"""A placeholder where there is nothing to show: a sign, a line, and a sentence that says what to do."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.card import Sign, text
from potluck_app.widgets.layout import column, row
from potluck_app.widgets.theme import Type

_SIDE = 32


class Placeholder(QWidget):
    """A glyph, a line and a sentence in the middle of an empty place."""

    def __init__(self, glyph: str, title: str, explanation: str = "") -> None:
        super().__init__()
        self._title, self._explanation = text(kind=Type.STRONG), text("muted")
        for label in (self._title, self._explanation):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        sign = row(None, Sign(glyph, side=_SIDE), None)
        self.setLayout(column(sign, self._title, self._explanation, spacing=theme.SPACE_S, margin=theme.SPACE_XL))
        self.say(title, explanation)

    def say(self, title: str, explanation: str = "") -> None:
        self._title.setText(title)
        self._explanation.say(explanation)


class Waiting(Placeholder):
    """Stands where an answer is waited for, until something else is said."""

    def __init__(self, glyph: str) -> None:
        super().__init__(glyph, "")
        self._is_over = False
        self.note_failure(has_failed=False)

    def say(self, title: str, explanation: str = "") -> None:
        self._is_over = True
        super().say(title, explanation)

    def note_failure(self, *, has_failed: bool) -> None:
        """Say whether the answer is still to come; a message of the page says why none came."""
        if not self._is_over:
            super().say(self.tr("Not loaded") if has_failed else self.tr("Loading…"))
