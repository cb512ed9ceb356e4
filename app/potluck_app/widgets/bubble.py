"""One message of the chat: a question in a coloured box on the right, an answer on the left."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.card import text
from potluck_app.widgets.theme import Type

_INDENT = 96


class Bubble(QWidget):
    """`name`: who says it. Its text can be selected and copied."""

    def __init__(self, name: str, said: str = "", *, is_question: bool) -> None:
        super().__init__()
        self._name = name
        self._text, self._note = text(said=said), text("muted", kind=Type.CAPTION)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        frame = QFrame()
        frame.setObjectName("question" if is_question else "card")
        column = QVBoxLayout(frame)
        column.setContentsMargins(theme.SPACE_L, theme.SPACE_M, theme.SPACE_L, theme.SPACE_M)
        column.setSpacing(theme.SPACE_XS)
        column.addWidget(text("muted", kind=Type.CAPTION, said=name))
        column.addWidget(self._text)
        column.addWidget(self._note)
        row = QHBoxLayout(self)
        row.setContentsMargins(_INDENT if is_question else 0, 0, 0 if is_question else _INDENT, 0)
        row.addWidget(frame)
        self.show_text(said)
        self.show_note("")

    def show_text(self, said: str) -> None:
        self._text.setText(said)
        self._text.setVisible(bool(said))
        self._text.setAccessibleName(f"{self._name}: {said}")

    def show_note(self, said: str) -> None:
        """What is going on, below the text; "" for nothing."""
        self._note.setText(said)
        self._note.setVisible(bool(said))
