"""Shows this machine's part in the swarm on one page, once or live: `potluck status` and `potluck top`."""

from __future__ import annotations

import argparse
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from potluck_control.api import schema
from potluck_control.api.client import ControlClient
from potluck_control.api.schema import AuditStatus, ProbeState, ProbeStatus, Status, SwarmStatus
from potluck_control.processes.engine_report import EngineMetrics, NetworkReport
from potluck_control.states import Reason, State

from potluck.errors import PotluckError
from potluck.formatting import count, duration, part_size, size
from potluck_cli.daemon_access import daemon
from potluck_cli.options import clock, positive, print_json, print_result
from potluck_cli.parser import Subcommand, argument
from potluck_cli.swarm.overview import leader_heard, speed_lines
from potluck_cli.terminal import STRIP_LEGEND, Style, Terminal, shown_in_style, strip, wrapped

if TYPE_CHECKING:
    from potluck_daemon.presence.nvml import NvmlReader

_STYLES = {
    State.SERVING: (Style.BOLD, Style.GREEN),
    State.PAUSED: (Style.BOLD, Style.YELLOW),
    State.YIELDED: (Style.BOLD, Style.YELLOW),
    State.ERROR: (Style.BOLD, Style.RED),
}
_MAX_STRIP_LETTERS = 100
_BAR_LETTERS, _BAR_TEXT = 20, 24
_INDENT = 13  # columns before the text beside a name
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_ENTER, _LEAVE = (
    "\x1b[?1049h\x1b[?25l",
    "\x1b[?25h\x1b[?1049l",
)  # the alternate screen without a cursor, and back
_LEVELS = "▁▂▃▄▅▆▇█"
_KEPT = 60


def status(args: argparse.Namespace) -> int:
    """Show what this machine does for the swarm.

    Show what this machine does for the swarm right now, and why: state, layers, speed, load, and what it looks out
    for.

      potluck status
      potluck status --json
    """
    status = daemon().call(schema.STATUS)
    return print_result(args, status, status_page(status, Terminal(), time.time()))


def status_page(status: Status, terminal: Terminal, now: float) -> list[str]:
    """Return the lines of the status_page, within the width of a terminal."""
    width = terminal.width
    head = terminal.styled(f"● {status.text}", *_STYLES.get(status.state, (Style.BOLD,)))
    when = f"until {clock(status.until, now)}" if status.until else f"for {duration(now - status.since)}"
    ends = [terminal.faint(f"  It ends {status.ends}.")] if status.ends else []
    lines = [*wrapped(f"{head}  {terminal.faint(when)}", width, 2), *ends, ""]
    for name, text in _status_rows(status, terminal, now):
        lines += row(name, text, terminal)
    notices = (terminal.styled(f"  ! {notice}", Style.YELLOW) for notice in status.notices)
    return [*lines, *(line for notice in notices for line in wrapped(notice, width, 4))]


def row(name: str, text: str, terminal: Terminal) -> list[str]:
    """Return the lines of a name with the text beside it."""
    return wrapped(f"  {terminal.faint(name.ljust(_INDENT - 4))}  {text}".rstrip(), terminal.width, _INDENT)


def room(terminal: Terminal) -> int | None:
    """Return how many letters fit beside the names, or None for any number."""
    return None if terminal.width is None else terminal.width - _INDENT


