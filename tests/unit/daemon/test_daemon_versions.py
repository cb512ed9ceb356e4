"""A display and a daemon of different versions: what is not known is left out or read as unknown, never refused."""

from __future__ import annotations

from potluck_control.codec import from_json, to_json
from potluck_control.schema import ProbeState, ProbeStatus, Status
from potluck_control.states import Reason, State

OLDEST = {"state": "yielded", "reason": "game", "text": "Giving way to hades2", "since": 1.0, "version": "0.1"}


def test_a_status_of_an_older_daemon_lacks_only_what_is_new() -> None:
    assert from_json(Status, OLDEST) == Status(State.YIELDED, Reason.GAME, "Giving way to hades2", 1.0, "0.1")


def test_a_status_of_a_newer_daemon_is_read_as_far_as_it_is_known() -> None:
    newer = OLDEST | {
        "state": "dancing",
        "reason": "music",
        "probes": [{"name": "Ears", "state": "deaf", "detail": "loud"}],
        "mood": "good",
    }
    read = from_json(Status, newer)
    assert (read.state, read.reason, read.text) == (State.UNKNOWN, Reason.UNKNOWN, "Giving way to hades2")
    assert read.probes == (ProbeStatus("Ears", ProbeState.UNKNOWN, "loud"),)


def test_a_status_survives_the_way_over_the_wire() -> None:
    status = Status(
        State.SERVING, Reason.USER_ACTIVE, "Serving", 1.0, "1", ends="later", app="a", app_title="A", duty=0.5
    )
    assert from_json(Status, to_json(status)) == status
