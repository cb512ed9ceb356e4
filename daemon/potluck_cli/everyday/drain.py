"""`potluck drain`: finishes open sessions, then ends the daemon.

Accept no new work, let open sessions end, then end the daemon: before an update, or before you switch the machine off.
Sessions still open when the time is up continue on other servers. The command waits until the daemon has ended; Ctrl-C
ends only the waiting, and `potluck resume` cancels the drain.

  potluck drain
  potluck drain --within 1h
  potluck drain --within 0s             like `potluck stop`
"""

from __future__ import annotations

import argparse
import contextlib
import time
from dataclasses import dataclass

from potluck_control.api import schema
from potluck_control.api.client import ControlClient, DaemonAwayError
from potluck_control.api.schema import Status

from potluck.errors import UsageError
from potluck.formatting import count, duration
from potluck_cli.daemon_access import daemon, hello_or_none, wait_until_ended
from potluck_cli.everyday.stop import ENDED, NOT_RUNNING
from potluck_cli.options import parse_duration, print_result
from potluck_cli.terminal import WaitNotice


@dataclass(frozen=True, slots=True)
class Drained:
    """The daemon has ended; `sessions_cut`: open when the time was up, `seconds`: how long the drain took."""

    was_running: bool
    sessions_cut: int
    seconds: float


RESULT = Drained


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--within", metavar="TIME", default="10m", help="the longest wait (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    try:
        params = schema.DrainParams(parse_duration(args.within))
    except ValueError as error:
        raise UsageError(str(error), hint="--within 1h, for example") from None
    began = time.monotonic()
    is_running = hello_or_none(or_silent=False, any_version=True) is not None
    left = 0
    if is_running:
        client = daemon(any_version=True)
        client.call(schema.DRAIN, params)
        left = _wait(client)
        wait_until_ended()
    cut = f" {count(left, 'session')} continued on other servers." if left else ""
    drained = Drained(is_running, left, round(time.monotonic() - began, 1))
    return print_result(args, drained, [f"{ENDED}{cut}" if is_running else NOT_RUNNING])


def _wait(client: ControlClient) -> int:
    """Wait until the daemon ends; returns how many sessions were open last."""
    sessions = 0
    with WaitNotice("Waiting for open sessions") as wait, contextlib.suppress(DaemonAwayError):  # it ended
        for event in client.events():  # looks now and then would miss what happens just before the end
            if isinstance(event, Status):
                sessions = event.sessions if event.engine.pid is not None else sessions
                at_most = f", at most {duration(event.until - time.time())} more" if event.until else ""
                wait.doing = f"{count(sessions, 'session')} open{at_most}"
    return sessions