def _status_rows(status: Status, terminal: Terminal, now: float) -> Iterator[tuple[str, str]]:
    if status.swarm is not None:
        yield from _swarm_rows(status.swarm, terminal, now)
        yield from (("members" if number == 0 else "", line) for number, line in enumerate(_membership(status, now)))
    yield "gives", f"{status.tokens_per_s:.1f} tokens/s to others, {status.tokens_today:,} tokens today"
    load = status.load
    bar = partial(_bar, letters=_BAR_LETTERS if (free := room(terminal)) is None else _bar_letters(free))
    yield "cpu", f"{bar(load.cpu_percent / 100)}  {load.cpu_percent:.0f} %, the engine {load.engine_cpu_percent:.0f} %"
    if load.gpu_percent is not None:
        yield "gpu", f"{bar(load.gpu_percent / 100)}  {load.gpu_percent:.0f} %"
    ceiling = load.memory_limit_bytes or load.memory_total_bytes
    if ceiling:
        share = load.memory_used_bytes / ceiling
        yield "memory", f"{bar(share)}  {part_size(load.memory_used_bytes, ceiling)}"
    yield "engine", _engine(status)
    if status.engine.pid is not None and status.network.reach != "unknown":
        yield "network", _network(status.network)
    if status.nearby is not None:
        yield "nearby", _nearby(status.nearby)
    for index, text in enumerate(_detectors(status.probes, terminal)):
        yield "detectors" if index == 0 else "", text
    if status.audits.checked:
        yield "checks", _checks(status.audits)
    use = status.use
    energy = f", {use.energy_wh:.0f} Wh" if use.energy_wh >= 0.5 else ""
    cost = f", {use.cost:.2f} for electricity" if use.cost is not None and use.cost >= 0.005 else ""
    yield "today", f"{size(use.sent_bytes)} sent, {size(use.received_bytes)} received{energy}{cost}"


def _checks(audits: AuditStatus) -> str:
    """Return the results of recomputing pieces of this computer's own answers."""
    found = [f"{count(audits.checked, 'piece')} of your answers checked by other servers"]
    if audits.undecided:
        found.append(f"{audits.undecided:,} differed and nobody could tell which is right")
    if audits.wrong:
        found.append(f"no longer used, because they returned wrong results: {', '.join(audits.wrong)}")
    if not audits.undecided and not audits.wrong:
        found.append("all agreed")
    return "; ".join(found)


def _detectors(probes: tuple[ProbeStatus, ...], terminal: Terminal) -> Iterator[str]:
    """Yield detectors that see something or failed, and a count of the others; `--json` lists them all."""
    for probe in probes:
        if probe.state in (ProbeState.SEEN, ProbeState.FAILED):
            yield terminal.styled(f"{probe.name}: {probe.state} ({probe.detail})", Style.YELLOW)
    counts = Counter(probe.state for probe in probes)
    words = {ProbeState.ASLEEP: "asleep", ProbeState.UNAVAILABLE: "unavailable here", ProbeState.OFF: "off"}
    idle = ", ".join(f"{counts[state]} {text}" for state, text in words.items() if counts[state])
    found = "" if counts[ProbeState.SEEN] else ", nothing detected"
    if probes:
        yield f"{counts[ProbeState.WATCHING] + counts[ProbeState.SEEN]} active{found}{f' ({idle})' if idle else ''}"


def _swarm_rows(swarm: SwarmStatus, terminal: Terminal, now: float) -> Iterator[tuple[str, str]]:
    yield "swarm", f"{swarm.name}, {swarm.num_blocks} layers of {swarm.model}"
    if swarm.draft:
        yield "", f"sped up by {swarm.draft}"
    if swarm.num_blocks <= _MAX_STRIP_LETTERS and (swarm.coverage or swarm.span):
        yield from _strip_rows(swarm, terminal, now)
    gaps = sum(count == 0 for count in swarm.coverage)
    if gaps and swarm.is_live:
        yield "", terminal.styled(f"nobody serves {gaps} of {swarm.num_blocks} layers", Style.YELLOW)
    yield from (("", line) for line in speed_lines(swarm.speed_for_you, swarm.one_more, is_whole=not gaps))


def _membership(status: Status, now: float) -> Iterator[str]:
    if not status.is_confirmed and status.reason not in (Reason.NOT_ADMITTED, Reason.INVITE_OVER):
        yield "you are not confirmed yet: that happens when a leader's computer is online"
    if status.leader_heard_at is not None:
        yield leader_heard(status.leader_heard_at, now)


def _strip_rows(swarm: SwarmStatus, terminal: Terminal, now: float) -> Iterator[tuple[str, str]]:
    """Draw who serves each layer, in as many lines as it takes, with marks below the layers of this machine."""
    width = room(terminal) or _MAX_STRIP_LETTERS
    start, end = swarm.span or (0, 0)
    marks = " " * start + "^" * (end - start)
    letters = strip(swarm.coverage)
    for place in range(0, swarm.num_blocks, width):
        if part := letters[place : place + width]:
            yield "layers" if place == 0 else "", part
        if mark := marks[place : place + width].rstrip():
            yield "", mark
    age = "" if swarm.is_live or swarm.coverage_at is None else f"  {duration(now - swarm.coverage_at)} ago"
    legend = f"{STRIP_LEGEND}  ^ yours" if swarm.span is not None else STRIP_LEGEND
    yield "", terminal.faint(f"{legend}{age}")


