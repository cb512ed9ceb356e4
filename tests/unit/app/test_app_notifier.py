"""Notifications are rare: each piece of news once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from potluck_app.pages.preferences import Preferences
from potluck_app.shell.notifier import ERRORS_APART_S, FORGOTTEN_S, Notifier
from potluck_control.agreement import Agreement, Difference
from potluck_control.schema import Status
from potluck_control.states import Reason, State

FAILED = Status(State.ERROR, Reason.ENGINE_FAILED, "The engine failed", since=100.0, version="1")
PAUSED = replace(FAILED, state=State.PAUSED, reason=Reason.USER, text="Paused by you")
OLDER = Agreement(Difference.OLDER_DAEMON, "The daemon runs version 1, this program is 2", "restart the daemon")


def test_an_engine_that_fails_again_and_again_is_told_once_an_hour() -> None:
    notifier = Notifier()
    assert notifier.status(FAILED, 100.0) is not None
    assert notifier.status(FAILED, 101.0) is None
    again = replace(FAILED, since=200.0)
    assert notifier.status(again, 200.0) is None
    assert notifier.status(replace(FAILED, since=100.0 + ERRORS_APART_S), 100.0 + ERRORS_APART_S) is not None


@pytest.mark.parametrize(
    ("status", "is_told"),
    [
        (PAUSED, True),
        (replace(PAUSED, until=1e9), False),
        (replace(PAUSED, reason=Reason.TIMER), False),
        (replace(PAUSED, state=State.SERVING), False),
    ],
)
def test_only_a_pause_without_an_end_is_called_to_mind(status: Status, is_told: bool) -> None:
    notifier, late = Notifier(), status.since + FORGOTTEN_S
    assert notifier.status(status, late - 1) is None
    assert (notifier.status(status, late) is not None) is is_told
    assert notifier.status(status, late + 1e6) is None


def test_a_milestone_is_told_when_it_is_passed_and_not_when_the_app_starts() -> None:
    notifier = Notifier()
    assert notifier.earned(1_500) is None
    assert notifier.earned(9_999) is None
    message = notifier.earned(10_000)
    assert message is not None
    assert "10,000 points" in message.text
    assert notifier.earned(10_001) is None


def test_a_daemon_of_another_version_is_told_once() -> None:
    notifier = Notifier()
    assert notifier.agreement(Agreement(Difference.NONE)) is None
    message = notifier.agreement(OLDER)
    assert message is not None
    assert "Restart the daemon." in message.text
    assert notifier.agreement(OLDER) is None


def test_the_choice_is_kept(tmp_path: Path) -> None:
    file = str(tmp_path / "app.ini")
    before = Preferences(file)
    assert before.notifications
    before.set_notifications(False)
    assert not Preferences(file).notifications
