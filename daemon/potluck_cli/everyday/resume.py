"""`potluck resume`: ends a pause.

End a pause or a drain, or the wait after a game or a failure. Potluck still steps aside for a game that is running, and
keeps your hours and limits: it then says what holds it back, and how to change that.

  potluck resume
"""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Iterator

from potluck_control.api import schema
from potluck_control.api.schema import Status
from potluck_control.states import Reason

from potluck_cli.daemon_access import daemon
from potluck_cli.options import clock, print_result

RESULT = schema.Status

SETTINGS = {  # that hold it back, with a value that does not
    Reason.SCHEDULE: "when.hours ''",
    Reason.USER_ACTIVE: "when.only_when_idle off",
    Reason.BATTERY: "when.on_battery on",
    Reason.METERED: "when.on_metered on",
    Reason.UPLOAD_CAP: "limits.upload_mb_{span} 0",
    Reason.DOWNLOAD_CAP: "limits.download_mb_{span} 0",
    Reason.COST_CAP: "limits.cost_day 0",
}


def run(args: argparse.Namespace) -> int:
    status = daemon().call(schema.RESUME)
    return print_result(args, status, resumed_lines(status))


def resumed_lines(status: Status) -> Iterator[str]:
    """Say what Potluck does now, or what holds it back and how to change that."""
    if status.state.is_working:
        yield f"{status.text}."
        return
    yield f"No longer paused, but not serving yet. {status.text}."
    when = f"at {clock(status.until, time.time())}" if status.until else status.ends
    if when:
        yield f"It serves {when}."
    change = f"potluck programs never {shlex.quote(status.app)}" if status.app else ""
    if status.reason in SETTINGS:
        is_monthly = status.text.id.startswith("This month's")
        change = "potluck config set " + SETTINGS[status.reason].format(span="month" if is_monthly else "day")
    if change:
        yield f"To serve all the same: {change}"
