"""`potluck drain`: finish what is open, then end the daemon."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

from potluck_control import schema
from potluck_control.client import ControlClient, DaemonAwayError
from potluck_control.formatting import duration
from potluck_control.schema import Status

from potluck.errors import UsageError
from potluck_cli.connect import daemon, hello_or_none, wait_until_ended
from potluck_cli.durations import parse_duration
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Take no new work, let open sessions end, then end the daemon: before an update, or before the machine is switched off.
Sessions that are open when the time is over go on elsewhere. Waits until the daemon has ended; Ctrl-C ends the waiting
only, and `potluck resume` takes the order back."""
EXAMPLES = """\
  potluck drain
  potluck drain --within 1h
  potluck drain --within 0s             as `potluck stop`"""


@dataclass(frozen=True, slots=True)
class Drained:
    """After the daemon has ended."""

    was_running: bool
    sessions_cut: int  # open when the time was over; their clients went on elsewhere
    seconds: float  # that it took


RESULT = Drained


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--within", metavar="TIME", default="10m", help="at most so long (default: %(default)s)")
    add_json(parser, "what was done")


def run(args: argparse.Namespace) -> int:
    terminal = Terminal(sys.stdout)
    try:
        params = schema.DrainParams(parse_duration(args.within))
    except ValueError as error:
        raise UsageError(str(error), hint="--within 1h, for example") from None
    began = time.monotonic()
    is_running = hello_or_none() is not None
    left = 0
    if is_running:
        client = daemon()
        client.call(schema.DRAIN, params)
        left = _follow(client, None if args.json else terminal)
        wait_until_ended()
    if args.json:
        print_json(Drained(is_running, left, round(time.monotonic() - began, 1)))
        return 0
    cut = f" {_sessions(left)} went on elsewhere." if left else ""
    terminal.line(f"The daemon has ended.{cut}" if is_running else "The daemon is not running.")
    return 0


def _follow(client: ControlClient, terminal: Terminal | None) -> int:
    """Show progress until the daemon ends; returns how many sessions were open last."""
    sessions, shown = 0, ""
    try:
        for event in client.events():
            if not isinstance(event, Status):
                continue
            if event.engine.pid is not None:
                sessions = event.sessions
            text = f"{_sessions(sessions)} open" if sessions else event.text
            if terminal is not None and text != shown:
                shown = text
                at_most = f", at most {duration(event.until - time.time())} more" if event.until else ""
                terminal.line(f"{text}{at_most}")
    except DaemonAwayError:
        pass  # it ended
    return sessions


def _sessions(count: int) -> str:
    return f"{count} session{'' if count == 1 else 's'}"
