"""A display and a daemon of different versions: what is not known is left out or read as unknown, never refused."""

from __future__ import annotations

from potluck_control.codec import from_json
from potluck_control.schema import ProbeState, ProbeStatus, Status
from potluck_control.states import Reason, State


def test_what_a_newer_daemon_says_is_read_as_far_as_it_is_known() -> None:
    newer = {
        "state": "dancing",
        "reason": "music",
        "text": "Giving way to hades2",
        "since": 1.0,
        "version": "0.1",
        "probes": [{"name": "Ears", "state": "deaf", "detail": "loud"}],
        "mood": "good",
    }
    read = from_json(Status, newer)
    assert (read.state, read.reason, read.text) == (State.UNKNOWN, Reason.UNKNOWN, "Giving way to hades2")
    assert read.probes == (ProbeStatus("Ears", ProbeState.UNKNOWN, "loud"),)
