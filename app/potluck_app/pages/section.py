"""The parts of a page: sections, which ask by way of their page, and folds, whose content waits behind one click."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from potluck_control.schema import Status
from PySide6.QtWidgets import QWidget

from potluck_app.pages.part import Part as Part
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, text
from potluck_app.widgets.layout import Item, column

if TYPE_CHECKING:
    from potluck_app.pages.page import Page


class PassesOn:
    """What a page and a section have in common: what reaches them goes on to the sections inside."""

    sections: list[Section]

    @property
    def is_unsaved(self) -> bool:
        """Tell whether closing the page would lose something that the user wrote."""
        return any(section.is_unsaved for section in self.sections)

    def show_status(self, status: Status) -> None:
        """Take the latest status; called when the page comes to the front, and with each status while it is there."""
        for section in self.sections:
            section.show_status(status)

    def refresh(self) -> None:
        """Ask for what a status does not tell; called when the page comes to the front and when the daemon is back."""
        for section in self.sections:
            section.refresh()


class Section(PassesOn, QWidget):
    """A part of a page. `page` passes on each status and each refresh, and whatever the section asks.

    `parts`: sections and other things that it consists of, if it does nothing itself.
    """

    part: Part | None = None

    def __init__(self, page: Page, *parts: Item) -> None:
        super().__init__()
        self.page = page
        self.sections = []
        if parts:
            self.fill(*parts)

    def fill(self, *items: Item) -> None:
        """Stack cards and sections; see `layout.column`."""
        self.sections = [item for item in items if isinstance(item, Section)]
        self.setLayout(column(*items, spacing=theme.SPACE_L))

    def enter(self, swarm: str = "") -> None:
        """Put the keyboard where somebody wants it who was led here, perhaps by the link of `swarm`."""
        (self.sections or [self])[0].setFocus()


class Fold(Section):
    """A heading with a line about what is behind it; the content is made and asked for once somebody opens it.

    Args:
        make: makes the content.
        part: what other pages call it.
    """

    def __init__(
        self, page: Page, heading: str, about: str, make: Callable[[], Section], part: Part | None = None
    ) -> None:
        super().__init__(page)
        self.part = part
        self._make = make
        self._status: Status | None = None
        self.content: Section | None = None
        self._head = Button(heading, "next", "fold")
        self._head.setAccessibleDescription(about)
        self._head.setCheckable(True)
        self._head.toggled.connect(self._show)
        self._head.clicked.connect(lambda is_open: page.reveal(self) if is_open else None)
        self._head.setFont(theme.font(theme.Type.HEADING))
        self._about = text("muted", said=about)
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
