"""A hand and a screen reader go over every control of every page; names come from Qt's accessibility interface."""

import pytest
from helpers.app_answers import ANSWERS, PROBES, SERVING
from helpers.controls import controls, faults_of, page_faults, roll, unfold
from helpers.fake_link import FakeLink
from helpers.screen import button, open_window, press, shown
from msgspec import structs
from potluck_app.pages import calls
from potluck_app.pages.catalogue import SIDEBAR
from potluck_app.pages.page import Fold, Page
from potluck_app.shell.window import MainWindow
from potluck_app.widgets.button import Button, Switch
from potluck_app.widgets.controls import NumberBox
from potluck_app.widgets.parts import column, holder, text
from potluck_control.api import schema
from potluck_control.api.schema import Status
from potluck_control.methods import members
from potluck_control.states import Reason, State
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QLineEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from potluck.errors import PotluckError
from potluck.sentences import sentence

BUSY = structs.replace(
    SERVING, state=State.YIELDED, reason=Reason.GAME, app="hades2", app_title="Hades II", probes=PROBES
)
NO_SWARM = structs.replace(
    SERVING, state=State.IDLE, reason=Reason.NO_SWARM, text=sentence("No swarm joined yet"), swarm=None
)


@pytest.mark.parametrize("status", [BUSY, NO_SWARM], ids=["every page", "first run"])
@pytest.mark.parametrize("failure", [None, PotluckError("the daemon is not running")], ids=["full", "failing"])
def test_no_control_moves_by_wheel_and_each_has_a_name_and_obeys_enter_and_space(
    status: Status, failure: PotluckError | None, qtbot: QtBot
) -> None:
    window = MainWindow(FakeLink(ANSWERS if failure is None else {}, failure))
    qtbot.addWidget(window)
    assert sorted(set(faults_of(window, status))) == []


def test_the_wheel_scrolls_the_page_whatever_it_is_over_and_whatever_has_the_keyboard(qtbot: QtBot) -> None:
    window = open_window(qtbot, BUSY, ANSWERS)
    window.resize(window.minimumSize())
    for entry in SIDEBAR:
        window.open(entry.key)
        unfold(window.page)
        bar = window.page.verticalScrollBar()
        for control in controls(window.page):
            control.setFocus()
            bar.setValue(0)
            if not isinstance(control, QAbstractScrollArea):  # a text or a table, which scrolls first
                roll(control, -120)
                assert bar.value() > 0 or not bar.maximum(), f"{entry.key}: {control}"


def test_what_the_walk_over_the_controls_would_find(qtbot: QtBot) -> None:
    choice, box = QComboBox(), QDoubleSpinBox()
    choice.addItems(["one", "two"])
    page = holder(column(choice, box, QLineEdit(), Switch(), QCheckBox("Fine but for Enter"), Button("No")))
    qtbot.addWidget(page)
    page.show()
    found = list(page_faults(page))
    assert sum("the wheel changes" in fault for fault in found) == 3, "the field within the box is one"
    assert sum("the wheel moves the keyboard" in fault for fault in found) == 2
    assert sum("no name" in fault for fault in found) == 4
    assert sum("Enter does not press" in fault for fault in found) == 3
    assert not any("Space" in fault for fault in found)


def test_a_focused_number_changes_by_its_arrow_keys_alone(qtbot: QtBot) -> None:
    box = NumberBox("%")
    box.setAccessibleName("Part")
    page = holder(column(text("Part"), box))
    qtbot.addWidget(page)
    page.show()
    box.show_value(50, 0, 100, is_whole=True)
    box.setFocus()
    for key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
        qtbot.keyClick(box, key)
    roll(box, 120)
    assert box.value() == 50
    qtbot.keyClick(box, Qt.Key.Key_Up)
    assert box.value() == 55


def test_a_page_opens_at_its_top_with_the_keyboard_there(qtbot: QtBot) -> None:
    """Here nobody but the founder may invite: what the page shows first is hidden once that is known."""
    link = FakeLink(dict(ANSWERS))
    window = MainWindow(link)
    qtbot.addWidget(window)
    window.show_status(SERVING)
    window.resize(window.minimumSize())
    window.show()
    found = link.answers.pop("members.list")
    window.open("swarm")
    link.answer("members.list", structs.replace(found, may_lead=False))
    qtbot.wait(1)
    assert window.page.verticalScrollBar().value() == 0
    assert window.focusWidget() is window.page
    qtbot.keyClick(window.page, Qt.Key.Key_Tab)
    first = next(stop for stop in window.page.tab_stops() if stop.isVisible() and stop.isEnabled())
    assert window.focusWidget() is first


