"""`potluck top`: shows what this machine does, live.

Show the page of `potluck status` with queue, pages and temperatures, and update it until Ctrl-C. A line shows the speed
of the last minute. In a pipe, or on a terminal that cannot move its cursor, each change is one line.

  potluck top
  potluck top -n 10 --json              ten samples, one per line
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from potluck_control.api import schema
from potluck_control.api.client import ControlClient
from potluck_control.api.schema import Status
from potluck_control.processes.engine_report import EngineMetrics
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.sensors import read_temperatures

from potluck.errors import PotluckError
from potluck.formatting import size
from potluck_cli.daemon_access import daemon
from potluck_cli.everyday.status import page, room, row
from potluck_cli.options import positive, print_json
from potluck_cli.terminal import Terminal, shown_in_style

_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"  # another screen without cursor, and back
_LEVELS = "▁▂▃▄▅▆▇█"
_KEPT = 60


@dataclass(frozen=True, slots=True)
class Temperature:
    """The temperature of a processor or GPU of this machine."""

    name: str
    celsius: float


@dataclass(frozen=True, slots=True)
class TopSample:
    """One moment; `engine` is null while no engine runs."""

    status: Status
    engine: EngineMetrics | None
    temperatures: tuple[Temperature, ...]


RESULT = TopSample


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", type=positive, metavar="N", dest="count", help="end after N samples")


def run(args: argparse.Namespace) -> int:
    terminal = Terminal()
    client = daemon()
    shows_page = terminal.can_move and not args.json
    if shows_page:
        terminal.control(_ENTER)
    try:
        speeds: list[float] = []
        for number, sample in enumerate(samples(client), 1):
            speeds = [*speeds, sample.status.tokens_per_s][-_KEPT:]
            if args.json:
                print_json(sample)
            elif shows_page:
                _paint(sample, speeds, terminal)
            else:
                terminal.line(one_line(sample, time.time()))
            if number == args.count:
                break
    finally:
        if shows_page:
            terminal.control(_LEAVE)
    return 0


def samples(client: ControlClient) -> Iterator[TopSample]:
    """Yield a sample for each status that the daemon sends, about one per second."""
    reader = NvmlReader()
    with asyncio.Runner() as runner:
        for event in client.events():
            if isinstance(event, Status):
                yield TopSample(event, _metrics(client, event), tuple(runner.run(_temperatures(reader))))


def one_line(sample: TopSample, now: float) -> str:
    """Return a sample as a line, for terminals that only append."""
    status, load = sample.status, sample.status.load
    when = time.strftime("%H:%M:%S", time.localtime(now))
    counts = f"{status.sessions} sessions  {status.tokens_per_s:.1f} tokens/s  {_queue(sample.engine)}"
    gpu = f"  gpu {load.gpu_percent:.0f} %" if load.gpu_percent is not None else ""
    used = size(load.memory_used_bytes)
    hot = "".join(f"  {item.celsius:.0f} °C" for item in sample.temperatures)
    return f"{when}  {status.state}  {counts}  cpu {load.cpu_percent:.0f} %{gpu}  {used}{hot}  {status.text}"


def sparkline(values: list[float]) -> str:
    """Return one letter per value, as high as its share of the largest."""
    top = max(values, default=0.0)
    if top <= 0:
        return _LEVELS[0] * len(values)
    return "".join(_LEVELS[round(value / top * (len(_LEVELS) - 1))] for value in values)


def _metrics(client: ControlClient, status: Status) -> EngineMetrics | None:
    if status.engine.pid is None:
        return None
    try:
        return client.call(schema.METRICS).engine
    except PotluckError:  # the engine ended in between, or the daemon is older
        return None


async def _temperatures(reader: NvmlReader) -> list[Temperature]:
    found = [Temperature(str(name), celsius) for _, name, _, celsius in read_temperatures(Path("/sys"))]
    gpus = await reader.gpus()
    return found + [Temperature(gpu.name, gpu.temperature_c) for gpu in gpus if gpu.temperature_c is not None]


def _queue(engine: EngineMetrics | None) -> str:
    if engine is None:
        return "no queue"
    waiting = f", {engine.waiting_for_pages} wait for pages" if engine.waiting_for_pages else ""
    return f"{engine.queued_steps} steps of {engine.queued_tokens} tokens wait{waiting}"


def _pages(engine: EngineMetrics | None) -> str:
    if engine is None or not engine.pages.total:
        return "none"
    pages = engine.pages
    spilled = f", {pages.spilled} spilled" if pages.spilled else ""
    return f"{pages.used} of {pages.total} used, {pages.free} free{spilled}"


def _paint(sample: TopSample, speeds: list[float], terminal: Terminal) -> None:
    """Overwrite the old page line by line, so that nothing flickers, within the size of the terminal."""
    height = shutil.get_terminal_size().lines
    hot = ", ".join(f"{item.name} {item.celsius:.0f} °C" for item in sample.temperatures) or "no sensors"
    rows = (
        ("queue", _queue(sample.engine)),
        ("pages", _pages(sample.engine)),
        ("heat", hot),
        ("tokens/s", sparkline(speeds[-(room(terminal) or _KEPT) :])),
    )
    live = [line for name, text in rows for line in row(name, text, terminal)]
    lines = page(sample.status, terminal, time.time())
    lines = [*lines[: max(height - 1 - len(live), 1)], *live][: max(height - 1, 1)]
    terminal.control(_HOME + "".join(f"{shown_in_style(line)}{_CLEAR_LINE}\n" for line in lines) + _CLEAR_BELOW)
