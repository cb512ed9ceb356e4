"""What the app hears of while nobody looks at a window."""

from pathlib import Path

import pytest
from potluck_app.shell.link import DaemonLink
from potluck_control.codec import dumps, loads
from potluck_control.methods.setup import Plan, SetupState
from potluck_control.methods.updates import UpdatesState
from potluck_control.schema import Status, Transition
from potluck_control.states import Reason, State

SERVING = Status(State.SERVING, Reason.NONE, "Serving", since=5.0, version="1", tokens_per_s=3.0)
SETUP = SetupState(False, "/engines", Plan("cpu", "no GPU", "", 1, 1, True))
UPDATES = UpdatesState("0.1.0", False, True, True)
YIELDED = Transition(1.0, State.SERVING, State.YIELDED, Reason.GAME, "Giving way to Doom")


def is_wanted(link: DaemonLink, event: object) -> bool:
    return link._is_wanted(loads(dumps(event)))


@pytest.fixture
def link() -> DaemonLink:
    made = DaemonLink(Path("/nowhere"))
    made.is_calm = True
    return made


def test_numbers_and_the_progress_of_a_set_up_are_no_news_to_nobody(link: DaemonLink) -> None:
    assert is_wanted(link, SERVING)
    assert not is_wanted(link, SERVING)
    assert not is_wanted(link, SETUP)
    assert not is_wanted(link, SERVING)  # the one between changed nothing
    assert is_wanted(link, UPDATES)
    assert is_wanted(link, YIELDED)


def test_somebody_who_looks_is_told_everything(link: DaemonLink) -> None:
    link.is_calm = False
    assert all(is_wanted(link, event) for event in (SERVING, SERVING, SETUP, UPDATES, YIELDED))
