"""The daemon's set-up: `python -m potluck_daemon.environment` prints one JSON line for each step.

It is a process of its own with a low priority, so that the daemon stays small and answers while packages are fetched
and installed. It ends with its standard input, because then the daemon is gone.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

from potluck_control.methods.setup import Problem, SetupProgress

from potluck.errors import PotluckError
from potluck.protocol.codec import encode
from potluck_daemon.environment.machine import look
from potluck_daemon.environment.plan import make_plan
from potluck_daemon.environment.setup import roll_back, set_up
from potluck_daemon.environment.setup_process import SetupLine
from potluck_daemon.environment.store import Store

_NICENESS = 10
_BY = "the daemon"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m potluck_daemon.environment", description=__doc__)
    parser.add_argument("--engines", type=Path, required=True, help="the daemon's own folder of environments")
    parser.add_argument("--variant", default="")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--index", default="")
    parser.add_argument("--roll-back", action="store_true")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    os.nice(_NICENESS)
    try:
        _do(args)
    except PotluckError as error:
        _tell(SetupLine(problem=Problem(error.sentence, error.advice)))
        return 1
    return 0


def _do(args: argparse.Namespace) -> None:
    if args.roll_back:
        roll_back(Store(args.engines.resolve()), _BY, _tell_progress)
    else:
        plan = make_plan(args.engines, look(), args.variant, args.folder, index=args.index, by=_BY)
        set_up(plan, _tell_progress)


def _tell_progress(progress: SetupProgress) -> None:
    _tell(SetupLine(progress))


def _tell(told: SetupLine) -> None:
    sys.stdout.buffer.write(encode(told) + b"\n")
    sys.stdout.buffer.flush()


def _leave(*_: object) -> None:
    """Exit from the main thread, so that programs which it started end as well."""
    sys.exit(128 + signal.SIGTERM)


def _end_with_stdin() -> None:
    while os.read(0, 4096):  # not through sys.stdin, whose lock a thread must not hold when Python ends
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
