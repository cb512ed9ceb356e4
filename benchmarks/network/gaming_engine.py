"""Runs a command whose engine obeys signals: `python -m benchmarks.network.gaming_engine PYTHON -m MODULE ARGUMENTS`.

    SIGUSR1  a game begins: the engine ends its sessions and frees its memory
    SIGUSR2  the game is over: it returns to the swarm

A daemon tells its engine so over a pipe, which `potluck serve` lacks.
"""

from __future__ import annotations

import asyncio
import runpy
import signal
import sys

from potluck_engine.life.engine import Engine

_run = Engine.run


async def _run_with_games(self: Engine) -> None:
    """Run as usual, and do what signals say, one thing after the other."""
    loop, orders = asyncio.get_running_loop(), asyncio.Queue[signal.Signals]()
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        loop.add_signal_handler(number, orders.put_nowait, number)

    async def obey() -> None:
        while True:
            await (self.offload() if await orders.get() == signal.SIGUSR1 else self.restore())

    obeying = asyncio.create_task(obey())
    try:
        await _run(self)
    finally:
        obeying.cancel()


if __name__ == "__main__":
    Engine.run = _run_with_games  # type: ignore[method-assign]
    module, *sys.argv[1:] = sys.argv[sys.argv.index("-m") + 1 :]
    sys.argv[0] = module
    runpy.run_module(module, run_name="__main__", alter_sys=True)
