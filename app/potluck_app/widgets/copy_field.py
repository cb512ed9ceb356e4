"""A line of text that is there to be copied into another program."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.layout import row

_CONFIRM_MS = 2000


class CopyButton(Button):
    """Copies what `show_content` gave it, and says so for a moment."""

    def __init__(self, name: str) -> None:
        super().__init__(self.tr("Copy"), "copy", act=self._copy, about=name)
        self._content = ""

    def show_content(self, content: str) -> None:
        self._content = content
        self.setEnabled(bool(content))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._content)
        self.setText(self.tr("Copied"))
        self.show_glyph("check")
        QTimer.singleShot(_CONFIRM_MS, self._offer)

    def _offer(self) -> None:
        self.setText(self.tr("Copy"))
        self.show_glyph("copy")


class CopyField(QWidget):
    """A field that cannot be changed, with a button that copies it."""

    def __init__(self, name: str, copy_name: str) -> None:
        super().__init__()
        self._field, self._button = QLineEdit(), CopyButton(copy_name)
        self._field.setReadOnly(True)
        self._field.setAccessibleName(name)
        self.setLayout(row((self._field, 1), self._button, spacing=theme.SPACE_S))
        self.show_content("")

    def show_content(self, content: str, *, instead: str = "") -> None:
        """Show `content`; while it is empty, show `instead` faintly."""
        self._field.setText(content)
        self._field.setPlaceholderText(instead)
        self._field.setCursorPosition(0)
        self._button.show_content(content)
