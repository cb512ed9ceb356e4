"""What somebody sees on a page and presses there; widgets are known by what is written on them."""

from collections.abc import Callable
from typing import Any

from helpers.fake_link import FakeLink
from potluck_app.pages.page import Fold, Page, PageSection
from potluck_app.shell.window import MainWindow
from potluck_control.api.schema import Status
from PySide6.QtGui import QAction, QImage
from PySide6.QtWidgets import QLabel, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot


def opened(make: Callable[[FakeLink], Page], answers: dict[str, object] | None = None) -> tuple[Any, FakeLink]:
    """Return a page that has asked its questions, with all folds open, and its way to the daemon."""
    link = FakeLink(answers)
    page = make(link)
    page.refresh()
    unfold(page)
    return page, link


def open_window(qtbot: QtBot, status: Status, answers: dict[str, object] | None = None) -> MainWindow:
    """Return a window on the screen that shows `status`."""
    window = MainWindow(FakeLink(answers))
    qtbot.addWidget(window)
    window.show()
    window.show_status(status)
    return window


def opened_alone(
    section: Callable[[Page], PageSection], answers: dict[str, object] | None = None
) -> tuple[Any, FakeLink]:
    """Return the same for a page that has this section only."""

    def make(link: FakeLink) -> Page:
        page = Page(link, "")
        page.add(section(page))
        return page

    return opened(make, answers)


def unfold(page: QWidget) -> None:
    """Open what waits behind a click."""
    for fold in page.findChildren(Fold):
        fold.open()


def shown(page: QWidget) -> list[str]:
    """Return all texts that are not hidden."""
    return [label.text() for label in page.findChildren(QLabel) if label.isVisibleTo(page) and label.text()]


def said(page: QWidget) -> str:
    """Return the same as one text."""
    return "\n".join(shown(page))


def buttons(page: QWidget) -> list[str]:
    return [item.text() for item in page.findChildren(QPushButton) if item.isVisibleTo(page)]


def button(page: QWidget, text: str) -> QPushButton:
    """Return the one button of that text or accessible name."""
    found = [item for item in page.findChildren(QPushButton) if text in (item.text(), item.accessibleName())]
    if len(found) > 1:
        found = [item for item in found if item.isVisibleTo(page)]
    assert len(found) == 1, text
    return found[0]


def press(page: QWidget, text: str) -> None:
    button(page, text).click()


def chosen_from(page: QWidget, menu: str) -> dict[str, QAction]:
    """Return what the menu of the button of that name offers, by what is written there."""
    return {action.text(): action for action in button(page, menu).menu().actions()}


def control(page: QWidget, name: str) -> QWidget:
    (found,) = [item for item in page.findChildren(QWidget) if item.accessibleName() == name]
    return found


def picture(widget: QWidget, width: int, height: int) -> QImage:
    """Return what the widget paints in that size."""
    widget.resize(width, height)
    return widget.grab().toImage()


def confirm(page: QWidget, wanted: str) -> None:
    """Answer the newest question with the button of that text."""
    question = page.findChildren(QMessageBox)[-1]
    next(item for item in question.buttons() if item.text() == wanted).click()
