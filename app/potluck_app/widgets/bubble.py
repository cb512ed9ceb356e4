"""One message of the chat: a question in a coloured box on the right, an answer on the left."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.card import text
from potluck_app.widgets.layout import column
from potluck_app.widgets.theme import Type

_INDENT = 96


class Bubble(QWidget):
    """A message by `name`, whose text can be selected and copied."""

    def __init__(self, name: str, said: str = "", *, is_question: bool) -> None:
        super().__init__()
        self._name = name
        self._text, self._note = text(), text("muted", kind=Type.CAPTION)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        frame = QFrame()
        frame.setObjectName("question" if is_question else "card")
        heading = text("muted", kind=Type.CAPTION, said=name)
        frame.setLayout(column(heading, self._text, self._note, spacing=theme.SPACE_XS, margin=theme.SPACE_M))
        side_by_side = QHBoxLayout(self)
        side_by_side.setContentsMargins(_INDENT if is_question else 0, 0, 0 if is_question else _INDENT, 0)
        side_by_side.addWidget(frame)
        self.show_text(said)
        self.show_note("")

    def show_text(self, said: str) -> None:
        self._text.setText(said)
        self._text.setVisible(bool(said))
        self._text.setAccessibleName(f"{self._name}: {said}")

    def show_note(self, said: str) -> None:
        """Write below the text what is going on; "" for nothing."""
        self._note.setText(said)
        self._note.setVisible(bool(said))
