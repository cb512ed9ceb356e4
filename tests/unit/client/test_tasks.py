"""Ending tasks, and keeping those that nobody awaits."""

import asyncio

import pytest

from potluck import tasks
from potluck.tasks import BackgroundTasks, cancel_and_wait, in_thread


async def test_cancelled_tasks_have_ended_and_what_they_raise_is_dropped() -> None:
    async def fail() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            raise ValueError

    tasks = [asyncio.create_task(fail()) for _ in range(2)]
    await asyncio.sleep(0)
    await cancel_and_wait(tasks[0], None, tasks[1])
    assert all(task.done() for task in tasks)


async def test_a_background_task_may_wait_for_all_others_and_end_them() -> None:
    ended: list[str] = []
    background = BackgroundTasks()

    async def hang() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append("other")

    async def end_others() -> None:
        await background.wait(0.0)
        assert not ended
        await background.cancel()
        ended.append("self")

    background.start(hang())
    background.start(end_others())
    await background.wait()
    assert ended == ["other", "self"]


async def test_errors_of_work_that_nobody_awaits_are_logged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    background, seen = BackgroundTasks(), asyncio.Semaphore(0)

    def fail(what: str) -> None:
        raise ValueError(what)

    async def fail_later() -> None:
        fail("in a task")

    monkeypatch.setattr(tasks._log, "error", lambda *_, exc_info: (errors.append(str(exc_info)), seen.release()))
    errors: list[str] = []
    background.start(fail_later())
    in_thread(fail)("in a thread")
    for _ in range(2):
        await seen.acquire()
    assert sorted(errors) == ["in a task", "in a thread"]
