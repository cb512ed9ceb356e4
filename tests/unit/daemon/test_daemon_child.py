"""Processes of the daemon: what they say is heard, and nothing that they started outlives them."""

import asyncio
import os
import sys

import psutil
import pytest
from potluck_daemon.child_process import ChildProcess, running_child

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
        await child.say(b"a\n")
        assert [await child.line() for _ in range(3)] == [b"a\n", b"b\n", b""]
        assert await child.wait() == 1
    assert await child.last_words() == "no money"


async def test_one_that_ended_already_is_spoken_to_without_harm() -> None:
    async with running_child(["true"], os.environ) as child:
        assert await child.wait() == 0
        await child.say(b"x" * 100_000 + b"\n")
    assert await child.last_words() == ""


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_what_it_started_ends_with_it_also_when_nobody_waits_any_more(is_cancelled: bool) -> None:
    begun: asyncio.Future[tuple[ChildProcess, psutil.Process]] = asyncio.get_running_loop().create_future()

    async def follow() -> None:
        async with running_child(python(STARTS_ANOTHER), os.environ) as child:
            begun.set_result((child, psutil.Process(int(await child.line()))))
            if is_cancelled:
                await child.line()

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
