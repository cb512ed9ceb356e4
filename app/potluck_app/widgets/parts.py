"""The parts of every page: rows and columns, cards, texts, glyphs and figures, spaced by the scale of `theme`."""

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

_POLL_MS = 700
_PLACEHOLDER_GLYPH = 32


def append(layout: Box, *items: Item) -> Box:
    """Add `items` to a layout and return it. A tuple adds a stretch factor; None takes the room that is left."""
    for item in items:
        part, stretch = item if isinstance(item, tuple) else (item, 0)
        if part is None:
            layout.addStretch(1)
        elif isinstance(part, QWidget):
            layout.addWidget(part, stretch)
        else:
            layout.addLayout(part, stretch)
    return layout


def column(*items: Item, spacing: int = theme.SPACE_M, margin: int = 0) -> QVBoxLayout:
    """Stack `items`; see `append`."""
    made = append(QVBoxLayout(), *items)
    made.setSpacing(spacing)
    made.setContentsMargins(margin, margin, margin, margin)
    return made


def row(*items: Item, spacing: int = theme.SPACE_M) -> QHBoxLayout:
    """Put `items` side by side; see `append`."""
    made = append(QHBoxLayout(), *items)
    made.setSpacing(spacing)
    made.setContentsMargins(0, 0, 0, 0)
    return made


def beside(picture: QWidget, *items: Item) -> QHBoxLayout:
    """Put a glyph or face at the upper left of a column of texts."""
    return row(column(picture, None), (column(*items, spacing=2), 1))


def holder(layout: QLayout) -> QWidget:
    """Return a widget that holds `layout`, so that it can be hidden as a whole."""
    made = QWidget()
    made.setLayout(layout)
    return made


def stack(*items: Item, spacing: int = theme.SPACE_M, margin: int = 0) -> QWidget:
    """Return a widget that holds a column of `items`."""
    return holder(column(*items, spacing=spacing, margin=margin))


def divider() -> QFrame:
    """Return a thin line between rows."""
    frame = QFrame()
    frame.setObjectName("line")
    frame.setFixedHeight(1)
    return frame


def divided(widgets: Iterable[QWidget]) -> list[QWidget]:
    """Return `widgets` with lines between them."""
    return [item for widget in widgets for item in (divider(), widget)][1:]


class Label(QLabel):
    """A label that takes no room while it is empty; `text` makes one."""

    def say(self, content: str) -> None:
        """Show `content`; "" hides the label."""
        self.setText(content)
        self.setVisible(bool(content))


def text(content: str = "", *, style: TextStyle = TextStyle.BODY, colour: str = "") -> Label:
    """Return a label that shows `content` as it is: names that others chose are never read as markup.

    Args:
        colour: a name in the style sheet: "muted", "error", "warning" or "good".
    """
    label = Label(content)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setObjectName(colour)
    label.setFont(theme.font(style))
    return label


def muted(content: str = "") -> Label:
    """Return a label for what is less important."""
    return text(content, colour="muted")


def caption(content: str = "") -> Label:
    """Return a small label that explains something beside it."""
    return text(content, style=TextStyle.CAPTION, colour="muted")


def strong(content: str = "") -> Label:
    """Return a label that stands out from the text around it."""
    return text(content, style=TextStyle.STRONG)


def headline(content: str) -> Label:
    """Return the heading of a card, as high with a link beside it as without."""
    label = text(content, style=TextStyle.HEADING)
    label.setMinimumHeight(theme.LINK)
    return label


class Card(QFrame):
    """A framed column with a heading, by which screen readers call it."""

    def __init__(self, heading: str = "", *items: Item) -> None:
        super().__init__()
        self.setObjectName("card")
        if items:
            self.fill(heading, *items)

    def fill(self, heading: str, *items: Item) -> None:
        """Lay out `items` (see `column`); an empty heading takes no room."""
        self.setAccessibleName(heading)
        head = (headline(heading),) if heading else ()
        self.setLayout(column(*head, *items, margin=theme.SPACE_L))


class ContentArea(QWidget):
    """A place on a page whose items are exchanged as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self._content = QWidget()
        self._column = column(self._content)
        self.setLayout(self._column)

    def show_items(self, *items: Item, spacing: int = theme.SPACE_M) -> None:
        """Show a column of other items."""
        content = stack(*items, spacing=spacing)
        self._column.replaceWidget(self._content, content)
        self._content.setParent(None)
        self._content = content


class PollTimer(QTimer):
    """Calls `poll` again and again while it runs and `widget` is on the screen."""

    def __init__(self, widget: QWidget, poll: Callable[[], object]) -> None:
        super().__init__(widget)
        self.timeout.connect(lambda: poll() if widget.isVisible() else None)

    def run_while(self, is_needed: bool, every_ms: int = _POLL_MS) -> None:
        if is_needed:
            self.start(every_ms)
        else:
            self.stop()


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
    """A number that matters, large, with what it counts below it; a dash until the number is known."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._value, self._name = text("–", style=TextStyle.FIGURE), caption(name)
        self._value.setWordWrap(False)
        self._value.setAccessibleName(name)
        self.setLayout(column(self._value, self._name, None, spacing=0))

    @property
    def content(self) -> tuple[str, str]:
        """The number and what it counts."""
        return self._value.text(), self._name.text()

    def say(self, value: str, name: str = "") -> None:
        """Show `value`; an empty `name` leaves the present one."""
        self._value.setText(value)
        if name:
            self._name.setText(name)


def figure_row(*figures: Figure) -> QHBoxLayout:
    """Put figures side by side, all equally wide."""
    return row(*((figure, 1) for figure in figures), spacing=theme.SPACE_S)


class Placeholder(QWidget):
    """A glyph, a line and a sentence that says what to do, in the middle of an empty place."""

    def __init__(self, glyph: str, title: str, explanation: str = "") -> None:
        super().__init__()
        self._title, self._explanation = strong(), muted()
        for label in (self._title, self._explanation):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        sign = row(None, Glyph(glyph, side=_PLACEHOLDER_GLYPH), None)
        self.setLayout(column(sign, self._title, self._explanation, spacing=theme.SPACE_S, margin=theme.SPACE_XL))
        self.say(title, explanation)

    def say(self, title: str, explanation: str = "") -> None:
        self._title.setText(title)
        self._explanation.say(explanation)


class LoadingPlaceholder(Placeholder):
    """A placeholder for an answer that is still to come, until something else is said."""

    def __init__(self, glyph: str) -> None:
        super().__init__(glyph, "")
        self._is_over = False
        self.show_failure(has_failed=False)

    def say(self, title: str, explanation: str = "") -> None:
        self._is_over = True
        super().say(title, explanation)

    def show_failure(self, *, has_failed: bool) -> None:
        """Say whether the answer is still to come; a message of the page says why none came."""
        if not self._is_over:
            super().say(self.tr("Not loaded") if has_failed else self.tr("Loading…"))
