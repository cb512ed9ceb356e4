"""Starts the daemon, ends it, or lets it finish its sessions first: `potluck start`, `stop` and `drain`."""

from __future__ import annotations

import argparse
import contextlib
import time
from dataclasses import dataclass

from potluck_control.api import schema
from potluck_control.api.client import ControlClient, DaemonAwayError
from potluck_control.api.schema import Status
from potluck_control.methods import swarms
from potluck_control.resources import DEMO_MODEL
from potluck_daemon.host.systemd import STARTS_WITH_MACHINE, enable_system_service, start_service
from potluck_daemon.updates.versions import MAX_STARTS, TRIAL_S, own_versions

from potluck.errors import PotluckError, UsageError
from potluck.formatting import count, duration
from potluck_cli.daemon_access import (
    START_TIMEOUT_S,
    DaemonHungError,
    DaemonUnreachableError,
    daemon,
    end_unresponsive,
    hello_or_none,
    start_daemon,
    wait_until_ended,
)
from potluck_cli.options import parse_duration, print_result
from potluck_cli.parser import Subcommand, argument
from potluck_cli.swarm_choice import add_move, add_names, move_or_stay, own_names
from potluck_cli.terminal import WaitNotice

_ENDED = "The daemon has ended."
_NOT_RUNNING = "The daemon is not running."


@dataclass(frozen=True, slots=True)
class Started:
    """The daemon runs as process `pid`. `swarm`: the one of --demo."""

    pid: int
    swarm: str | None


def start(args: argparse.Namespace) -> int:
    """Start the daemon in the background.

    Start the daemon in the background, unless it is already running. It serves layers of the swarm you joined and
    steps aside when a game starts. If the service is installed, this starts the service, and as root also enables
    it.

      potluck start
      potluck start --demo
      potluck status
    """
    lines = [ensure_started()]
    if enable_system_service():
        lines[0] += f" {STARTS_WITH_MACHINE}"
    name = None
    if args.demo:
        name = _demo_swarm(args)
        see = f"It serves the swarm {name}. See: potluck status; invite others: potluck swarm invite {name}"
        lines += move_or_stay(args, name) or [see]
    pid = daemon().hello("potluck start").pid if args.json else 0
    return print_result(args, Started(pid, name), lines)


def _demo_swarm(args: argparse.Namespace) -> str:
    """Return the name of the demo swarm, which is created unless an earlier command did so."""
    known = [swarm for swarm in daemon().call(swarms.LIST).swarms if swarm.model == DEMO_MODEL and not swarm.is_open]
    if known:
        return known[-1].name
    names = own_names(args)
    return daemon().call(schema.CREATE, schema.CreateParams(person=names.person, computer=names.computer)).name


def ensure_started() -> str:
    """Start the service if it is installed, else a daemon, and return a line for people.

    A version on trial gets as many tries as it takes to return to the one before. Raises PotluckError.
    """
    versions, left = own_versions(), MAX_STARTS
    while True:
        is_on_trial = versions is not None and versions.is_on_trial()
        try:
            return _start_once(TRIAL_S / 2 if is_on_trial else START_TIMEOUT_S)
        except PotluckError:
            if left == 0 or not is_on_trial:
                raise
            left -= 1


def _start_once(within_s: float) -> str:
    silent = 0
    try:
        pid = hello.pid if (hello := hello_or_none(or_silent=False)) is not None else 0
    except DaemonUnreachableError as error:
        if not error.pid:
            raise
        pid, silent = 0, error.pid  # the daemon is starting or ending, or makes its socket again
    if not pid and not silent and start_service():
        return "Started the service potluckd."
    started = pid or start_daemon(within_s).pid
    if started in (pid, silent):
        return f"The daemon is already running as process {started}."
    return f"Started the daemon as process {started}. See: potluck status"


@dataclass(frozen=True, slots=True)
class Stopped:
    """The daemon has ended; `was_running`: it ran before the command."""

    was_running: bool


def stop(args: argparse.Namespace) -> int:
    """End the daemon and its engine.

    End the daemon and its engine: it finishes running steps and leaves the swarm. Open sessions continue on other
    servers. A daemon that does not respond is killed after ten seconds. To finish them here first, use `potluck
    drain`. To stop serving for a while, use `potluck pause`.

      potluck stop
    """
    was_running = end_daemon()
    return print_result(args, Stopped(was_running), [_ENDED if was_running else _NOT_RUNNING])


def end_daemon() -> bool:
    """End the daemon, by force if it hangs, and return whether one ran. Raises PotluckError if it stays."""
    try:
        if hello_or_none(or_silent=False, any_version=True) is None:
            return False
    except (DaemonHungError, DaemonUnreachableError) as error:
        end_unresponsive(error)
        return True
    daemon(any_version=True).call(schema.SHUTDOWN)
    wait_until_ended()
    return True


@dataclass(frozen=True, slots=True)
class Drained:
    """The daemon has ended. `sessions_cut`: sessions open when the time was up; `seconds`: the length of the drain."""

    was_running: bool
    sessions_cut: int
    seconds: float


def drain(args: argparse.Namespace) -> int:
    """Finish open sessions, then end the daemon.

    Accept no new work, let open sessions end, then end the daemon: before an update, or before you switch the
    machine off. Sessions still open when the time is up continue on other servers. The command waits until the
    daemon has ended; Ctrl-C ends only the waiting, and `potluck resume` cancels the drain.

      potluck drain
      potluck drain --within 1h
      potluck drain --within 0s             like `potluck stop`
    """
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
        left = _wait_for_sessions(client)
        wait_until_ended()
    cut = f" {count(left, 'session')} continued on other servers." if left else ""
    drained = Drained(is_running, left, round(time.monotonic() - began, 1))
    return print_result(args, drained, [f"{_ENDED}{cut}" if is_running else _NOT_RUNNING])


def _wait_for_sessions(client: ControlClient) -> int:
    """Wait until the daemon ends, and return how many sessions were open last."""
    sessions = 0
    with WaitNotice("Waiting for open sessions") as wait, contextlib.suppress(DaemonAwayError):  # it ended
        for event in client.events():  # polling would miss the last change before the end
            if isinstance(event, Status):
                sessions = event.sessions if event.engine.pid is not None else sessions
                at_most = f", at most {duration(event.until - time.time())} more" if event.until else ""
                wait.doing = f"{count(sessions, 'session')} open{at_most}"
    return sessions


COMMANDS = {
    "start": Subcommand(
        start,
        Started,
        argument(
            "--demo", action="store_true", help="also serve a private swarm of the small model that comes with Potluck"
        ),
        add_names,
        add_move,
    ),
    "stop": Subcommand(stop, Stopped),
    "drain": Subcommand(
        drain,
        Drained,
        argument("--within", metavar="TIME", default="10m", help="the longest wait (default: %(default)s)"),
    ),
}
