"""Work whose caller leaves ends at once, wherever it is, and frees its place at the servers."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from helpers.client_world import World, prompt, world

from potluck.client.loop import CancelScope
from potluck.errors import NetworkError

FOREVER_S = 3600.0
GREEDY = {"max_new_tokens": 4, "do_sample": False}


def train(there: World) -> None:
    there.model(prompt(batch=4, tokens=40), labels=prompt(batch=4, tokens=40)).loss.backward()


def generate(there: World) -> None:
    there.model.generate(prompt(tokens=40), **GREEDY)


def slow_calls(there: World, arrived: threading.Event) -> None:
    for server in there.servers:
        server.call_delay_s, server.on_call = FOREVER_S, lambda *_: arrived.set()


def slow_steps(there: World, arrived: threading.Event) -> None:
    for server in there.servers:
        server.delay_s, server.on_step = lambda _: FOREVER_S, lambda *_: arrived.set()


def missing_blocks(there: World, arrived: threading.Event) -> None:
    there.model.tell_waits(lambda _: arrived.set())


def open_streams(there: World) -> int:
    calls = there.client.calls

    async def count() -> int:
        await there.client._background.wait()
        await calls._closing.wait()
        return len(calls._host._streams)  # type: ignore[attr-defined]

    return there.client.run(count())


KINDS = pytest.mark.parametrize(
    ("spans", "delay", "work"),
    [
        (("0:2", "2:4"), slow_calls, train),
        (("0:2", "2:4"), slow_steps, generate),
        (("0:2",), missing_blocks, generate),
    ],
    ids=["a pass", "a prefill", "a wait for servers"],
)


def begun(there: World, delay: Callable[..., None], work: Callable[[], None], threads: ThreadPoolExecutor) -> Any:
    arrived = threading.Event()
    delay(there, arrived)
    working = threads.submit(work)
    assert arrived.wait(60)
    return working


@KINDS
def test_a_caller_that_leaves_leaves_no_stream_behind(
    spans: tuple[str, ...], delay: Callable[..., None], work: Callable[[World], None]
) -> None:
    caller = CancelScope()

    def work_for_caller() -> None:
        with caller.entered():
            work(there)

    with world(*spans) as there, ThreadPoolExecutor(1) as threads:
        working = begun(there, delay, work_for_caller, threads)
        caller.cancel()
        with pytest.raises(BrokenPipeError) as kept:
            working.result(60)
        assert open_streams(there) == 0, kept  # though the traceback is kept


@KINDS
def test_closing_the_model_ends_what_other_threads_wait_for(
    spans: tuple[str, ...], delay: Callable[..., None], work: Callable[[World], None]
) -> None:
    with world(*spans) as there, ThreadPoolExecutor(1) as threads:
        working = begun(there, delay, lambda: work(there), threads)
        there.model.close()
        with pytest.raises(NetworkError, match="closed"):
            working.result(60)


def test_a_session_of_several_steps_goes_on_after_a_caller_left() -> None:
    caller = CancelScope()
    with world("0:4") as there, there.model.session(max_length=60) as session:
        text = there.model.generate(prompt(), session=session, **GREEDY)
        caller.cancel()
        with caller.entered(), pytest.raises(BrokenPipeError):
            there.model.generate(text, session=session, **GREEDY)
        with torch.inference_mode():
            assert there.model.generate(text, session=session, **GREEDY).shape[1] == text.shape[1] + 4
