"""The way into the background loop and back: results, errors, Ctrl-C, and an end that leaves nobody waiting."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from potluck.client.loop import CancelScope, LoopThread, side_by_side
from potluck.errors import NetworkError


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    made = LoopThread()
    made.start()
    yield made
    made.stop()


async def answer(value: int) -> int:
    await asyncio.sleep(0)
    return value


def test_results_and_errors_come_back(loop: LoopThread) -> None:
    async def fail() -> None:
        raise ZeroDivisionError("mine")

    assert [loop.run(answer(n)) for n in range(50)] == list(range(50))
    with pytest.raises(ZeroDivisionError, match="mine"):
        loop.run(fail())


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """SIGINT as in a terminal: programs started in the background of a script ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_cancels_the_work_and_the_loop_goes_on(loop: LoopThread) -> None:
    cancelled = threading.Event()

    async def hang() -> None:
        asyncio.get_running_loop().call_soon(signal.pthread_kill, threading.main_thread().ident, signal.SIGINT)
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(KeyboardInterrupt):
        loop.run(hang())
    assert cancelled.is_set()
    assert loop.run(answer(1)) == 1


def test_stopping_wakes_those_who_wait(loop: LoopThread) -> None:
    began = threading.Event()
    errors: list[BaseException] = []

    async def hang() -> None:
        began.set()
        await asyncio.get_running_loop().create_future()

    def wait() -> None:
        try:
            loop.run(hang())
        except NetworkError as error:
            errors.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    began.wait()
    loop.stop()
    waiter.join(60)
    assert not waiter.is_alive()
    assert len(errors) == 1


def test_a_caller_that_leaves_ends_its_call_and_all_later_ones(loop: LoopThread) -> None:
    caller, began, cancelled = CancelScope(), threading.Event(), threading.Event()

    async def hang() -> None:
        began.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            cancelled.set()

    def work() -> None:
        with caller.entered():
            loop.run(hang())

    with ThreadPoolExecutor(1) as threads:
        working = threads.submit(work)
        began.wait()
        caller.cancel()
        with pytest.raises(BrokenPipeError):
            working.result()
        assert cancelled.is_set()
        with pytest.raises(BrokenPipeError):
            threads.submit(work).result()
    assert loop.run(answer(1)) == 1, "others go on"


def test_the_calls_of_other_threads_can_be_ended(loop: LoopThread) -> None:
    began = threading.Event()

    async def hang() -> None:
        began.set()
        await asyncio.get_running_loop().create_future()

    with ThreadPoolExecutor(1) as threads:
        working = threads.submit(loop.run, hang())
        began.wait()
        loop.run(loop.end_calls())
        with pytest.raises(NetworkError, match="closed"):
            working.result()


def test_a_stopped_loop_refuses_work(loop: LoopThread) -> None:
    loop.stop()
    loop.stop()
    with pytest.raises(NetworkError, match="closed"):
        loop.run(answer(1))


def test_waiting_within_the_loop_for_itself_is_refused(loop: LoopThread) -> None:
    async def wait_for_itself() -> None:
        loop.run(answer(1))

    with pytest.raises(RuntimeError, match="event loop"):
        loop.run(wait_for_itself())


async def test_side_by_side_keeps_order_and_bounds_how_many_run() -> None:
    running, most = 0, 0

    async def work(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return number

    assert await side_by_side([work(n) for n in range(10)], max_parallel=3) == list(range(10))
    assert most == 3


async def test_side_by_side_raises_the_first_error_and_cancels_the_rest() -> None:
    cancelled = []

    async def hang() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def fail() -> None:
        await asyncio.sleep(0)
        raise KeyError("first")

    with pytest.raises(KeyError, match="first"):
        await side_by_side([hang(), fail(), hang()])
    assert len(cancelled) == 2
