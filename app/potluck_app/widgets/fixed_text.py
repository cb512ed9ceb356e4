"""Texts in letters of one width, to read, select and copy: code, recipes, and the log."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QPlainTextEdit

_LOG_HEIGHT = 220


class FixedText(QPlainTextEdit):
    """Lines that nobody can change; long ones scroll. `name`: what screen readers call it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.setAccessibleName(name)


class LogView(FixedText):
    """Lines of a log, the newest at the bottom."""

    def __init__(self) -> None:
        super().__init__(self.tr("Log of the daemon"))
        self.setMinimumHeight(_LOG_HEIGHT)

    def show_lines(self, lines: Sequence[str]) -> None:
        """Show other lines, and scroll to the last one."""
        said = "\n".join(lines)
        if said != self.toPlainText():
            self.setPlainText(said)
            bar = self.verticalScrollBar()
            bar.setValue(bar.maximum())
