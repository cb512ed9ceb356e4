"""Every page of the window with a real daemon and a real client: what is shown is what the daemon knows.

The window lives in this process, without a screen; `test_app_with_daemon.py` has the app as a whole on a real one.
"""

import os
import signal
from collections.abc import Iterator

import pytest
from helpers.application import Wait, english, qapp_args, wait
from helpers.asking import somebody_asking
from helpers.daemon_process import DaemonProcess
from helpers.screen import buttons, press, shown
from potluck_app.pages.earnings import EarningsPage
from potluck_app.pages.page import Page
from potluck_app.pages.when import WhenPage
from potluck_app.shell.link import Absence, DaemonLink
from potluck_app.shell.window import MainWindow
from potluck_app.words import numbers
from potluck_control import schema
from potluck_control.methods import earnings
from potluck_control.states import State
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from potluck.errors import PotluckError

pytestmark = pytest.mark.screen

__all__ = ["english", "qapp_args", "wait"]
WORDS = {  # that a page shows once the daemon has answered
    "home": "Points today",
    "earnings": "Energy and time",
    "when": "At any time. Click or drag to leave hours out.",
    "limits": "Memory for Potluck",
    "models": "Your swarms",
    "activity": "Today",
    "chat": "Talk to demo-model",
    "diagnostics": "Not checked yet",
}


@pytest.fixture
def window(daemon: DaemonProcess, wait: Wait) -> Iterator[MainWindow]:
    """Open, beside the daemon, as the app wires it."""
    link = DaemonLink(daemon.socket)
    made = MainWindow(link)
    link.status_changed.connect(made.show_status)
    link.went_away.connect(made.show_away)
    link.hung.connect(lambda reason: made.show_away(reason, Absence.HUNG))
    link.agreed.connect(made.show_agreement)
    link.start()
    made.show()
    wait(lambda: made.page is not None)
    yield made
    link.stop()
    made.hide()


@pytest.mark.parametrize("key", list(WORDS))
def test_every_page_shows_what_this_daemon_says_and_no_complaint(window: MainWindow, key: str, wait: Wait) -> None:
    window.open(key)
    page = window.page
    assert isinstance(page, Page)
    wait(lambda: WORDS[key] in shown(page))
    assert page.notice.isHidden(), shown(page.notice)


def test_earnings_rise_as_a_client_signs_for_work_and_are_those_of_the_daemon(
    window: MainWindow, daemon: DaemonProcess, qtbot: QtBot, wait: Wait
) -> None:
    window.open("earnings")
    page = window.page
    assert isinstance(page, EarningsPage)
    wait(lambda: "points earned" in shown(page))
    before = daemon.client.call(earnings.SUMMARY).week.earned
    with somebody_asking(daemon.client.call(schema.INVITE).invite):
        wait(lambda: daemon.client.call(earnings.SUMMARY).week.earned > before)
    wait(lambda: daemon.status().sessions == 0)

    def is_shown() -> bool:
        page.refresh()
        qtbot.wait(100)
        return numbers.points(daemon.client.call(earnings.SUMMARY).week.earned) in shown(page)

    wait(is_shown)


def test_an_hour_that_is_painted_out_is_obeyed_by_the_daemon_and_comes_back_with_undo(
    window: MainWindow, daemon: DaemonProcess, qtbot: QtBot, wait: Wait
) -> None:
    window.open("when")
    page = window.page
    assert isinstance(page, WhenPage)
    wait(lambda: WORDS["when"] in shown(page))
    everything = page._grid.hours
    page._grid.setFocus()
    qtbot.keyClick(page._grid, Qt.Key.Key_Space)
    wait(lambda: "Only during the filled hours." in shown(page))
    assert "mon 01:00-24:00" in daemon.command("config", "get", "when.hours").stdout
    press(page, "Undo")
    wait(lambda: WORDS["when"] in shown(page))
    assert page._grid.hours == everything
    daemon.wait_state(State.SERVING)


def test_a_check_up_is_made_and_shown(window: MainWindow, wait: Wait) -> None:
    window.open("diagnostics")
    page = window.page
    assert page is not None
    press(page, "Check now")
    wait(lambda: any("found nothing wrong" in said for said in shown(page)))


def test_a_daemon_that_hangs_or_is_killed_is_shown_until_it_is_back_on_the_page_that_was_open(
    window: MainWindow, daemon: DaemonProcess, wait: Wait
) -> None:
    window.open("earnings")
    page = window.page
    assert isinstance(page, EarningsPage)
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        page.complain(PotluckError("an error of the old daemon"))
        wait(lambda: "Potluck stopped responding" in shown(window))
        assert window.page is None
        assert "Restart" in buttons(window.away)
    finally:
        os.kill(daemon.pid, signal.SIGCONT)
    wait(lambda: window.page is page)
    assert page.notice.isHidden()
    daemon.kill()
    wait(lambda: "Potluck ended unexpectedly" in shown(window))
    assert window.page is None
    daemon.start()
    wait(lambda: isinstance(window.page, EarningsPage))
    wait(lambda: "points earned" in shown(window) and window.page.notice.isHidden())