def test_a_fold_that_opens_at_the_lower_edge_comes_into_view_with_its_heading_above(qtbot: QtBot) -> None:
    window = open_window(qtbot, SERVING, ANSWERS)
    window.resize(window.minimumSize())
    window.open("settings")
    head = window.page.findChildren(Fold)[-1].focusProxy()
    head.click()
    qtbot.waitUntil(lambda: window.page.verticalScrollBar().value() > 0)
    assert 0 <= head.mapTo(window.page.viewport(), QPoint()).y() < window.page.viewport().height() // 4


def test_escape_closes_the_fold_around_the_keyboard_and_never_the_window(qtbot: QtBot) -> None:
    window = open_window(qtbot, BUSY, ANSWERS)
    window.open("settings")
    fold = window.page.findChild(Fold)
    fold.open()
    inside = next(control for control in controls(fold.content) if control.isEnabled())
    inside.setFocus()
    qtbot.keyClick(inside, Qt.Key.Key_Escape)
    assert (fold.is_open, fold.content.isHidden()) == (False, True)
    assert window.focusWidget() is fold.focusProxy()
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Return)
    assert fold.is_open
    fold.open(False)
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    assert window.isVisible()


def settle() -> None:
    for _ in range(3):
        QApplication.processEvents()  # a layout may ask for another


def places(page: QWidget) -> dict[QWidget, QPoint]:
    return {control: control.mapToGlobal(QPoint()) for control in controls(page.widget())}


def test_no_notice_moves_a_control_of_any_page(qtbot: QtBot) -> None:
    window = open_window(qtbot, BUSY, ANSWERS)
    for entry in SIDEBAR:
        window.open(entry.key)
        page = window.page
        settle()
        for scrolled in (0, page.verticalScrollBar().maximum()):
            page.verticalScrollBar().setValue(scrolled)
            settle()
            before = places(page)
            for show in (page.announce, page.show_error, page.show_standing):
                show("Something long happened. " * 20)
                settle()
                assert page.notice_bar.isVisible()
                assert places(page) == before, entry.key
            page.notice_bar._end_news()
            page.clear_problems()
            page.show_standing("")
            settle()
            assert page.notice_bar.isHidden()
            assert places(page) == before, entry.key


def test_news_hide_a_problem_for_a_while_and_their_button_acts_once(qtbot: QtBot) -> None:
    window, undone = open_window(qtbot, BUSY, ANSWERS), []
    page = window.page
    page.show_standing("A new version is installed.", "Restart")
    page.show_error("The disk is full.")
    assert shown(page.notice_bar) == ["The disk is full."]
    page.announce("Saved.", "Undo", lambda: undone.append(True))
    assert shown(page.notice_bar) == ["Saved."]
    assert button(page.notice_bar, "Undo") in page.tab_stops()
    press(page, "Undo")
    assert undone == [True]
    assert shown(page.notice_bar) == ["The disk is full."]
    page.clear_problems()
    assert shown(page.notice_bar) == ["A new version is installed."]
    page.announce("Saved.", "Undo", lambda: undone.append(True))
    button(page.notice_bar, "Undo").setFocus()
    page.notice_bar._end_news()
    assert shown(page.notice_bar) == ["Saved."], "the keyboard is on its button"
    button(page.notice_bar, "Undo").clearFocus()
    page.notice_bar._end_news()
    assert shown(page.notice_bar) == ["A new version is installed."]


def test_a_wait_of_more_than_two_seconds_says_what_happens_and_for_how_long(
    monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    clock = [100.0]
    monkeypatch.setattr(calls.time, "monotonic", lambda: clock[0])
    link = FakeLink()
    page, answers = Page(link, "Swarm"), []
    qtbot.addWidget(page)
    page.show()
    page.call(schema.CREATE, schema.CreateParams(), answers.append)
    for passed_s, told in (
        (1.0, []),
        (2.0, ["Starting the swarm… This takes about 20 s."]),
        (31.0, ["Starting the swarm… 31 s so far."]),
    ):
        clock[0] = 100.0 + passed_s
        page.link._show_wait()
        assert shown(page.notice_bar) == told
    link.answer("create", schema.Joined("home", "demo"))
    assert shown(page.notice_bar) == []
    assert not page.link._second.isActive()
    for _ in range(2):  # what a page asks again and again is told once
        page.call(members.LIST, members.SwarmParams(), answers.append)
        clock[0] += 2.0
        page.link._show_wait()
        told = ["Asking who is in the swarm… This takes about 5 s."] if len(answers) == 1 else []
        assert shown(page.notice_bar) == told
        link.answer("members.list", None)


def test_an_answer_to_a_page_that_is_gone_is_dropped(qtbot: QtBot) -> None:
    link, answers = FakeLink(), []
    page = Page(link, "Swarm")
    page.call(schema.STATUS, None, answers.append)
    page.call(schema.CREATE, schema.CreateParams(), answers.append)
    page.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    link.answer("status", SERVING)
    link.fail("create", PotluckError("no"))
    assert answers == []
