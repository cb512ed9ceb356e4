"""What a page is: a column of cards beside the sidebar, made when it is first opened and kept from then on.

The catalogue of pages is in `pages.py`; a page's own file is imported only when somebody opens it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from potluck_daemon.control.schema import Method, Status
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from potluck.errors import PotluckError
from potluck_app import theme, words
from potluck_app.card import text
from potluck_app.notice import Notice
from potluck_app.theme import Type

P = TypeVar("P")
R = TypeVar("R")
_WIDEST = 860  # lines that are longer are hard to read


class Link(Protocol):
    """The way to the daemon. Returns at once; one of the two is called later, in Qt's thread."""

    def call(
        self,
        method: Method[P, R],
        params: P | None,
        *,
        done: Callable[[R], None] | None = None,
        failed: Callable[[PotluckError], None] | None = None,
    ) -> None: ...


class Page(QScrollArea):
    """Subclasses fill `self.column`, and override `show_status` and `refresh` as they need.

    `head` is the row of the title; what belongs to the whole page goes to its right. An empty title makes no row.
    """

    def __init__(self, link: Link, title: str) -> None:
        super().__init__()
        self.link = link
        self.head, self.column = QHBoxLayout(), QVBoxLayout()
        self.notice = Notice()
        self.notice.pressed.connect(self._try_again)
        content = QWidget()
        content.setMaximumWidth(_WIDEST)
        self.column.setSpacing(theme.SPACE_L)
        outer = QVBoxLayout(content)
        outer.setContentsMargins(theme.SPACE_XL, theme.SPACE_XL, theme.SPACE_XL, theme.SPACE_XL)
        outer.setSpacing(theme.SPACE_L)
        if title:
            self.head.addWidget(text(kind=Type.TITLE, said=title), 1)
            outer.addLayout(self.head)
        outer.addWidget(self.notice)
        outer.addLayout(self.column)
        outer.addStretch(1)
        around = QWidget()
        row = QHBoxLayout(around)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(content, 1)
        self.setWidget(around)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(title)

    def show_status(self, status: Status) -> None:
        """Called with the latest status when the page comes to the front, and with each one while it is there."""

    def refresh(self) -> None:
        """Ask for what statuses do not tell: called when the page comes to the front and when the daemon is back."""

    def ask(self, method: Method[P, R], params: P | None, done: Callable[[R], None]) -> None:
        """Ask the daemon; if that fails, the page says so and offers to try again."""

        def answered(result: R) -> None:
            self.notice.hide()
            done(result)

        self.link.call(method, params, done=answered, failed=self.complain)

    def complain(self, error: PotluckError) -> None:
        """In words, at the top of the page."""
        self.notice.say(words.failure(error), self.tr("Try again"))

    def _try_again(self) -> None:
        self.notice.hide()
        self.refresh()
