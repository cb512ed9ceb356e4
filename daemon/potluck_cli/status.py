"""`potluck status`: everything about this machine's part in the swarm on one page."""

from __future__ import annotations

import argparse
import sys
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
from potluck_cli.options import add_json, print_json
from potluck_cli.overview import outlook_lines
from potluck_cli.terminal import STRIP_LEGEND, Style, Terminal, strip

DESCRIPTION = """\
What this machine does for the swarm right now, and why: state, blocks, speed, load, and what it watches for."""
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser, "the status")


def run(args: argparse.Namespace) -> int:
    status = daemon().call(schema.STATUS)
    if args.json:
        print_json(status)
        return 0
    terminal = Terminal(sys.stdout)
    for line in page(status, terminal, time.time()):
        terminal.line(line)
    return 0


def page(status: Status, terminal: Terminal, now: float) -> list[str]:
    """Lines for people."""
    head = terminal.styled(f"● {status.text}", *_STYLES.get(status.state, (Style.BOLD,)))
    when = f"until {clock(status.until, now)}" if status.until else f"for {duration(now - status.since)}"
    ends = [terminal.styled(f"  It ends {status.ends}.", Style.FAINT)] if status.ends else []
    lines = [f"{head}  {terminal.styled(when, Style.FAINT)}", *ends, ""]
    for name, text in _rows(status, terminal, now):
        lines.append(f"  {terminal.styled(name.ljust(8), Style.FAINT)}  {text}".rstrip())
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
        yield "network", network_line(status.network)
    for index, text in enumerate(_watches(status.probes, terminal)):
        yield "watches" if index == 0 else "", text
    use = status.use
    spent = f", {use.cost:.2f} of electricity" if use.cost is not None else f", {use.energy_wh:.0f} Wh"
    yield "today", f"{size(use.sent_bytes)} sent, {size(use.received_bytes)} received{spent}"


def _watches(probes: tuple[ProbeStatus, ...], terminal: Terminal) -> Iterator[str]:
    """What sees something and what does not work by name, the rest in numbers; `--json` has them all."""
    for probe in probes:
        if probe.state in (ProbeState.SEEN, ProbeState.FAILED):
            yield terminal.styled(f"{probe.name}: {probe.state} ({probe.detail})", Style.YELLOW)
    counts = Counter(probe.state for probe in probes)
    words = {
        ProbeState.WATCHING: "see nothing",
        ProbeState.ASLEEP: "asleep",
        ProbeState.UNAVAILABLE: "not on this computer",
        ProbeState.OFF: "switched off",
    }
    texts = [f"{counts[state]} {text}" for state, text in words.items() if counts[state]]
    if texts:
        yield f"sources of evidence: {', '.join(texts)}"


def _swarm_rows(swarm: SwarmStatus, terminal: Terminal, now: float) -> Iterator[tuple[str, str]]:
    yield "swarm", f"{swarm.name}, {swarm.num_blocks} blocks of {swarm.model}"
    if swarm.coverage and len(swarm.coverage) <= _MAX_STRIP_LETTERS:
        age = f"  {duration(now - swarm.coverage_at)} ago" if swarm.coverage_at and now - swarm.coverage_at > 60 else ""
        yield "blocks", strip(swarm.coverage) + terminal.styled(f"  {STRIP_LEGEND}{age}", Style.FAINT)
    if swarm.span is not None and swarm.num_blocks <= _MAX_STRIP_LETTERS:
        start, end = swarm.span
        mark = "^" * (end - start)
        yield "", " " * start + mark + " " * (swarm.num_blocks - end) + terminal.styled("  yours", Style.FAINT)
    gaps = sum(count == 0 for count in swarm.coverage)
    if gaps:
        yield "", terminal.styled(f"{gaps} of {swarm.num_blocks} blocks are served by nobody", Style.YELLOW)
    if swarm.outlook is not None:
        yield from (("", line) for line in outlook_lines(swarm.outlook))


def network_line(network: NetworkReport) -> str:
    """How others get here, and what the way is worth."""
    asked = f"{network.num_reached} of {network.num_asked} peers can dial this computer"
    how = "direct" if network.reach == "direct" else "relayed, members reach this computer through another one"
    width = "measured with peers" if network.num_links else "not measured yet"
    return f"{how} ({asked}); {network.link_mbps:.0f} Mbit/s, {width}"


def _engine(status: Status) -> str:
    engine = status.engine
    text = f"process {engine.pid}, up {duration(engine.uptime_s)}" if engine.pid is not None else "not running"
    if engine.restarts:
        text += f", {engine.restarts} restart{'' if engine.restarts == 1 else 's'} after failures"
    if engine.last_failure and status.state is not State.ERROR:
        text += f"; {engine.last_failure}"
    return text


def _bar(share: float) -> str:
    filled = round(min(max(share, 0.0), 1.0) * _BAR_LETTERS)
    return "█" * filled + "·" * (_BAR_LETTERS - filled)
