"""One message of the chat: a question in a coloured box on the right, an answer on the left."""

from __future__ import annotations

import re

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.card import text
from potluck_app.widgets.layout import column, row
from potluck_app.widgets.markdown import as_html
from potluck_app.widgets.theme import Type

_INDENT = 96
_MARKS = re.compile(r"[*_`#|>~\[]|^\s*(?:[-+]|\d+[.)])\s", re.MULTILINE)  # what Markdown has and most answers have not


class Bubble(QWidget):
    """A message by `name`, whose text can be selected and copied. Answers may have Markdown."""

    def __init__(self, name: str, said: str = "", *, is_question: bool) -> None:
        super().__init__()
        self._name, self.said, self._is_question = name, said, is_question
        self._text, self._note = text(), text("muted", kind=Type.CAPTION)
        self._offers = row(spacing=theme.SPACE_XS)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        frame = QFrame()
        frame.setObjectName("question" if is_question else "card")
        heading = text("muted", kind=Type.CAPTION, said=name)
        frame.setLayout(
            column(heading, self._text, self._note, self._offers, spacing=theme.SPACE_XS, margin=theme.SPACE_M)
        )
        side_by_side = QHBoxLayout(self)
        side_by_side.setContentsMargins(_INDENT if is_question else 0, 0, 0 if is_question else _INDENT, 0)
        side_by_side.addWidget(frame)
        self.show_text(said)
        self.show_note("")

    def offer(self, *buttons: QWidget) -> None:
        """Put `buttons` below the message, for what can be done with it."""
        for button in buttons:
            self._offers.addWidget(button)
        self._offers.addStretch(1)

    def show_text(self, said: str) -> None:
        self.said = said
        is_marked = not self._is_question and _MARKS.search(said) is not None
        self._text.setTextFormat(Qt.TextFormat.RichText if is_marked else Qt.TextFormat.PlainText)
        self._text.say(as_html(said) if is_marked else said)
        self._text.setAccessibleName(f"{self._name}: {said}")

    def show_note(self, said: str) -> None:
        """Write below the text what is going on; "" for nothing."""
        self._note.say(said)
