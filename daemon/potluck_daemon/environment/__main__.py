"""The daemon's set-up: `python -m potluck_daemon.environment REQUEST` prints JSON lines about its progress.

It is a process of its own with a low priority, so that the daemon stays small and answers while packages are fetched
and installed.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from potluck_control.methods.setup import Problem, SetupProgress, Step

from potluck.errors import PotluckError, explained
from potluck.protocol.codec import decode
from potluck_daemon.child import print_line
from potluck_daemon.environment.machine import look
from potluck_daemon.environment.plan import make_plan
from potluck_daemon.environment.setup import roll_back, set_up
from potluck_daemon.environment.state import SetupLine, SetupRequest
from potluck_daemon.environment.store import Store

_NICENESS = 10
_INTERVAL_S = 0.5  # between lines about bytes


def main() -> int:
    os.nice(_NICENESS)
    request, said_at = decode(SetupRequest, os.fsencode(sys.argv[1])), 0.0

    def show(progress: SetupProgress) -> None:
        nonlocal said_at
        if progress.step is not Step.FETCH or time.monotonic() - said_at > _INTERVAL_S:
            said_at = time.monotonic()
            print_line(SetupLine(progress))

    engines, asked = Path(request.engines), request.asked
    try:
        if request.rolls_back:
            roll_back(Store(engines.resolve()), show)
        else:
            set_up(make_plan(engines, look(), asked.variant, Path(asked.folder) if asked.folder else None), show)
    except (PotluckError, OSError) as error:
        known = error if isinstance(error, PotluckError) else explained(error, engines)
        if known is None:
            raise
        print_line(SetupLine(problem=Problem(known.sentence, known.advice)))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
