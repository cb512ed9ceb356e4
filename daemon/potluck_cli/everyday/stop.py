"""`potluck stop`: ends the daemon and its engine.

End the daemon and its engine: it finishes running steps and leaves the swarm. Open sessions continue on other servers.
A daemon that does not respond is killed after ten seconds.
To finish them here first, use `potluck drain`. To stop serving for a while, use `potluck pause`.

  potluck stop
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from potluck_control.api import schema

from potluck_cli.daemon_access import (
    DaemonHungError,
    DaemonUnreachableError,
    daemon,
    end_unresponsive,
    hello_or_none,
    wait_until_ended,
)
from potluck_cli.options import print_result


@dataclass(frozen=True, slots=True)
class Stopped:
    """The daemon has ended; `was_running`: it ran before the command."""

    was_running: bool


RESULT = Stopped


def run(args: argparse.Namespace) -> int:
    was_running = end_daemon()
    return print_result(args, Stopped(was_running), [ENDED if was_running else NOT_RUNNING])


def end_daemon() -> bool:
    """End the daemon, in order if it responds; returns whether one ran. Raises PotluckError if it stays."""
    try:
        if hello_or_none(or_silent=False, any_version=True) is None:
            return False
    except (DaemonHungError, DaemonUnreachableError) as error:
        end_unresponsive(error)
        return True
    daemon(any_version=True).call(schema.SHUTDOWN)
    wait_until_ended()
    return True


ENDED = "The daemon has ended."
NOT_RUNNING = "The daemon is not running."
