"""What a page is: a column of cards beside the sidebar, made when it is first opened and kept from then on.

The catalogue of pages is in `pages.py`; a page's own file is imported only when somebody opens it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Protocol, TypeVar

from potluck_control.schema import Method, Status
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLayout, QScrollArea, QVBoxLayout, QWidget

from potluck.errors import PotluckError
from potluck_app.widgets import theme
from potluck_app.widgets.card import text
from potluck_app.widgets.notice import Notice
from potluck_app.widgets.theme import Type
from potluck_app.words import sentences

P = TypeVar("P")
R = TypeVar("R")
_WIDEST = 860  # lines that are longer are hard to read
_NEWS_MS = 8000
_TAB = Qt.FocusPolicy.TabFocus
_ELSEWHERE = ""  # stands for the method of a command that was given in the menu


class DaemonCaller(Protocol):
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
    Signal: `installation_wanted()`, when the user is led to the page of that name.
    """

    installation_wanted = Signal()
    AGAIN_MS = 0  # how often to refresh while somebody looks; 0: not by itself

    def __init__(self, link: DaemonCaller, title: str) -> None:
        super().__init__()
        self.link = link
        self.head, self.column = QHBoxLayout(), QVBoxLayout()
        self.notice, self._news = Notice(), Notice("good", "serving")
        self._problems: dict[str, str] = {}
        self.notice.pressed.connect(self._try_again)
        content = QWidget()
        content.setMaximumWidth(_WIDEST)
        self.column.setSpacing(theme.SPACE_L)
        outer = self._outer = QVBoxLayout(content)
        self._make_room(0, 0)
        self.verticalScrollBar().rangeChanged.connect(self._make_room)
        outer.setSpacing(theme.SPACE_L)
        if title:
            self.head.addWidget(text(kind=Type.TITLE, said=title), 1)
            outer.addLayout(self.head)
        outer.addWidget(self.notice)
        outer.addWidget(self._news)
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
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.refresh)

    @property
    def is_unsaved(self) -> bool:
        """Whether something of the user's is nowhere but here."""
        return False

    def show_status(self, status: Status) -> None:
        """Called with the latest status when the page comes to the front, and with each one while it is there."""

    def refresh(self) -> None:
        """Ask for what statuses do not tell: called when the page comes to the front and when the daemon is back."""

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 (Qt's name)
        super().showEvent(event)
        self.order_tabs()
        if self.AGAIN_MS:
            self._timer.start(self.AGAIN_MS)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 (Qt's name)
        super().hideEvent(event)
        self._timer.stop()

    def ask(self, method: Method[P, R], params: P | None, done: Callable[[R], None]) -> None:
        """Ask the daemon; while the last call of a method has failed, the page says so and offers to try again."""

        def answered(result: R) -> None:
            self._problems.pop(method.name, None)
            self._problems.pop(_ELSEWHERE, None)
            self._show_problems()
            done(result)
            self.order_tabs()  # it may have drawn anew what the keyboard reaches

        def failed(error: PotluckError) -> None:
            self._problems[method.name] = sentences.failure(error)
            self._show_problems()

        self.link.call(method, params, done=answered, failed=failed)

    def order_tabs(self) -> None:
        """The Tab key goes from above to below, in whatever order widgets were made."""
        for before, after in pairwise(self.stops()):
            QWidget.setTabOrder(before, after)

    def start_above(self) -> None:
        """The keyboard begins at the uppermost control that is there; for pages on which none is wanted first."""
        first = next((widget for widget in self.stops() if widget.isVisibleTo(self) and widget.isEnabled()), None)
        if first is not None:
            self.setFocusProxy(first)

    def stops(self) -> list[QWidget]:
        """What the Tab key reaches in the column and its head, hidden things included."""
        return [widget for widget in _in_order(self._outer) if widget.focusPolicy() & _TAB]

    def complain(self, error: PotluckError) -> None:
        """Of a command that was not given on this page: said until something works again."""
        self._problems[_ELSEWHERE] = sentences.failure(error)
        self._show_problems()

    def tell(self, message: str) -> None:
        """Of something that went well: said for a while."""
        self._news.say(message)
        QTimer.singleShot(_NEWS_MS, self._news.hide)

    def _make_room(self, _least: int, most: int) -> None:
        """The scroll bar takes its place from the margin: cards are as wide on every page."""
        bar = theme.SCROLL_BAR if most > 0 else 0
        self._outer.setContentsMargins(theme.SPACE_XL, theme.SPACE_XL, theme.SPACE_XL - bar, theme.SPACE_XL)

    def _show_problems(self) -> None:
        said = " ".join(dict.fromkeys(self._problems.values()))
        self.notice.say(said, self.tr("Try again") if said else "")

    def _try_again(self) -> None:
        self._problems.clear()
        self._show_problems()
        self.refresh()


def _in_order(layout: QLayout | None) -> Iterator[QWidget]:
    """All widgets in it and in what it holds, as they stand on the screen."""
    if layout is None:
        return
    for item in filter(None, map(layout.itemAt, range(layout.count()))):
        widget = item.widget()
        if widget is not None:
            yield widget
        yield from _in_order(widget.layout() if widget is not None else item.layout())
