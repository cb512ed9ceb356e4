"""Lines of a log that can be selected and scrolled, newest at the bottom."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QPlainTextEdit

_HEIGHT = 220


class LogView(QPlainTextEdit):
    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.setMinimumHeight(_HEIGHT)
        self.setTabChangesFocus(True)
        self.setAccessibleName(self.tr("Log of the daemon"))

    def show_lines(self, lines: Sequence[str]) -> None:
        """Show other lines, and scroll to the last one."""
        said = "\n".join(lines)
        if said != self.toPlainText():
            self.setPlainText(said)
            bar = self.verticalScrollBar()
            bar.setValue(bar.maximum())
