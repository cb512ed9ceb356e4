"""`potluckd`: runs the daemon in the foreground, for a service manager or `potluck start`."""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from potluck_control.places import system_places, user_places
from potluck_daemon.host.instance import EXIT_ALREADY_RUNNING, AlreadyRunningError
from potluck_daemon.host.owner import drop_root
from potluck_daemon.reporting import logs
from potluck_daemon.updates.versions import PROVED_S, TRIAL_S, Versions, own_versions

from potluck.errors import PotluckError, explained
from potluck.files import make_private
from potluck.processes import confine
from potluck_cli.terminal import say

if TYPE_CHECKING:
    from potluck_daemon.daemon import Daemon

SYSTEM_GROUP = "potluck"

EXIT_FAILED = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the daemon until SIGTERM, SIGINT or `potluck stop`, and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    args = parser().parse_args(arguments)
    found = own_versions()
    versions = found if found is not None and found.is_writable else None  # nobody else can try a new version
    if versions is not None and not versions.count_start():
        say("potluckd: the new version failed; using the previous one again", file=sys.stderr)
        _become_current(versions, arguments)
    is_on_trial = versions is not None and versions.is_on_trial()
    if is_on_trial:
        signal.alarm(TRIAL_S)  # ends a version that hangs
    os.chdir("/")  # the folder that it was started in may be deleted or unmounted while it runs
    try:
        _serve(args, versions, is_on_trial=is_on_trial, arguments=arguments)
    except AlreadyRunningError as error:
        if versions is not None:
            versions.take_back_start()
        say(f"potluckd: {error.message}", file=sys.stderr)
        return EXIT_ALREADY_RUNNING
    except (PotluckError, OSError) as error:
        say(f"potluckd: {explained(error) or error}", file=sys.stderr)
        return EXIT_FAILED
    except Exception:
        logging.getLogger(__name__).exception("the daemon failed, and ends")
        raise
    return 0


def _serve(args: argparse.Namespace, versions: Versions | None, *, is_on_trial: bool, arguments: list[str]) -> None:
    """Run the daemon in its user's folders, and then the version that is to follow it, if there is one."""
    from potluck_daemon.daemon import Daemon

    confine()
    places = system_places() if args.system else user_places()
    places.check()
    drop_root(places)
    make_private(places.state)
    if not places.is_system:  # root's folder is as it should be
        make_private(places.config)
    logs.set_up_logging(places.log_file, is_verbose=args.verbose, to_stderr=args.log_to_stderr)
    say("Starting the daemon. Ctrl-C ends it; `potluck status` shows what it does.", flush=True)
    daemon = Daemon(places, group=SYSTEM_GROUP if args.system else None)
    asyncio.run(_run(daemon, versions if is_on_trial else None))
    if versions is not None:
        versions.take_back_start()  # this end was intended, so it is no failed start
        if successor := daemon.parts.loop.successor:
            _become(successor, versions, arguments)


def parser() -> argparse.ArgumentParser:
    """Return the parser of `potluckd`."""
    parser = argparse.ArgumentParser(
        prog="potluckd",
        description="Run Potluck's daemon in the foreground. Use it through: potluck start, stop, status.",
    )
    parser.add_argument("--system", action="store_true", help="run as a system service, in systemd's folders")
    parser.add_argument("--log-to-stderr", action="store_true", help="also log to standard error, for containers")
    parser.add_argument("--verbose", action="store_true", help="log everything")
    return parser


def _become(successor: str, versions: Versions, arguments: list[str]) -> NoReturn:
    """Run the version `successor` in this process; if that is impossible, the one before again."""
    try:
        versions.begin_trial(successor)
        _become_current(versions, arguments)
    except (PotluckError, OSError) as error:
        logging.getLogger(__name__).error("version %s cannot be used: %s", successor, error)
        versions.abandon()
        _become_current(versions, arguments)


def _become_current(versions: Versions, arguments: list[str]) -> NoReturn:
    """Run the current version in this process, so that whoever started it and watches it need not do anything."""
    signal.alarm(0)
    program = versions.root / "current" / "bin" / "potluckd"
    os.execv(program, [str(program), *arguments])


def _end_trial(versions: Versions) -> None:
    signal.alarm(0)
    versions.end_trial()


async def _run(daemon: Daemon, tried: Versions | None) -> None:
    """Run the daemon. `tried`: its version is on trial there."""
    loop = asyncio.get_running_loop()
    if tried is not None:
        loop.call_later(PROVED_S, _end_trial, tried)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, daemon.end)
    loop.add_signal_handler(signal.SIGHUP, daemon.parts.configuration.reload)
    gc.collect()
    gc.freeze()  # objects from start-up live as long as the process, so collections can skip them
    await daemon.run()


if __name__ == "__main__":
    sys.exit(main())
