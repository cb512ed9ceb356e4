"""The parts of every page: cards, headings, texts, lines and signs."""

from __future__ import annotations

from collections.abc import Iterable

from potluck_control.states import State
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from potluck_app.widgets import icons, theme
from potluck_app.widgets.layout import Item, column
from potluck_app.widgets.theme import Type


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
    label = text(kind=Type.HEADING, said=said)
    label.setMinimumHeight(theme.LINK)
    return label


class Label(QLabel):
    """See `text`."""

    def say(self, said: str) -> None:
        """Show `said`; "" hides the label."""
        self.setText(said)
        self.setVisible(bool(said))


def text(style: str = "", *, kind: Type = Type.BODY, said: str = "") -> Label:
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


def line() -> QFrame:
    """Return a thin line between rows."""
    frame = QFrame()
    frame.setObjectName("line")
    frame.setFixedHeight(1)
    return frame


def divided(widgets: Iterable[QWidget]) -> list[QWidget]:
    """Return `widgets` with lines between them."""
    return [item for widget in widgets for item in (line(), widget)][1:]


class Sign(QWidget):
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


class Pot(QWidget):
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
