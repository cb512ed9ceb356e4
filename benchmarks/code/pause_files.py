"""The files of ours whose code runs between a click on Pause in the tray and freed memory: `pause_files`.

A real app is clicked through its tray menu; a daemon pauses, and its engine ends, which serves the demo model beside
another server. App, daemon and engine are traced (`benchmarks/tracing`), from the click until the kernel has the
engine's memory back.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from potluck_control.api import schema
from potluck_control.resources import DEMO_MODEL, resource
from potluck_control.states import State
from potluck_daemon.swarms.new_model import num_blocks_of

from benchmarks import ROOT
from benchmarks.figures import Measured, figure
from benchmarks.people.app import tray_app
from benchmarks.setup.local_swarm import LocalSwarm
from benchmarks.setup.traced import Trace
from potluck.protocol.blocks import Span
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess
from tests.helpers.desktop import desktop
from tests.helpers.tray_host import TrayItem

_ENTRY = "Pause until I resume"
_ROUNDS, _SOAK_ROUNDS = 5, 15
_SETTLE_S = 3.0  # what begins when an engine is online is over by then
_PATIENCE_S = 30.0
_SETTINGS = f'{LOOPBACK}checkpoint = "{{checkpoint}}"\n[when]\nactive_percent = 100\n'


@figure("pause_files", unit="files", reach=14)
def pause_files(soak: bool) -> Measured:
    """Files of the product whose code runs between the click on Pause in the tray and the end of the engine's memory.

    Traced in app, daemon and engine. Files that run in each of five pauses count (15 in soak), so that what happens
    to tick does not.
    """
    rounds = _SOAK_ROUNDS if soak else _ROUNDS
    with tempfile.TemporaryDirectory() as scratch:
        number, calls = Path(scratch) / "number", Path(scratch) / "calls"
        number.write_bytes(b"\0")
        freed_s = asyncio.run(_pause(number, calls, rounds))
        lines = calls.read_text().splitlines()
    files = in_every_round(lines, rounds)
    detail = {"files": files, "traced_s": [round(value, 3) for value in freed_s]}
    return Measured(len(files), detail)


def in_every_round(lines: Iterable[str], rounds: int) -> dict[str, list[str]]:
    """Return the files that ran in every round, each with its functions that did. Pure.

    Args:
        lines: what `Trace` writes: round, file and function.
    """
    seen = defaultdict[tuple[str, str], set[int]](set)
    ran = defaultdict[str, set[int]](set)
    for line in lines:
        step, file, function = json.loads(line)
        seen[file, function].add(step)
        ran[file].add(step)
    return {
        file: sorted(name for (each, name), steps in seen.items() if each == file and len(steps) == rounds)
        for file in sorted(ran)
        if len(ran[file]) == rounds
    }


async def _pause(number: Path, calls: Path, rounds: int) -> list[float]:
    """Return the seconds from each click until the engine's memory was free; tracing makes them longer."""
    folder, trace = resource(DEMO_MODEL), Trace(number, calls)
    traced = {
        "PYTHONPATH": str(ROOT / "benchmarks" / "setup" / "tracing"),
        "POTLUCK_TRACED_NUMBER": str(number),
        "POTLUCK_TRACED_CALLS": str(calls),
        "LANG": "C.UTF-8",
    }
    with (
        LocalSwarm(folder, [Span(0, num_blocks_of(folder))]) as swarm,
        desktop(window_manager=True) as screen,
        DaemonProcess(_SETTINGS.format(checkpoint=folder), environment=screen.environment | traced) as daemon,
    ):
        await asyncio.to_thread(daemon.become_founder, swarm)
        async with tray_app(screen, daemon) as item:
            return [await _round(daemon, item, trace, each) for each in range(1, rounds + 1)]


async def _round(daemon: DaemonProcess, item: TrayItem, trace: Trace, number: int) -> float:
    """Pause and resume once it serves; return the seconds until the memory was free."""
    await asyncio.to_thread(daemon.client.call, schema.RESUME)
    status = await asyncio.to_thread(daemon.wait_state, State.SERVING)
    await item.wait_tooltip("serving")
    await asyncio.sleep(_SETTLE_S)
    assert status.engine.pid is not None
    engine = os.pidfd_open(status.engine.pid)
    try:
        began = time.monotonic()
        trace.set_step(number)
        await item.click(_ENTRY)
        has_ended, _, _ = await asyncio.to_thread(select.select, (engine,), (), (), _PATIENCE_S)
        trace.set_step(0)
    finally:
        os.close(engine)
    if not has_ended:
        raise TimeoutError(f"the memory is not freed\n{daemon.log()}")
    freed_s = time.monotonic() - began
    await asyncio.to_thread(daemon.wait_state, State.PAUSED)
    return freed_s
