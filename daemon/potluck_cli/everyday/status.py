"""`potluck status`: shows this machine's part in the swarm on one page.

Show what this machine does for the swarm right now, and why: state, layers, speed, load, and what it looks out for.

  potluck status
  potluck status --json
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial

from potluck_control.api import schema
from potluck_control.api.schema import AuditStatus, ProbeState, ProbeStatus, Status, SwarmStatus
from potluck_control.processes.engine_report import NetworkReport
from potluck_control.states import Reason, State

from potluck.formatting import count, duration, part_size, size
from potluck_cli.daemon_access import daemon
from potluck_cli.options import clock, print_result
from potluck_cli.swarm.overview import leader_heard, speed_lines
from potluck_cli.terminal import STRIP_LEGEND, Style, Terminal, strip, wrapped

RESULT = Status

_STYLES = {
    State.SERVING: (Style.BOLD, Style.GREEN),
    State.PAUSED: (Style.BOLD, Style.YELLOW),
    State.YIELDED: (Style.BOLD, Style.YELLOW),
    State.ERROR: (Style.BOLD, Style.RED),
}
_MAX_STRIP_LETTERS = 100
_BAR_LETTERS, _BAR_TEXT = 20, 24
_INDENT = 13  # of what stands beside the names


def run(args: argparse.Namespace) -> int:
    status = daemon().call(schema.STATUS)
    return print_result(args, status, page(status, Terminal(), time.time()))


def page(status: Status, terminal: Terminal, now: float) -> list[str]:
    """Return the lines of the page, within the width of a terminal."""
    width = terminal.width
    head = terminal.styled(f"● {status.text}", *_STYLES.get(status.state, (Style.BOLD,)))
    when = f"until {clock(status.until, now)}" if status.until else f"for {duration(now - status.since)}"
    ends = [terminal.faint(f"  It ends {status.ends}.")] if status.ends else []
    lines = [*wrapped(f"{head}  {terminal.faint(when)}", width, 2), *ends, ""]
    for name, text in _rows(status, terminal, now):
        lines += row(name, text, terminal)
    notices = (terminal.styled(f"  ! {notice}", Style.YELLOW) for notice in status.notices)
    return [*lines, *(line for notice in notices for line in wrapped(notice, width, 4))]


def row(name: str, text: str, terminal: Terminal) -> list[str]:
    """Return the lines of a name with the text beside it."""
    return wrapped(f"  {terminal.faint(name.ljust(_INDENT - 4))}  {text}".rstrip(), terminal.width, _INDENT)


def room(terminal: Terminal) -> int | None:
    """Return how many letters fit beside the names; None: any number."""
    return None if terminal.width is None else terminal.width - _INDENT


def _rows(status: Status, terminal: Terminal, now: float) -> Iterator[tuple[str, str]]:
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
    """Say what came of recomputing pieces of this computer's own answers."""
    found = [f"{count(audits.checked, 'piece')} of your answers checked by other servers"]
    if audits.undecided:
        found.append(f"{audits.undecided:,} differed and nobody could tell which is right")
    if audits.wrong:
        found.append(f"no longer used, because they returned wrong results: {', '.join(audits.wrong)}")
    if not audits.undecided and not audits.wrong:
        found.append("all agreed")
    return "; ".join(found)


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
