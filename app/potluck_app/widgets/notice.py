"""Messages that matter now, each perhaps with one thing to do about it, and the place where a page shows them."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QCursor
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.parts import Glyph, column, row, text

_NEWS_MS = 10_000  # news stay for this time


class Notice(QFrame):
    """A strip with a message, hidden without one. `glyph` and the colour `role` show its kind. Signal: `pressed()`."""

    pressed = Signal()

    def __init__(self, glyph: str = "warning", role: str = "yielded") -> None:
        super().__init__()
        self.setObjectName(f"notice-{role}")
        self._text, self._button = text(), Button()
        self._button.clicked.connect(self.pressed)
        parts = row(column(Glyph(glyph, role), None), (self._text, 1), column(self._button, None))
        parts.setContentsMargins(theme.SPACE_M, theme.SPACE_S, theme.SPACE_M, theme.SPACE_S)
        self.setLayout(parts)
        self.hide()

    def say(self, message: str, button: str = "") -> None:
        """Show `message`; "" hides the strip."""
        self._text.setText(message)
        self._button.setText(button)
        self._button.setVisible(bool(button))
        self.setVisible(bool(message))
        self.setAccessibleName(message)


class Urgency(IntEnum):
    """The kind of a notice; a higher one hides a lower one."""

    STANDING = 0  # the app as a whole, as long as it is so
    PROBLEM = 1  # a command that failed, until it works
    WAIT = 2  # what takes long, until it is over
    NEWS = 3  # what was just done, for a while


class NoticeBar(QWidget):
    """The notice over the lower edge of a page, where it moves nothing that somebody is about to press.

    If the pointer is at the lower edge, the notice stands at the upper edge.
    """

    ROOM = theme.CONTROL + 2 * (theme.SPACE_S + theme.SPACE_M)  # height that a page leaves free below its content

    def __init__(self, page: QScrollArea, widest: int) -> None:
        super().__init__(page)
        self._page, self._widest = page, widest
        self._message: dict[Urgency, tuple[str, str, Callable[[], object] | None]] = {}
        self._shown = ""
        good, wait, bad = Notice("good", "serving"), Notice("when", "accent"), Notice()
        self._strips = {Urgency.NEWS: good, Urgency.WAIT: wait, Urgency.PROBLEM: bad, Urgency.STANDING: bad}
        self._is_above = False
        self._end = QTimer(self)
        self._end.setSingleShot(True)
        self._end.timeout.connect(self._end_news)
        for strip in (good, wait, bad):
            strip.pressed.connect(self._press)
        self._parts = column(good, wait, bad, spacing=0)
        self.setLayout(self._parts)
        self.hide()

    def say(self, urgency: Urgency, message: str, button: str = "", act: Callable[[], object] | None = None) -> None:
        """Show `message`, and `button`, which calls `act`; "" removes the last message of that urgency."""
        before, _, _ = self._message.pop(urgency, ("", "", None))
        if message:
            self._message[urgency] = message, button, act
        if urgency is Urgency.PROBLEM and message not in ("", before):
            self._message.pop(Urgency.NEWS, None)  # older than the problem
        if urgency is Urgency.NEWS:
            self._end.start(_NEWS_MS)
        self._show()

    def settle(self) -> None:
        """Move to the right place, after the page or the notice has another size."""
        around = self._page.viewport().geometry()
        width = min(self._page.width() - around.left(), self._widest) - 2 * theme.SPACE_XL
        height = self._parts.totalHeightForWidth(width)
        bottom, top = around.bottom() - height - theme.SPACE_S, around.top() + theme.SPACE_S
        self.setGeometry(around.left() + theme.SPACE_XL, top if self._is_above else bottom, width, height)

    def _show(self) -> None:
        """Show the most urgent notice."""
        urgency = max(self._message, default=None)
        message, button, _ = self._message[urgency] if urgency is not None else ("", "", None)
        for strip in set(self._strips.values()):
            is_it = urgency is not None and strip is self._strips[urgency]
            strip.say(message if is_it else "", button)
        self.setVisible(bool(message))
        if not self._shown:
            self._is_above = False
            self.settle()
            self._is_above = self.geometry().contains(self._page.mapFromGlobal(QCursor.pos()))
        if message not in ("", self._shown) and urgency is not Urgency.WAIT and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, message))
        self._shown = message
        self.settle()
        self.raise_()

    def _press(self) -> None:
        urgency = max(self._message)
        _, _, act = self._message[urgency]
        if urgency is Urgency.NEWS:
            self.say(urgency, "")
        if act is not None:
            act()

    def _end_news(self) -> None:
        """Remove news, unless somebody is about to press its button."""
        focused = self.window().focusWidget()
        if self.underMouse() or (focused is not None and self.isAncestorOf(focused)):
            self._end.start(_NEWS_MS)
        else:
            self.say(Urgency.NEWS, "")
