"""Stops serving for a while, and begins again: `potluck pause` and `potluck resume`."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Iterator

from potluck_control.api import schema
from potluck_control.api.schema import PauseParams, Status
from potluck_control.states import Reason

from potluck.errors import UsageError
from potluck_cli.daemon_access import daemon
from potluck_cli.options import clock, parse_duration, print_result, seconds_until
from potluck_cli.parser import Subcommand, argument

_DEFAULT = "1h"
_GAME = ("until the game ends", "until game ends")
_TOMORROW = "until tomorrow"
_NEXT_MORNING = ("until the morning", "until morning")
_MORNING = "08:00"
_FOREVER = ("forever", "until resumed", "until i resume")
SETTINGS = {  # reason -> the setting behind it, with a value that lets Potluck serve
    Reason.SCHEDULE: "when.hours ''",
    Reason.USER_ACTIVE: "when.only_when_idle off",
    Reason.BATTERY: "when.on_battery on",
    Reason.METERED: "when.on_metered on",
    Reason.UPLOAD_CAP: "limits.upload_mb_{span} 0",
    Reason.DOWNLOAD_CAP: "limits.download_mb_{span} 0",
    Reason.COST_CAP: "limits.cost_day 0",
}


def pause(args: argparse.Namespace) -> int:
    """Stop serving for a while.

    Free the machine now, its memory first; Potluck serves again by itself later. Other people's conversations
    continue on other servers.

      potluck pause                         for an hour
      potluck pause for 2h30m
      potluck pause until 18:00
      potluck pause until tomorrow          at 08:00
      potluck pause until the game ends     the game that is running now
      potluck pause until I resume          also after a restart of the computer
    """
    status = daemon().call(schema.PAUSE, pause_params(" ".join(args.time) or _DEFAULT, time.time()))
    return print_result(args, status, [paused_line(status)])


def paused_line(status: Status) -> str:
    """Return the state and how long it lasts."""
    until = f" until {clock(status.until, time.time())}" if status.until else ""
    return f"{status.text}{until}. To end the pause: potluck resume"


def pause_params(text: str, now: float) -> PauseParams:
    """Return the pause that a person describes in words. Raises UsageError. `now`: Unix seconds."""
    words = " ".join(text.lower().split())
    if words in _GAME:
        return PauseParams(until_game_ends=True)
    if words in _FOREVER:
        return PauseParams()
    if words in _NEXT_MORNING:
        words = f"until {_MORNING}"
    clock_time = words.removeprefix("until ")
    if words == _TOMORROW:
        midnight_s = seconds_until("00:00", now)
        seconds = midnight_s + seconds_until(_MORNING, now + midnight_s)
    elif clock_time != words:
        seconds = seconds_until(clock_time, now)
    else:
        seconds = parse_duration(words.removeprefix("for "))
    try:
        return PauseParams(seconds)
    except ValueError as error:
        raise UsageError(str(error), hint="one without an end: potluck pause until I resume") from None


def resume(args: argparse.Namespace) -> int:
    """End a pause, a drain or a wait.

    End a pause or a drain, or the wait after a game or a failure. Potluck still steps aside for a game that is
    running, and keeps your hours and limits: it then says what holds it back, and how to change that.

      potluck resume
    """
    status = daemon().call(schema.RESUME)
    return print_result(args, status, resumed_lines(status))


def resumed_lines(status: Status) -> Iterator[str]:
    """Yield what Potluck does now, or what holds it back and how to change that."""
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


COMMANDS = {
    "pause": Subcommand(
        pause,
        Status,
        argument(
            "time",
            metavar="TIME",
            nargs="*",
            help="30m, for 2h, until 18:00, until tomorrow, until the game ends, until I resume (default: 1h)",
        ),
    ),
    "resume": Subcommand(resume, Status),
}
