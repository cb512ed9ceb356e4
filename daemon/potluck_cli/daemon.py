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
from typing import TYPE_CHECKING

from potluck_control.places import system_places, user_places
from potluck_daemon.host.instance import EXIT_ALREADY_RUNNING, AlreadyRunningError
from potluck_daemon.reporting import logs
from potluck_daemon.settings.owner import drop_root
from potluck_daemon.updates.versions import PROVED_S, Versions, own_versions

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
    args = parser().parse_args(argv)
    os.chdir("/")  # the folder that it was started in may be deleted or unmounted while it runs
    versions = own_versions()
    if versions is not None and not versions.note_start():
        program = versions.root / "current" / "bin" / "potluckd"
        say("potluckd: the new version failed; using the previous one again", file=sys.stderr)
        os.execv(program, [str(program), *(sys.argv[1:] if argv is None else argv)])
    from potluck_daemon.daemon import Daemon

    confine()
    try:
        places = system_places() if args.system else user_places()
        places.check()
        drop_root(places)
        make_private(places.state)
        if not places.is_system:  # root's folder is as it should be
            make_private(places.config)
        logs.set_up(places.log_file, is_verbose=args.verbose, to_stderr=args.log_to_stderr)
        say("Starting the daemon. Ctrl-C ends it; `potluck status` shows what it does.", flush=True)
        asyncio.run(_run(Daemon(places, group=SYSTEM_GROUP if args.system else None), versions))
    except AlreadyRunningError as error:
        say(f"potluckd: {error.message}", file=sys.stderr)
        return EXIT_ALREADY_RUNNING
    except (PotluckError, OSError) as error:
        say(f"potluckd: {explained(error) or error}", file=sys.stderr)
        return EXIT_FAILED
    except Exception:
        logging.getLogger(__name__).exception("the daemon failed, and ends")
        raise
    return 0


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="potluckd",
        description="Run Potluck's daemon in the foreground. Use it through: potluck start, stop, status.",
    )
    parser.add_argument("--system", action="store_true", help="run as a system service, in systemd's folders")
    parser.add_argument("--log-to-stderr", action="store_true", help="also log to standard error, for containers")
    parser.add_argument("--verbose", action="store_true", help="log everything")
    return parser


async def _run(daemon: Daemon, versions: Versions | None) -> None:
    loop = asyncio.get_running_loop()
    if versions is not None and versions.trial() is not None:
        loop.call_later(PROVED_S, versions.end_trial)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, daemon.end)
    loop.add_signal_handler(signal.SIGHUP, daemon.parts.configuration.reload)
    gc.collect()
    gc.freeze()  # objects from start-up live as long as the process, so collections can skip them
    await daemon.run()


if __name__ == "__main__":
    sys.exit(main())
