"""Nodes of different threads, as several models in one program have them, start their p2pd at the same time."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import uvloop

from potluck.p2p.daemon_process import _spawn

_THREADS, _PROCESSES = 4, 2


def test_loops_in_several_threads_start_processes_at_once() -> None:
    async def start_some() -> list[int]:
        processes = [await _spawn(["true"], {}) for _ in range(_PROCESSES)]
        return [await process.wait() for process in processes]

    def run(_: int) -> list[int]:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(start_some())

    with ThreadPoolExecutor(_THREADS) as threads:
        assert list(threads.map(run, range(_THREADS))) == [[0] * _PROCESSES] * _THREADS
