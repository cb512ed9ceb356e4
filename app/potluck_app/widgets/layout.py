"""Rows and columns of widgets, spaced by the scale of `theme`, and places whose content is exchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget

from potluck_app.widgets import theme

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


class Slot(QWidget):
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


class Poll(QTimer):
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
