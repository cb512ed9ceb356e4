"""Long work in a process of its own: what it prints, how often, and what the daemon makes of that."""

import errno
import os
import sys
from pathlib import Path

import pytest
from potluck_control.methods.installation import Problem, WorkProgress
from potluck_daemon.child_process import OnProgress, WorkLine, follow_work, print_work

from potluck.protocol.codec import decode, encode
from potluck.sentences import verbatim


def test_bytes_are_told_twice_a_second_and_each_step_at_once(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    def work(on_progress: OnProgress) -> None:
        for done in range(100):
            on_progress(WorkProgress(verbatim("fetching"), done, 100))
        on_progress(WorkProgress(verbatim("unpacking")))

    assert print_work(work, tmp_path) == 0
    lines = [decode(WorkLine, line) for line in capfdbinary.readouterr().out.splitlines()]
    told = [str(line.progress.text) for line in lines if line.progress is not None]
    assert told[-1] == "unpacking"
    assert 1 <= told.count("fetching") < 10


def test_a_full_disk_is_said_in_words(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    def work(_: OnProgress) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert print_work(work, tmp_path) == 1
    problem = decode(WorkLine, capfdbinary.readouterr().out).problem
    assert problem is not None
    assert str(problem.text) == f"cannot use {tmp_path}: No space left on device"
    assert problem.hint


async def test_a_long_line_of_a_library_ends_no_work() -> None:
    fetching, seen = WorkProgress(verbatim("fetching"), 1, 2), list[WorkProgress]()
    command = (sys.executable, "-c", f"print('x' * 200_000); print({encode(WorkLine(fetching)).decode()!r})")
    assert await follow_work(command, os.environ, seen.append, lambda why: Problem(verbatim(why))) is None
    assert seen == [fetching]
