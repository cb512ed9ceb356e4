"""Long work in a process of its own, which tells the daemon by lines how far it is: both sides of that.

Nothing here knows what the work is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from potluck_control.methods.work import Problem, WorkProgress

from potluck.errors import PotluckError, explained
from potluck.protocol.codec import decode
from potluck_daemon.child import print_line, started

OnProgress = Callable[[WorkProgress], None]
_INTERVAL_S = 0.5  # between lines about bytes


class WorkLine(Struct, frozen=True):
    """One line that the process prints."""

    progress: WorkProgress | None = None
    problem: Problem | None = None


def print_work(work: Callable[[OnProgress], None], place: Path) -> int:
    """Do `work` in this process and print its progress, or why it failed. Return the exit code.

    Args:
        place: what an error of the disk is about, if it names no file.
    """
    said_at = 0.0

    def tell(progress: WorkProgress) -> None:
        nonlocal said_at
        if not progress.total or time.monotonic() - said_at > _INTERVAL_S:
            said_at = time.monotonic()
            print_line(WorkLine(progress))

    try:
        work(tell)
    except (PotluckError, OSError) as error:
        known = error if isinstance(error, PotluckError) else explained(error, place)
        if known is None:
            raise
        print_line(WorkLine(problem=Problem(known.sentence, known.advice)))
        return 1
    return 0


async def follow(
    command: Sequence[str],
    environment: Mapping[str, str],
    on_progress: OnProgress,
    ended: Callable[[str], Problem],
) -> Problem | None:
    """Run the process to its end; return why it failed, if it did. Raises OSError if it cannot be started.

    Args:
        ended: returns the problem of a process that ended for this reason without a line about it.
    """
    problem = None
    async with started(command, environment) as child:
        while True:
            try:
                if not (line := await child.line()):
                    break
                said = decode(WorkLine, line)
            except ValueError:  # a library printed it: it is none of ours, or longer than any of ours
                continue
            problem = said.problem or problem
            if said.progress is not None:
                on_progress(said.progress)
        why = await child.failure()
    return problem or (ended(why) if why else None)
