"""The daemon's set-up: `python -m potluck_daemon.environment REQUEST` prints JSON lines about its progress.

It is a process of its own with a low priority, so that the daemon stays small and answers while packages are fetched
and installed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from potluck.protocol.codec import decode
from potluck_daemon.child_process import OnProgress, print_work
from potluck_daemon.environment.hardware import read_hardware
from potluck_daemon.environment.plan import SetupRequest, make_plan
from potluck_daemon.environment.setup import roll_back, set_up
from potluck_daemon.environment.store import Store

_NICENESS = 10


def main() -> int:
    os.nice(_NICENESS)
    request = decode(SetupRequest, os.fsencode(sys.argv[1]))
    engines, asked = Path(request.engines), request.asked

    def work(on_progress: OnProgress) -> None:
        if request.rolls_back:
            roll_back(Store(engines.resolve()), on_progress)
        else:
            set_up(
                make_plan(engines, read_hardware(), asked.variant, Path(asked.folder) if asked.folder else None),
                on_progress,
            )

    return print_work(work, engines)


if __name__ == "__main__":
    sys.exit(main())
