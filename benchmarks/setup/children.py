"""Children of figures: any module of this package, and an engine of a swarm whose founder's keys lie in a folder.

`python -m benchmarks.setup.children SWARM FOLDER CHECKPOINT [generous]` runs the engine until its parent ends. A
generous one has budgets that nobody exceeds, so that everything reaches the code behind them.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from potluck_control.processes.engine_messages import EngineEvent, Online
from potluck_control.processes.launch_spec import ServingLimits
from potluck_daemon.swarms.new_model import num_blocks_of
from potluck_engine.life.engine import Engine
from potluck_engine.weights.fitting import resolve_spec

from potluck.membership import budgets
from potluck.membership.joined import JoinedSwarms
from potluck.p2p.network import LOOPBACK
from potluck.processes import exit_with_parent
from tests.helpers.launches import launch_of

GENEROUS = "generous"
_MUCH = 1e9


def founder_of(place: Path) -> JoinedSwarms:
    """Return the file in which the founder of the figure's swarms keeps the keys."""
    return JoinedSwarms(place / "founder.json", place / "founder.key")


@dataclass(frozen=True, slots=True)
class Child:
    """A module of this package, run as a program, that tells what it does line by line."""

    process: subprocess.Popen[str]

    def wait_for(self, word: str) -> str:
        """Return the line of output that begins with `word`."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(word):
                return line.removeprefix(word).strip()
        raise RuntimeError(f"a process ended before it said {word!r}")

    def end(self) -> dict[str, int]:
        """End the process and return what it says at its end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        found: dict[str, int] = json.loads(self.wait_for("ended"))
        return found


@contextmanager
def child(module: str, *arguments: str) -> Iterator[Child]:
    """Run `benchmarks.module` until the context ends."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Child(process)
    finally:
        process.kill()
        process.wait()


async def _serve(name: str, place: Path, folder: str, is_generous: bool) -> None:
    def report(event: EngineEvent) -> None:
        if isinstance(event, Online):
            print("online", event.addresses[0], flush=True)

    spec = launch_of(
        folder,
        place,
        founder_of(place).find(name).for_client(),
        blocks=f"0:{num_blocks_of(Path(folder))}",
        listen=LOOPBACK,
        limits=ServingLimits(cache_tokens=4000),
    )
    if is_generous:
        _give_everybody_much()
    await Engine(resolve_spec(spec), report).run()


def _give_everybody_much() -> None:
    for name in ("PERSON", "STRANGERS", "ADDRESS", "ONE_STRANGER"):
        allowance = replace(getattr(budgets, name), units_s=_MUCH, burst=_MUCH, held_bytes=1 << 30)
        setattr(budgets, name, replace(allowance, streams=4096, requests=4096, max_request_bytes=1 << 32))


if __name__ == "__main__":
    exit_with_parent(os.getppid())
    torch.set_num_threads(1)
    asyncio.run(_serve(sys.argv[1], Path(sys.argv[2]), sys.argv[3], GENEROUS in sys.argv))
