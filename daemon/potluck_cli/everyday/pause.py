"""`potluck pause`: stops serving for a while.

Free the machine now, its memory first; Potluck serves again by itself later. Other people's conversations continue
on other servers.

  potluck pause                         for an hour
  potluck pause for 2h30m
  potluck pause until 18:00
  potluck pause until tomorrow          at 08:00
  potluck pause until the game ends     the game that is running now
  potluck pause until I resume          also after a restart of the computer
"""

from __future__ import annotations

import argparse
import time

from potluck_control.api import schema

from potluck.errors import UsageError
from potluck_cli.daemon_access import daemon
from potluck_cli.options import clock, parse_duration, print_result, seconds_until

RESULT = schema.Status

_DEFAULT = "1h"
_GAME = ("until the game ends", "until game ends")
_TOMORROW = "until tomorrow"
_NEXT_MORNING = ("until the morning", "until morning")
_MORNING = "08:00"
_FOREVER = ("forever", "until resumed", "until i resume")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "time",
        metavar="TIME",
        nargs="*",
        help="30m, for 2h, until 18:00, until tomorrow, until the game ends, until I resume (default: 1h)",
    )


def run(args: argparse.Namespace) -> int:
    status = daemon().call(schema.PAUSE, pause_params(" ".join(args.time) or _DEFAULT, time.time()))
    return print_result(args, status, [paused_line(status)])


def paused_line(status: schema.Status) -> str:
    """Return the state and how long it lasts."""
    until = f" until {clock(status.until, time.time())}" if status.until else ""
    return f"{status.text}{until}. To end the pause: potluck resume"


def pause_params(text: str, now: float) -> schema.PauseParams:
    """Read the words of a person. Raises UsageError. `now`: Unix seconds."""
    words = " ".join(text.lower().split())
    if words in _GAME:
        return schema.PauseParams(until_game_ends=True)
    if words in _FOREVER:
        return schema.PauseParams()
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
        return schema.PauseParams(seconds)
    except ValueError as error:
        raise UsageError(str(error), hint="one without an end: potluck pause until I resume") from None
