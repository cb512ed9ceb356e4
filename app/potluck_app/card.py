"""What every page is made of: cards, and texts that come from elsewhere."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout

from potluck_app import theme


def card() -> tuple[QFrame, QVBoxLayout]:
    """An empty one, and the column to fill."""
    frame = QFrame()
    frame.setObjectName("card")
    column = QVBoxLayout(frame)
    column.setContentsMargins(theme.SPACE_L, theme.SPACE_M, theme.SPACE_L, theme.SPACE_M)
    column.setSpacing(theme.SPACE_M)
    return frame, column


def text(style: str = "") -> QLabel:
    """A label for what others wrote, names of programs and swarms: shown as it is, never read as markup.

    Args:
        style: "muted" or "error".
    """
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setObjectName(style)
    return label
