"""Texts to read and take elsewhere: lines in letters of one width, the log, a field to copy, and a QR code."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QFontDatabase, QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.parts import row

_CONFIRM_MS = 2000
_QUIET = 4  # modules of white around the code, which readers need
_MODULE = 3  # pixels a side, if it fits
_MOST_SIDE = 420
_LOG_HEIGHT = 220


class CopyButton(Button):
    """Copies a text, and says so for a moment.

    Args:
        about: what screen readers call it; "": by its text.
        said: its text; "": "Copy".
        act: called when it is pressed, for a text that has to be asked for: `copy` is called later. Without it, the
            button copies what `show_content` was given.
    """

    def __init__(
        self, about: str = "", label: str = "", style: str = "", act: Callable[[], object] | None = None
    ) -> None:
        label = label or self.tr("Copy")
        super().__init__(label, "copy", style, act or (lambda: self.copy(self._content)), about=about)
        self._label, self._content = label, ""

    def show_content(self, content: str) -> None:
        """Offer to copy `content`."""
        self._content = content
        self.setEnabled(bool(content))

    def copy(self, content: str) -> None:
        QGuiApplication.clipboard().setText(content)
        self.setText(self.tr("Copied"))
        self.show_glyph("check")
        QTimer.singleShot(_CONFIRM_MS, self, self._offer)

    def _offer(self) -> None:
        self.setText(self._label)
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


class QrCode(QWidget):
    """Draws the code of a text, black on white whatever the theme, because not every reader takes it inverted."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self._modules: tuple[bytearray, ...] = ()  # rows, 1 is dark

    def show_text(self, text: str) -> None:
        """Show the code of `text`; hide the widget if `text` is empty or longer than a code's 2,953 bytes."""
        try:
            self._modules = _encode(text) if text else ()
        except ValueError:
            self._modules = ()
        self.setVisible(bool(self._modules))
        side = len(self._modules) + 2 * _QUIET
        self.setFixedSize(QSize(side, side) * min(_MODULE, max(_MOST_SIDE // side, 1)))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        painter = QPainter(self)
        painter.fillRect(self.rect(), Qt.GlobalColor.white)
        module = self.width() / (len(self._modules) + 2 * _QUIET)
        for line, modules in enumerate(self._modules):
            for column, is_dark in enumerate(modules):
                if is_dark:
                    place = QRectF((column + _QUIET) * module, (line + _QUIET) * module, module, module)
                    painter.fillRect(place, QColor(Qt.GlobalColor.black))


def _encode(text: str) -> tuple[bytearray, ...]:
    from segno import make_qr  # an app that shows no code starts without it

    return make_qr(text, error="l", boost_error=False).matrix  # a screen is neither torn nor stained


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
        content = "\n".join(lines)
        if content != self.toPlainText():
            self.setPlainText(content)
            bar = self.verticalScrollBar()
            bar.setValue(bar.maximum())
