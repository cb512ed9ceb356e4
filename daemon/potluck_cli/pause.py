"""`potluck pause`: stop serving for a while."""

from __future__ import annotations

import argparse
import sys
import time

from potluck_control import schema

from potluck.errors import UsageError
from potluck_cli.connect import daemon
from potluck_cli.durations import clock, parse_duration, seconds_until
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Give memory and device back now and serve again later, by itself. Conversations of others go on elsewhere."""
EXAMPLES = """\
  potluck pause                         for an hour
  potluck pause for 2h30m
  potluck pause until 18:00
  potluck pause until tomorrow          08:00 in the morning
  potluck pause until the game ends     the game that runs now
  potluck pause forever                 until `potluck resume`"""
RESULT = schema.Status

_DEFAULT = "1h"
_GAME = ("until the game ends", "until game ends")
_TOMORROW = ("until tomorrow", "until the morning", "until morning")
_MORNING = "08:00"
_FOREVER = ("forever", "until resumed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "time",
        metavar="TIME",
        nargs="*",
        help="30m, for 2h, until 18:00, until tomorrow, until the game ends, forever (default: 1h)",
    )
    add_json(parser, "the status")


def run(args: argparse.Namespace) -> int:
    status = daemon().call(schema.PAUSE, pause_params(" ".join(args.time) or _DEFAULT, time.time()))
    if args.json:
        print_json(status)
        return 0
    until = f" until {clock(status.until, time.time())}" if status.until else ""
    Terminal(sys.stdout).line(f"{status.text}{until}. Sooner: potluck resume")
    return 0


def pause_params(text: str, now: float) -> schema.PauseParams:
    """What a person means; raises UsageError. `now`: Unix seconds."""
    words = " ".join(text.lower().split())
    if words in _GAME:
        return schema.PauseParams(until_game_ends=True)
    if words in _FOREVER:
        return schema.PauseParams()
    if words in _TOMORROW:
        words = f"until {_MORNING}"
    clock_time = words.removeprefix("until ")
    seconds = seconds_until(clock_time, now) if clock_time != words else parse_duration(words.removeprefix("for "))
    try:
        return schema.PauseParams(seconds)
    except ValueError as error:
        raise UsageError(str(error), hint="potluck pause forever lasts until potluck resume") from None
