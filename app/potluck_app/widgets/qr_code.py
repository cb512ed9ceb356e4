"""A widget that draws a text as a QR code."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

_QUIET = 4  # modules of white around the code, which readers need
_MODULE = 3  # pixels a side, if it fits
_MOST_SIDE = 420


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
        for row, modules in enumerate(self._modules):
            for column, is_dark in enumerate(modules):
                if is_dark:
                    place = QRectF((column + _QUIET) * module, (row + _QUIET) * module, module, module)
                    painter.fillRect(place, QColor(Qt.GlobalColor.black))


def _encode(text: str) -> tuple[bytearray, ...]:
    from segno import make_qr  # an app that shows no code starts without it

    return make_qr(text, error="l", boost_error=False).matrix  # a screen is neither torn nor stained
