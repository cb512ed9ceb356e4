"""What every page is made of: cards, headings, signs, and texts that come from elsewhere."""

from __future__ import annotations

from potluck_control.states import State
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QVBoxLayout, QWidget

from potluck_app.widgets import icons, theme
from potluck_app.widgets.theme import Type


def card(heading: str = "") -> tuple[QFrame, QVBoxLayout]:
    """An empty one, and the column to fill. What it is about stands on top and is what screen readers call it."""
    frame = QFrame()
    frame.setObjectName("card")
    column = QVBoxLayout(frame)
    column.setContentsMargins(theme.SPACE_L, theme.SPACE_L, theme.SPACE_L, theme.SPACE_L)
    column.setSpacing(theme.SPACE_M)
    if heading:
        frame.setAccessibleName(heading)
        column.addWidget(headline(heading))
    return frame, column


def headline(said: str) -> QLabel:
    """Of a card; as high with a link beside it as without."""
    label = text(kind=Type.HEADING, said=said)
    label.setMinimumHeight(theme.LINK)
    return label


def text(style: str = "", *, kind: Type = Type.BODY, said: str = "") -> QLabel:
    """A label, also for what others wrote, names of programs and swarms: shown as it is, never read as markup.

    Args:
        style: its colour: "muted", "error", "warning" or "good".
    """
    label = QLabel(said)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setObjectName(style)
    label.setFont(theme.font(kind))
    return label


def line() -> QFrame:
    """A thin one between rows."""
    frame = QFrame()
    frame.setObjectName("line")
    frame.setFixedHeight(1)
    return frame


class Sign(QWidget):
    """A glyph on its own, in the colour that `role` has in the present theme. Says nothing: a text stands beside it."""

    def __init__(self, name: str, role: str = "muted", side: int = theme.GLYPH) -> None:
        super().__init__()
        self._name, self._role, self._side = name, role, side
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_glyph(self, name: str, role: str) -> None:
        """`role`: a field of `theme.Colours`."""
        if (name, role) != (self._name, self._role):
            self._name, self._role = name, role
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        return QSize(self._side, self._side)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        icons.paint(QPainter(self), QRectF(self.rect()), self._name, getattr(theme.colours(), self._role))


class Pot(QWidget):
    """The icon of a state, in the present theme. Says nothing: the state's name stands beside it."""

    def __init__(self, side: int, state: State | None = None) -> None:
        super().__init__()
        self._state, self._side = state, side
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_state(self, state: State | None) -> None:
        """None: the daemon is away."""
        if state is not self._state:
            self._state = state
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        return QSize(self._side, self._side)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        icons.paint_state(QPainter(self), QRectF(self.rect()), self._state, theme.colours())
