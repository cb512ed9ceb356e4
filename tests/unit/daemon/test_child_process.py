"""Helper processes: their lines are read, their work is followed, and nothing that they started outlives them."""

import asyncio
import errno
import os
import sys
from pathlib import Path

import psutil
import pytest
from potluck_control.methods.installation import Problem, WorkProgress
from potluck_daemon.child_process import ChildProcess, OnProgress, WorkLine, follow_work, print_work, running_child

from potluck.protocol.codec import decode, encode
from potluck.sentences import verbatim

STARTS_ANOTHER = """\
import subprocess, sys
other = subprocess.Popen(["sleep", "600"])
print(other.pid, flush=True)
sys.stdin.read()
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


async def test_lines_are_heard_and_the_last_words_say_why_it_ended() -> None:
    code = "import sys; print(input()); print('b'); sys.exit('no room\\nno money')"
    async with running_child(python(code), os.environ) as child:
        await child.send(b"a\n")
        assert [await child.read_line() for _ in range(3)] == [b"a\n", b"b\n", b""]
        assert await child.wait() == 1
    assert await child.last_error() == "no money"


async def test_one_that_ended_already_is_spoken_to_without_harm() -> None:
    async with running_child(["true"], os.environ) as child:
        assert await child.wait() == 0
        await child.send(b"x" * 100_000 + b"\n")
    assert await child.last_error() == ""


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_what_it_started_ends_with_it_also_when_nobody_waits_any_more(is_cancelled: bool) -> None:
    begun: asyncio.Future[tuple[ChildProcess, psutil.Process]] = asyncio.get_running_loop().create_future()

    async def follow() -> None:
        async with running_child(python(STARTS_ANOTHER), os.environ) as child:
            begun.set_result((child, psutil.Process(int(await child.read_line()))))
            if is_cancelled:
                await child.read_line()

    following = asyncio.create_task(follow())
    child, other = await begun
    if is_cancelled:
        following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert await child.wait() < 0
    await asyncio.to_thread(psutil.wait_procs, [other], 60)
    assert not other.is_running() or other.status() == psutil.STATUS_ZOMBIE


async def test_a_program_that_is_not_there_is_an_error() -> None:
    with pytest.raises(OSError, match="nowhere"):
        async with running_child(["/nowhere/program"], os.environ):
            pass


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