def _network(network: NetworkReport) -> str:
    how = "direct" if network.reach == "direct" else "relayed through another member"
    width = "measured with peers" if network.num_links else "not measured yet"
    asked = f"{network.num_reached} of {network.num_asked} peers can dial this computer"
    return f"{how} ({asked}); {network.link_mbps:.0f} Mbit/s, {width}"


def _nearby(found: tuple[str, ...]) -> str:
    if not found:
        return "looking for members on the local network, none found yet; a firewall must let UDP port 31329 in"
    return f"{count(len(found), 'member')} found on the local network: {', '.join(found)}"


def _engine(status: Status) -> str:
    engine = status.engine
    text = "not running"
    if engine.pid is not None:
        text = f"process {engine.pid}, up {duration(engine.uptime_s)}, {count(status.sessions, 'session')}"
    if engine.runs_on:
        text += f", {engine.runs_on}" + (f" ({engine.runs_on_hint})" if engine.runs_on_hint else "")
    if engine.restarts:
        text += f", {count(engine.restarts, 'restart')} after failures"
    if engine.last_failure and status.state is not State.ERROR:
        text += f"; {engine.last_failure}"
    return text


def _bar_letters(free: int) -> int:
    return min(max(free - _BAR_TEXT, 4), _BAR_LETTERS)


def _bar(share: float, letters: int) -> str:
    filled = round(min(max(share, 0.0), 1.0) * letters)
    return "█" * filled + "·" * (letters - filled)


@dataclass(frozen=True, slots=True)
class Temperature:
    """The temperature of a processor or GPU of this machine."""

    name: str
    celsius: float


@dataclass(frozen=True, slots=True)
class TopSample:
    """A sample of one moment; `engine` is null while no engine runs."""

    status: Status
    engine: EngineMetrics | None
    temperatures: tuple[Temperature, ...]


def top(args: argparse.Namespace) -> int:
    """Show what this machine does, live.

    Show the page of `potluck status` with queue, pages and temperatures, and update it until Ctrl-C. A line shows
    the speed of the last minute. In a pipe, or on a terminal that cannot move its cursor, each change is one line.

      potluck top
      potluck top -n 10 --json              ten samples, one per line
    """
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
    import asyncio

    from potluck_daemon.presence.nvml import NvmlReader

    reader = NvmlReader()
    with asyncio.Runner() as runner:
        for event in client.events():
            if isinstance(event, Status):
                yield TopSample(event, _metrics(client, event), tuple(runner.run(_temperatures(reader))))


def one_line(sample: TopSample, now: float) -> str:
    """Return a sample as one line, for terminals without cursor movement."""
    status, load = sample.status, sample.status.load
    when = time.strftime("%H:%M:%S", time.localtime(now))
    counts = f"{status.sessions} sessions  {status.tokens_per_s:.1f} tokens/s  {_queue(sample.engine)}"
    gpu = f"  gpu {load.gpu_percent:.0f} %" if load.gpu_percent is not None else ""
    used = size(load.memory_used_bytes)
    hot = "".join(f"  {item.celsius:.0f} °C" for item in sample.temperatures)
    return f"{when}  {status.state}  {counts}  cpu {load.cpu_percent:.0f} %{gpu}  {used}{hot}  {status.text}"


def sparkline(values: list[float]) -> str:
    """Return a block character for each value, as high as its share of the largest."""
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
    from potluck_daemon.presence.sensors import read_temperatures

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
    lines = status_page(sample.status, terminal, time.time())
    lines = [*lines[: max(height - 1 - len(live), 1)], *live][: max(height - 1, 1)]
    terminal.control(_HOME + "".join(f"{shown_in_style(line)}{_CLEAR_LINE}\n" for line in lines) + _CLEAR_BELOW)


COMMANDS = {
    "status": Subcommand(status, Status),
    "top": Subcommand(
        top,
        TopSample,
        argument("-n", type=positive, metavar="N", dest="count", help="end after N samples"),
    ),
}
