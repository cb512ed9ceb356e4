"""What a page is: a column of sections beside the sidebar, made when it is first opened and kept from then on.

Sections ask the daemon by way of their page. A fold is a section whose content waits behind one click.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import TypeVar

from potluck_control.api.schema import Method, Status
from potluck_control.methods.installation import SetupState, UpdatesState
from potluck_control.methods.members import MembersChanged
from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QLayout, QScrollArea, QWidget

from potluck.errors import PotluckError
from potluck_app.pages.calls import DaemonCaller, WatchedLink
from potluck_app.pages.destination import Destination
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.notice import NoticeBar, Urgency
from potluck_app.widgets.parts import (
    Card,
    Item,
    LoadingPlaceholder,
    PollTimer,
    append,
    column,
    holder,
    muted,
    row,
    text,
)
from potluck_app.widgets.theme import TextStyle
from potluck_app.words import sentences

P = TypeVar("P")
R = TypeVar("R")
_WIDEST = 860  # longer lines are hard to read
_TAB = Qt.FocusPolicy.TabFocus
_ELSEWHERE = ""  # stands for the method of a command that was given in the menu


class HasSections:
    """What a page and a section have in common: each status and each refresh goes on to the sections inside."""

    sections: list[PageSection]

    @property
    def is_unsaved(self) -> bool:
        """Tell whether closing the page would lose something that the user wrote."""
        return any(section.is_unsaved for section in self.sections)

    def show_status(self, status: Status) -> None:
        """Show the latest status. Called when the page comes to the front, and with each status while it is there."""
        for section in self.sections:
            section.show_status(status)

    def refresh(self) -> None:
        """Ask for what a status lacks. Called when the page comes to the front, and when the daemon is back."""
        for section in self.sections:
            section.refresh()


class PageSection(HasSections, QWidget):
    """A part of a page, which passes on each status and each refresh.

    Args:
        parts: sections and other things that it consists of, if it does nothing itself.
    """

    part: Destination | None = None

    def __init__(self, page: Page, *parts: Item) -> None:
        super().__init__()
        self.page = page
        self.sections = []
        if parts:
            self.fill(*parts)

    def fill(self, *items: Item) -> None:
        """Stack cards and sections; see `parts.column`."""
        self.sections = [item for item in items if isinstance(item, PageSection)]
        self.setLayout(column(*items, spacing=theme.SPACE_L))

    def enter(self, swarm: str = "") -> None:
        """Put the keyboard on the main control, for somebody who was led here, perhaps by the link of `swarm`."""
        (self.sections or [self])[0].setFocus()


class Fold(PageSection):
    """A heading with a line about what is behind it. The content is made once somebody opens the fold.

    Args:
        make: makes the content.
        part: the destination that leads here.
    """

    def __init__(
        self, page: Page, heading: str, about: str, make: Callable[[], PageSection], part: Destination | None = None
    ) -> None:
        super().__init__(page)
        self.part = part
        self._make = make
        self._status: Status | None = None
        self.content: PageSection | None = None
        self._head = Button(heading, "next", "fold")
        self._head.setAccessibleDescription(about)
        self._head.setCheckable(True)
        self._head.toggled.connect(self._show)
        self._head.clicked.connect(lambda is_open: page.scroll_to(self) if is_open else None)
        self._head.setFont(theme.font(theme.TextStyle.HEADING))
        self._about = muted(about)
        self._column = column(Card("", column(self._head, self._about, spacing=0)), spacing=theme.SPACE_L)
        self.setLayout(self._column)
        self.setFocusProxy(self._head)

    @property
    def is_unsaved(self) -> bool:
        return self.content is not None and self.content.is_unsaved

    @property
    def is_open(self) -> bool:
        return self._head.isChecked()

    def open(self, is_open: bool = True) -> None:
        """Show or hide the content."""
        self._head.setChecked(is_open)

    def show_status(self, status: Status) -> None:
        self._status = status
        if self.content is not None and self.is_open:
            self.content.show_status(status)

    def refresh(self) -> None:
        if self.content is not None and self.is_open:
            self.content.refresh()

    def enter(self, swarm: str = "") -> None:
        self.open()
        assert self.content is not None
        self.content.enter(swarm)

    def _show(self, is_open: bool) -> None:
        self._head.show_glyph("down" if is_open else "next")
        self._about.setVisible(not is_open)
        if self.content is None:
            self.content = self._make()
            self._column.addWidget(self.content)
        self.content.setVisible(is_open)
        if is_open:
            if self._status is not None:
                self.content.show_status(self._status)
            self.content.refresh()
        self.page.order_tabs()


class Page(HasSections, QScrollArea):
    """A page of the window: a column of sections, which `add` puts there.

    `head` is the row of the title; what belongs to the whole page goes to its right. An empty title makes no row.
    Signals: `requested(Destination)`, to go to a part of this or another page; `finished()`, when a page that
    `is_open`, and so stays in front whatever the sidebar says, no longer has to; `preference_changed(str, object)`,
    with the name and the value of a preference of the app.
    """

    requested = Signal(object)
    finished = Signal()
    preference_changed = Signal(str, object)
    is_open = False
    AGAIN_MS = 0  # how often to refresh a page that is on the screen; 0: not by itself

    def __init__(self, link: DaemonCaller, title: str) -> None:
        super().__init__()
        self.head, self.column = row(), column(spacing=theme.SPACE_L)
        self.sections = []
        self._problems: dict[str, str] = {}
        self._main: QWidget | None = None
        if title:
            self.head.addWidget(text(title, style=TextStyle.TITLE), 1)
        self._outer = column(self.head, self.column, None, spacing=theme.SPACE_L)
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
        self.notice_bar = NoticeBar(self, _WIDEST)
        self.link = WatchedLink(self, link, partial(self.notice_bar.say, Urgency.WAIT))
        PollTimer(self, self.refresh).run_while(bool(self.AGAIN_MS), self.AGAIN_MS)

    def add(self, *items: Item) -> None:
        """Append sections, widgets and rows to the column."""
        self.sections += [item for item in items if isinstance(item, PageSection)]
        append(self.column, *items)

    def go_to(self, part: Destination, swarm: str = "") -> None:
        """Go to a destination on this page. `swarm`: the one whose link was opened, if a link led here."""
        for section in self.sections:
            if section.part is part:
                section.enter(swarm)
                self.scroll_to(section)

    def show_setup(self, state: SetupState) -> None:
        """Take news about the engine's set-up, on a page that shows them."""

    def show_updates(self, state: UpdatesState) -> None:
        """Take news about newer versions of Potluck, on a page that shows them."""

    def scroll_to(self, part: QWidget) -> None:
        """Scroll as little as needed to show `part`, or its beginning if it is too high, once it is laid out."""

        def scroll() -> None:
            bar, room = self.verticalScrollBar(), self.viewport().height() - NoticeBar.ROOM
            top = part.mapTo(self.viewport(), QPoint()).y() + bar.value()
            end = top + max(part.height(), room // 2) - room  # leave half a screen for what comes with an answer
            bar.setValue(min(top - theme.SPACE_L, max(bar.value(), end)))

        QTimer.singleShot(0, part, scroll)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 (Qt's name)
        super().showEvent(event)
        self.order_tabs()

    def call(self, method: Method[P, R], params: P | None, done: Callable[[R], None]) -> None:
        """Call the daemon. While the last call of a method has failed, the page shows why and offers to try again."""

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

    def change_members(self, method: Method[P, MembersChanged], params: P, done: str) -> None:
        """Change something about the members of a swarm, then show `done` and ask for everything again."""

        def changed(result: MembersChanged) -> None:
            later = self.tr("The others learn of it when this computer serves again.")
            self.announce(done if result.is_known else f"{done} {later}")
            self.refresh()

        self.call(method, params, changed)

    def restore_from(self, before: Page) -> bool:
        """Adopt what is unsaved on this page as it was in another language; return False if that is not possible."""
        return not before.is_unsaved

    def order_tabs(self) -> None:
        """Make the Tab key go from top to bottom, in whatever order widgets were made."""
        stops = self.tab_stops()
        for before, after in pairwise(stops):
            QWidget.setTabOrder(before, after)
        for widget in stops:
            if widget.focusPolicy() is Qt.FocusPolicy.WheelFocus:
                widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # the wheel must not move the keyboard

    def setFocusProxy(self, widget: QWidget | None) -> None:  # noqa: N802 (Qt's name)
        """Choose the main control, where the keyboard begins.

        Qt's own proxy would lead the Tab key past everything above it.
        """
        self._main = widget

    def focusProxy(self) -> QWidget | None:  # noqa: N802 (Qt's name)
        return self._main

    def setFocus(self, reason: Qt.FocusReason = Qt.FocusReason.OtherFocusReason) -> None:  # noqa: N802 (Qt's name)
        if self._main is not None and self._main.isEnabled() and self._main.isVisibleTo(self):
            self._main.setFocus(reason)
        else:  # Qt would choose any control, perhaps one far below, and scroll there
            super().setFocus(reason)

    def tab_stops(self) -> list[QWidget]:
        """Return what the Tab key reaches in the head, the column and the notice, hidden widgets included."""
        places = (*_in_order(self._outer), *_in_order(self.notice_bar.layout()))
        return [widget for widget in places if widget.focusPolicy() & _TAB]

    def show_error(self, problem: PotluckError | str) -> None:
        """Show why a command failed that the page itself didn't give, until a command works again."""
        self._problems[_ELSEWHERE] = problem if isinstance(problem, str) else sentences.failure(problem)
        self.announce("")  # older news would hide it
        self._show_problems()

    def clear_problems(self) -> None:
        """Hide why commands failed. Called when another daemon answers, or the same one responds again."""
        self._problems.clear()
        self._show_problems()

    def announce(self, message: str, button: str = "", act: Callable[[], object] | None = None) -> None:
        """Show for a while that something went well, with a button such as Undo that calls `act`."""
        self.notice_bar.say(Urgency.NEWS, message, button, act)

    def show_standing(self, message: str, button: str = "", act: Callable[[], object] | None = None) -> None:
        """Show something about the whole app until it changes; "" takes it away."""
        self.notice_bar.say(Urgency.STANDING, message, button, act)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 (Qt's name)
        super().resizeEvent(event)
        self.notice_bar.settle()

    def _make_room(self, _least: int, most: int) -> None:
        """Take the scroll bar's room from the margin, so that cards are as wide on every page."""
        bar = theme.SCROLL_BAR if most > 0 else 0
        self._outer.setContentsMargins(theme.SPACE_XL, theme.SPACE_XL, theme.SPACE_XL - bar, NoticeBar.ROOM)

    def _show_problems(self) -> None:
        message = " ".join(dict.fromkeys(self._problems.values()))
        self.notice_bar.say(Urgency.PROBLEM, message, self.tr("Try again"), self._try_again)
        for waiting in self.findChildren(LoadingPlaceholder):
            waiting.show_failure(has_failed=bool(message))

    def _try_again(self) -> None:
        self.clear_problems()
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
