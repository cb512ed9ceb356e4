"""`potluck join` shows the work for a public swarm as long as it takes, and no longer."""

from collections.abc import Sequence

import pytest
from potluck_cli import connect, join
from potluck_control import schema
from potluck_control.method import Method
from potluck_control.states import Reason, State

from potluck.membership.presentation import WORKING

NO_SWARM = schema.Status(State.IDLE, Reason.NO_SWARM, "No swarm joined yet", 0.0, "1")
STARTING = schema.Status(State.STARTING, Reason.NONE, "Starting the engine", 0.0, "1")
AT_WORK = schema.Status(State.JOINING, Reason.NONE, f"{WORKING.capitalize()}: 7 of about 9 tries", 0.0, "1")
LOADING = schema.Status(State.JOINING, Reason.NONE, "Loading blocks", 0.0, "1")
PAUSED = schema.Status(State.PAUSED, Reason.USER, "Paused by you", 0.0, "1")


class FakeDaemon:
    """Answers with one status after the other, and is interrupted where there is no further one."""

    def __init__(self, statuses: Sequence[schema.Status]) -> None:
        self.left = list(statuses)

    def call(self, method: Method[object, object]) -> schema.Status:
        assert method is schema.STATUS
        if not self.left:
            raise KeyboardInterrupt
        return self.left.pop(0)


def watch(statuses: Sequence[schema.Status], monkeypatch: pytest.MonkeyPatch) -> FakeDaemon:
    fake = FakeDaemon(statuses)
    monkeypatch.setattr(join, "daemon", lambda: fake)
    monkeypatch.setattr(connect.time, "sleep", lambda seconds: None)
    join._watch_work(schema.Joined("friends", "model"))
    return fake


def test_it_watches_until_the_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watch([NO_SWARM, STARTING, AT_WORK, AT_WORK, LOADING, PAUSED], monkeypatch).left == [PAUSED]


def test_it_does_not_wait_for_a_computer_that_does_not_serve_now(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watch([NO_SWARM, PAUSED, AT_WORK], monkeypatch).left == [AT_WORK]


def test_interrupting_it_says_that_joining_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        watch([STARTING, AT_WORK], monkeypatch)
    assert "To give up: potluck swarm leave friends" in capsys.readouterr().err
