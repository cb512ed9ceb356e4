"""What the app says: numbers and states as short texts for people. No Qt here, so the wording is tested by itself."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from potluck_daemon.control.schema import Status, SwarmStatus
from potluck_daemon.states import State

from potluck.errors import PotluckError

TITLES = {
    State.IDLE: "Not serving",
    State.STARTING: "Starting",
    State.JOINING: "Joining the swarm",
    State.SERVING: "Serving",
    State.DRAINING: "Stepping aside",
    State.YIELDED: "Stepped aside",
    State.PAUSED: "Paused",
    State.ERROR: "Something failed",
}
AWAY = "Potluck is not running"


def title(status: Status | None) -> str:
    return AWAY if status is None else TITLES[status.state]


def tooltip(status: Status | None) -> str:
    """Two lines for the tray: state with speed, then the reason."""
    if status is None:
        return f"Potluck\n{AWAY}"
    speed = f", {rate(status.tokens_per_s)}" if status.state is State.SERVING else ""
    return f"Potluck: {TITLES[status.state].lower()}{speed}\n{status.text}"


def speed_tps(status: Status) -> float:
    """Tokens a second; the daemon's figure is smoothed and takes a while to reach nothing."""
    return status.tokens_per_s if status.state is State.SERVING else 0.0


def rate(tokens_per_s: float) -> str:
    return f"{tokens_per_s:.1f} tokens/s" if tokens_per_s < 100 else f"{tokens_per_s:,.0f} tokens/s"


def size(count: int) -> str:
    """Bytes in binary units, as memory is sold."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.0f} {unit}" if unit in ("B", "KiB", "MiB") else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def memory(status: Status) -> str:
    load = status.load
    limit = load.memory_limit_bytes or load.memory_total_bytes
    return f"{size(load.memory_used_bytes)} of {size(limit)}" if limit else size(load.memory_used_bytes)


def clock(at: float) -> str:
    """A time of day, with the day if it is not today."""
    when, now = datetime.datetime.fromtimestamp(at), datetime.datetime.now()
    return when.strftime("%H:%M") if when.date() == now.date() else when.strftime("%a %d %b, %H:%M")


def blocks(swarm: SwarmStatus, *, is_live: bool = True) -> str:
    """One line under the strip: what is ours, and what nobody serves. Not live: no engine looks, so say when it was."""
    own = "none of them yours" if swarm.span is None else f"yours: {_range(*swarm.span)}"
    seen = f"at {clock(swarm.coverage_at)} " if swarm.coverage_at is not None and not is_live else ""
    return f"{swarm.num_blocks} blocks; {own}; {seen}{coverage(swarm.coverage)}"


def coverage(counts: Sequence[int]) -> str:
    if not counts:
        return "coverage not known yet"
    gaps = [_range(start, end) for start, end in gaps_of(counts)]
    return f"nobody serves {', '.join(gaps)}" if gaps else f"each served at least {_times(min(counts))}"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def gaps_of(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Ranges [start, end) of blocks without a replica."""
    gaps: list[tuple[int, int]] = []
    for block, count in enumerate(counts):
        if count:
            continue
        if gaps and gaps[-1][1] == block:
            gaps[-1] = (gaps[-1][0], block + 1)
        else:
            gaps.append((block, block + 1))
    return gaps


def failure(error: PotluckError) -> str:
    """What went wrong, and what to do about it, as sentences."""
    return " ".join(f"{part[0].upper()}{part[1:].rstrip('.')}." for part in (error.message, error.hint) if part)


def _range(start: int, end: int) -> str:
    """As everywhere in Potluck: [start, end)."""
    return f"{start}:{end}"
