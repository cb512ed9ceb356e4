"""What a page is: a column of cards beside the sidebar, made when it is first opened and kept from then on.

The catalogue of pages is in `catalogue.py`; a page's own file is imported when somebody opens it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from itertools import pairwise
from typing import Protocol, TypeVar

from potluck_control.schema import Method, Status
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QLayout, QScrollArea, QWidget

from potluck.errors import PotluckError
from potluck_app.widgets import theme
from potluck_app.widgets.card import text
from potluck_app.widgets.layout import Poll, column, holder, row
from potluck_app.widgets.notice import Notice
from potluck_app.widgets.placeholder import Waiting
from potluck_app.widgets.theme import Type
from potluck_app.words import sentences

P = TypeVar("P")
R = TypeVar("R")
_WIDEST = 860  # longer lines are hard to read
_NEWS_MS = 8000
_TAB = Qt.FocusPolicy.TabFocus
_ELSEWHERE = ""  # stands for the method of a command that was given in the menu


class Part(Enum):
    """A part of a page that something elsewhere leads to."""

    INVITE = "invite"  # of People
    JOIN = "join"  # of Models and of the first run


class DaemonCaller(Protocol):
    """The way to the daemon. Returns at once and calls `done` or `failed` later, in Qt's thread."""

    def call(
        self,
        method: Method[P, R],
        params: P | None,
        *,
        done: Callable[[R], None] | None = None,
        failed: Callable[[PotluckError], None] | None = None,
    ) -> None: ...


class Page(QScrollArea):
    """A page of the window. Subclasses fill `self.column`, and override `show_status` and `refresh` as they need.

    `head` is the row of the title; what belongs to the whole page goes to its right. An empty title makes no row.
    Signal: `installation_wanted()`, to open the page Installation.
    """

    installation_wanted = Signal()
    AGAIN_MS = 0  # how often to refresh a page that is on the screen; 0: not by itself

    def __init__(self, link: DaemonCaller, title: str) -> None:
        super().__init__()
        self.link = link
        self.head, self.column = row(), column(spacing=theme.SPACE_L)
        self.notice, self._news = Notice(), Notice("good", "serving")
        self._problems: dict[str, str] = {}
        self.notice.pressed.connect(self._try_again)
        if title:
            self.head.addWidget(text(kind=Type.TITLE, said=title), 1)
        self._outer = column(self.head, self.notice, self._news, self.column, None, spacing=theme.SPACE_L)
        self._make_room(0, 0)
        self.verticalScrollBar().rangeChanged.connect(self._make_room)
        content = holder(self._outer)
        content.setMaximumWidth(_WIDEST)
        self.setWidget(holder(row((content, 1))))
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(title)
        Poll(self, self.refresh).run_while(bool(self.AGAIN_MS), self.AGAIN_MS)

    @property
    def is_unsaved(self) -> bool:
        """Tell whether closing the page would lose something that the user wrote."""
        return False

    def show_status(self, status: Status) -> None:
        """Take the latest status; called when the page comes to the front, and with each status while it is there."""

    def refresh(self) -> None:
        """Ask for what a status does not tell; called when the page comes to the front and when the daemon is back."""

    def lead_to(self, part: Part, swarm: str = "") -> None:
        """Go to a part of a page that has it. `swarm`: whose link was opened, if that led here."""

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 (Qt's name)
        super().showEvent(event)
        self.order_tabs()

    def ask(self, method: Method[P, R], params: P | None, done: Callable[[R], None]) -> None:
        """Call the daemon; while the last call of a method has failed, the page says so and offers to try again."""

        def answered(result: R) -> None:
            self._problems.pop(method.name, None)
            self._problems.pop(_ELSEWHERE, None)
            self._show_problems()
            done(result)
            self.order_tabs()  # the page may have new controls

        def failed(error: PotluckError) -> None:
            self._problems[method.name] = sentences.failure(error)
            self._show_problems()

        self.link.call(method, params, done=answered, failed=failed)

    def order_tabs(self) -> None:
        """Make the Tab key go from top to bottom, in whatever order widgets were made."""
        for before, after in pairwise(self.stops()):
            QWidget.setTabOrder(before, after)

    def start_above(self) -> None:
        """Let the keyboard begin at the uppermost control, on pages where none is wanted first."""
        first = next((widget for widget in self.stops() if widget.isVisibleTo(self) and widget.isEnabled()), None)
        if first is not None:
            self.setFocusProxy(first)

    def stops(self) -> list[QWidget]:
        """Return what the Tab key reaches in the column and its head, hidden widgets included."""
        return [widget for widget in _in_order(self._outer) if widget.focusPolicy() & _TAB]

    def complain(self, error: PotluckError) -> None:
        """Show why a command from the menu failed, until something works again."""
        self._problems[_ELSEWHERE] = sentences.failure(error)
        self._show_problems()

    def forget_problems(self) -> None:
        """Hide why commands failed; the daemon is another one now, or responds again."""
        self._problems.clear()
        self._show_problems()

    def tell(self, message: str) -> None:
        """Show for a while that something went well."""
        self._news.say(message)
        QTimer.singleShot(_NEWS_MS, self._news.hide)

    def _make_room(self, _least: int, most: int) -> None:
        """Take the scroll bar's place from the margin: cards are as wide on every page."""
        bar = theme.SCROLL_BAR if most > 0 else 0
        self._outer.setContentsMargins(theme.SPACE_XL, theme.SPACE_XL, theme.SPACE_XL - bar, theme.SPACE_XL)

    def _show_problems(self) -> None:
        said = " ".join(dict.fromkeys(self._problems.values()))
        self.notice.say(said, self.tr("Try again") if said else "")
        for waiting in self.findChildren(Waiting):
            waiting.note_failure(has_failed=bool(said))

    def _try_again(self) -> None:
        self.forget_problems()
        self.refresh()


def _in_order(layout: QLayout | None) -> Iterator[QWidget]:
    """Yield all widgets in `layout` and within them, as they stand on the screen."""
    if layout is None:
        return
    for item in filter(None, map(layout.itemAt, range(layout.count()))):
        widget = item.widget()
        if widget is not None:
            yield widget
        yield from _in_order(widget.layout() if widget is not None else item.layout())
