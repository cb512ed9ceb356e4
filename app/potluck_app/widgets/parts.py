"""Rows and columns of widgets, spaced by the scale of `theme`, and places whose content is exchanged.

The parts of every page: cards, headings, texts, lines and signs.

A number that matters, large, with what it counts below it; and a row of such numbers.

A placeholder where there is nothing to show: a sign, a line, and a sentence that says what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from potluck_control.states import State
from PySide6.QtCore import QRectF, Qt, QTimer
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLabel, QLayout, QVBoxLayout, QWidget

from potluck_app.widgets import icons, theme
from potluck_app.widgets.theme import TextStyle

Item = QWidget | QLayout | tuple[QWidget | QLayout, int] | None
Box = TypeVar("Box", bound=QBoxLayout)

_LOOK_MS = 700


def column(*items: Item, spacing: int = theme.SPACE_M, margin: int = 0) -> QVBoxLayout:
    """Stack `items`; a tuple adds a stretch factor, and None takes the room that is left."""
    made = _fill(QVBoxLayout(), items, spacing)
    made.setContentsMargins(margin, margin, margin, margin)
    return made


def row(*items: Item, spacing: int = theme.SPACE_M) -> QHBoxLayout:
    """Put `items` side by side, written as for `column`."""
    made = _fill(QHBoxLayout(), items, spacing)
    made.setContentsMargins(0, 0, 0, 0)
    return made


def holder(layout: QLayout) -> QWidget:
    """Return a widget that holds `layout`, so that it can be hidden as a whole."""
    made = QWidget()
    made.setLayout(layout)
    return made


class ContentArea(QWidget):
    """A place on a page whose content is exchanged as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self._content = QWidget()
        self._column = column(self._content)
        self.setLayout(self._column)

    def show_content(self, content: QWidget) -> None:
        self._column.replaceWidget(self._content, content)
        self._content.setParent(None)
        self._content = content


class PollTimer(QTimer):
    """Repeats `look` while it runs and `widget` is on the screen."""

    def __init__(self, widget: QWidget, look: Callable[[], object]) -> None:
        super().__init__(widget)
        self.timeout.connect(lambda: look() if widget.isVisible() else None)

    def run_while(self, is_needed: bool, every_ms: int = _LOOK_MS) -> None:
        if is_needed:
            self.start(every_ms)
        else:
            self.stop()


def _fill(layout: Box, items: tuple[Item, ...], spacing: int) -> Box:
    layout.setSpacing(spacing)
    for item in items:
        part, stretch = item if isinstance(item, tuple) else (item, 0)
        if part is None:
            layout.addStretch(1)
        elif isinstance(part, QWidget):
            layout.addWidget(part, stretch)
        else:
            layout.addLayout(part, stretch)
    return layout


class Card(QFrame):
    """A framed column with a heading, by which screen readers call it."""

    def __init__(self, heading: str = "", *items: Item) -> None:
        super().__init__()
        self.setObjectName("card")
        if items:
            self.fill(heading, *items)

    def fill(self, heading: str, *items: Item) -> None:
        """Lay out `items` (see `layout.column`); an empty heading takes no room."""
        self.setAccessibleName(heading)
        head = (headline(heading),) if heading else ()
        self.setLayout(column(*head, *items, margin=theme.SPACE_L))


def headline(said: str) -> QLabel:
    """Return the heading of a card, as high with a link beside it as without."""
    label = text(kind=TextStyle.HEADING, said=said)
    label.setMinimumHeight(theme.LINK)
    return label


class Label(QLabel):
    """See `text`."""

    def say(self, said: str) -> None:
        """Show `said`; "" hides the label."""
        self.setText(said)
        self.setVisible(bool(said))


def text(style: str = "", *, kind: TextStyle = TextStyle.BODY, said: str = "") -> Label:
    """Return a label that shows its text as it is: names that others chose are never read as markup.

    Args:
        style: its colour: "muted", "error", "warning" or "good".
    """
    label = Label(said)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setObjectName(style)
    label.setFont(theme.font(kind))
    return label


def divider() -> QFrame:
    """Return a thin line between rows."""
    frame = QFrame()
    frame.setObjectName("line")
    frame.setFixedHeight(1)
    return frame


def divided(widgets: Iterable[QWidget]) -> list[QWidget]:
    """Return `widgets` with lines between them."""
    return [item for widget in widgets for item in (divider(), widget)][1:]


class Glyph(QWidget):
    """A glyph on its own; a text stands beside it. `role` names its colour, a field of `theme.Colours`."""

    def __init__(self, name: str, role: str = "muted", side: int = theme.GLYPH) -> None:
        super().__init__()
        self._name, self._role = name, role
        self.setFixedSize(side, side)

    def show_glyph(self, name: str, role: str) -> None:
        if (name, role) != (self._name, self._role):
            self._name, self._role = name, role
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        icons.paint(QPainter(self), QRectF(self.rect()), self._name, getattr(theme.colours(), self._role))


class StateIcon(QWidget):
    """The icon of a state, which is None while the daemon is away; the state's name stands beside it."""

    def __init__(self, side: int, state: State | None = None) -> None:
        super().__init__()
        self._state = state
        self.setFixedSize(side, side)

    def show_state(self, state: State | None) -> None:
        if state is not self._state:
            self._state = state
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        icons.paint_state(QPainter(self), QRectF(self.rect()), self._state, theme.colours())


class Figure(QWidget):
    """One number with its caption; a dash until the number is known."""

    def __init__(self, caption: str) -> None:
        super().__init__()
        self._value, self._caption = (
            text(kind=TextStyle.FIGURE, said="–"),
            text("muted", kind=TextStyle.CAPTION, said=caption),
        )
        self._value.setWordWrap(False)
        self._value.setAccessibleName(caption)
        self.setLayout(column(self._value, self._caption, None, spacing=0))

    def say(self, value: str, caption: str = "") -> None:
        """Show `value`; an empty `caption` leaves the present one."""
        self._value.setText(value)
        if caption:
            self._caption.setText(caption)


def figure_row(*figures: Figure) -> QHBoxLayout:
    return row(*((figure, 1) for figure in figures), spacing=theme.SPACE_S)


_SIDE = 32


class Placeholder(QWidget):
    """A glyph, a line and a sentence in the middle of an empty place."""

    def __init__(self, glyph: str, title: str, explanation: str = "") -> None:
        super().__init__()
        self._title, self._explanation = text(kind=TextStyle.STRONG), text("muted")
        for label in (self._title, self._explanation):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        sign = row(None, Glyph(glyph, side=_SIDE), None)
        self.setLayout(column(sign, self._title, self._explanation, spacing=theme.SPACE_S, margin=theme.SPACE_XL))
        self.say(title, explanation)

    def say(self, title: str, explanation: str = "") -> None:
        self._title.setText(title)
        self._explanation.say(explanation)


class LoadingPlaceholder(Placeholder):
    """Stands where an answer is waited for, until something else is said."""

    def __init__(self, glyph: str) -> None:
        super().__init__(glyph, "")
        self._is_over = False
        self.note_failure(has_failed=False)

    def say(self, title: str, explanation: str = "") -> None:
        self._is_over = True
        super().say(title, explanation)

    def note_failure(self, *, has_failed: bool) -> None:
        """Say whether the answer is still to come; a message of the page says why none came."""
        if not self._is_over:
            super().say(self.tr("Not loaded") if has_failed else self.tr("Loading…"))
