"""`potluck status`: shows this machine's part in the swarm on one page."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator

from potluck_control import schema
from potluck_control.formatting import duration, part_size, size
from potluck_control.network_report import NetworkReport
from potluck_control.schema import ProbeState, ProbeStatus, Status, SwarmStatus
from potluck_control.states import State

from potluck_cli.connect import daemon
from potluck_cli.durations import clock
from potluck_cli.options import answer
from potluck_cli.overview import outlook_lines
from potluck_cli.terminal import STRIP_LEGEND, Style, Terminal, strip

DESCRIPTION = """\
Show what this machine does for the swarm right now, and why: state, blocks, speed, load, and what it looks out for."""
EXAMPLES = """\
  potluck status
  potluck status --json"""

RESULT = Status

_STYLES = {
    State.SERVING: (Style.BOLD, Style.GREEN),
    State.PAUSED: (Style.BOLD, Style.YELLOW),
    State.YIELDED: (Style.BOLD, Style.YELLOW),
    State.ERROR: (Style.BOLD, Style.RED),
}
_MAX_STRIP_LETTERS = 100
_BAR_LETTERS = 20


def run(args: argparse.Namespace) -> int:
    status = daemon().call(schema.STATUS)
    return answer(args, status, page(status, Terminal(), time.time()))


def page(status: Status, terminal: Terminal, now: float) -> list[str]:
    """Return the lines of the page."""
    head = terminal.styled(f"● {status.text}", *_STYLES.get(status.state, (Style.BOLD,)))
    when = f"until {clock(status.until, now)}" if status.until else f"for {duration(now - status.since)}"
    ends = [terminal.faint(f"  It ends {status.ends}.")] if status.ends else []
    lines = [f"{head}  {terminal.faint(when)}", *ends, ""]
    for name, text in _rows(status, terminal, now):
        lines.append(f"  {terminal.faint(name.ljust(9))}  {text}".rstrip())
    lines += [terminal.styled(f"  ! {notice}", Style.YELLOW) for notice in status.notices]
    return lines


def _rows(status: Status, terminal: Terminal, now: float) -> Iterator[tuple[str, str]]:
    if status.swarm is not None:
        yield from _swarm_rows(status.swarm, terminal, now)
    people = f"{status.sessions} session{'' if status.sessions == 1 else 's'}"
    yield "speed", f"{status.tokens_per_s:.1f} tokens/s, {people}, {status.tokens_today:,} tokens today"
    load = status.load
    yield "cpu", f"{_bar(load.cpu_percent / 100)}  {load.cpu_percent:.0f} %, the engine {load.engine_cpu_percent:.0f} %"
    if load.gpu_percent is not None:
        yield "gpu", f"{_bar(load.gpu_percent / 100)}  {load.gpu_percent:.0f} %"
    ceiling = load.memory_limit_bytes or load.memory_total_bytes
    if ceiling:
        share = load.memory_used_bytes / ceiling
        yield "memory", f"{_bar(share)}  {part_size(load.memory_used_bytes, ceiling)}"
    yield "engine", _engine(status)
    if status.engine.pid is not None and status.network.reach != "unknown":
        yield "network", _network(status.network)
    for index, text in enumerate(_detectors(status.probes, terminal)):
        yield "detectors" if index == 0 else "", text
    use = status.use
    cost = f", {use.cost:.2f} for electricity" if use.cost is not None and use.cost >= 0.005 else ""
    yield "today", f"{size(use.sent_bytes)} sent, {size(use.received_bytes)} received, {use.energy_wh:.0f} Wh{cost}"


def _detectors(probes: tuple[ProbeStatus, ...], terminal: Terminal) -> Iterator[str]:
    """Name detectors that see something or failed, and count the others; `--json` lists them all."""
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
    yield "swarm", f"{swarm.name}, {swarm.num_blocks} blocks of {swarm.model}"
    if swarm.coverage and len(swarm.coverage) <= _MAX_STRIP_LETTERS:
        age = f"  {duration(now - swarm.coverage_at)} ago" if swarm.coverage_at and now - swarm.coverage_at > 60 else ""
        yield "blocks", strip(swarm.coverage) + terminal.faint(f"  {STRIP_LEGEND}{age}")
    if swarm.span is not None and swarm.num_blocks <= _MAX_STRIP_LETTERS:
        start, end = swarm.span
        mark = "^" * (end - start)
        yield "", " " * start + mark + " " * (swarm.num_blocks - end) + terminal.faint("  yours")
    gaps = sum(count == 0 for count in swarm.coverage)
    if gaps:
        yield "", terminal.styled(f"nobody serves {gaps} of {swarm.num_blocks} blocks", Style.YELLOW)
    if swarm.outlook is not None:
        yield from (("", line) for line in outlook_lines(swarm.outlook))


def _network(network: NetworkReport) -> str:
    how = "direct" if network.reach == "direct" else "relayed through another member"
    width = "measured with peers" if network.num_links else "not measured yet"
    asked = f"{network.num_reached} of {network.num_asked} peers can dial this computer"
    return f"{how} ({asked}); {network.link_mbps:.0f} Mbit/s, {width}"


def _engine(status: Status) -> str:
    engine = status.engine
    text = f"process {engine.pid}, up {duration(engine.uptime_s)}" if engine.pid is not None else "not running"
    if engine.runs_on:
        text += f", {engine.runs_on}" + (f" ({engine.runs_on_hint})" if engine.runs_on_hint else "")
    if engine.restarts:
        text += f", {engine.restarts} restart{'' if engine.restarts == 1 else 's'} after failures"
    if engine.last_failure and status.state is not State.ERROR:
        text += f"; {engine.last_failure}"
    return text


def _bar(share: float) -> str:
    filled = round(min(max(share, 0.0), 1.0) * _BAR_LETTERS)
    return "█" * filled + "·" * (_BAR_LETTERS - filled)
