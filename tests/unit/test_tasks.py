"""Tasks in the background: what ends them is logged, what should go on begins again."""

import ast
import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from potluck import tasks
from potluck.errors import PotluckError
from potluck.sentences import Sentence, verbatim
from potluck.tasks import (
    BackgroundTasks,
    cancel_and_wait,
    failing,
    in_thread,
    keep_running,
    run_to_end,
    sleep_running,
    start_task,
)

ROOT = Path(__file__).parents[2]


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


async def test_what_fails_in_the_background_is_logged_once_and_a_loop_begins_again_after_growing_pauses(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    told: list[tuple[Sentence, ...]] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        told.append(failing())

    async def watch() -> None:
        if len(pauses) < 8:
            raise ValueError("no disk" if len(pauses) < 6 else "no memory")

    async def fail() -> None:
        raise PotluckError("no answer")

    monkeypatch.setattr(tasks.asyncio, "sleep", pause)
    await start_task(keep_running("booking", watch))
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    often, lately = (verbatim(f"booking (ValueError: no {what})") for what in ("disk", "memory"))
    assert told == [(), *[(often,)] * 5, *[(lately,)] * 2]  # a single failure is no news for people
    assert failing() == ()
    with pytest.raises(PotluckError):
        await start_task(fail())
    assert [record.levelno for record in caplog.records] == [*[logging.ERROR] * 2, logging.WARNING]
    caplog.clear()


async def test_only_the_time_in_which_the_process_runs_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = 0.0, []
    delays = iter((100.0, 0.0, 100.0, 0.0, 100.0, 0.0))  # it is frozen three times

    async def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds + next(delays)

    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    monkeypatch.setattr(tasks.asyncio, "sleep", sleep)
    await sleep_running(2.5)
    assert slept == [1.0, 1.0, 1.0, 1.0, 0.5, 0.5]


def kept_unwatched(path: Path) -> Iterator[str]:
    """Where a task is made that outlives its function, so that nobody may ever await it."""
    for node in ast.walk(ast.parse(path.read_text())):
        targets = node.targets if isinstance(node, ast.Assign) else [None] if isinstance(node, ast.Expr) else []
        if any(target is None or isinstance(target, ast.Attribute) for target in targets):
            value = node.value
            calls = [each.func for each in ast.walk(value) if isinstance(each, ast.Call)]
            names = {each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in calls}
            if names & {"create_task", "ensure_future"} and not isinstance(value, ast.Await):
                yield f"{path.relative_to(ROOT)}:{node.lineno}"


def test_no_task_of_engine_and_daemon_can_end_unseen() -> None:
    files = [*ROOT.glob("daemon/**/*.py"), *ROOT.glob("potluck/**/*.py")]
    own = ROOT / "potluck" / "client"  # which awaits what it keeps
    assert [place for path in files if own not in path.parents for place in kept_unwatched(path)] == []


async def test_an_error_of_work_in_a_thread_that_nobody_awaits_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, errors = asyncio.Event(), []

    def fail(what: str) -> None:
        raise ValueError(what)

    monkeypatch.setattr(tasks.log, "error", lambda *_, exc_info: (errors.append(str(exc_info)), seen.set()))
    in_thread(fail)("in a thread")
    await seen.wait()
    assert errors == ["in a thread"]


async def test_work_that_goes_to_its_end_does_so_however_often_its_caller_is_cancelled() -> None:
    may_end, done = asyncio.Event(), []

    async def work() -> None:
        await may_end.wait()
        done.append("all")

    caller = asyncio.create_task(run_to_end(work()))
    for _ in range(3):
        await asyncio.sleep(0)
        caller.cancel()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert done == ["all"]
