"""What the app says: numbers and states as short texts for people. No Qt here, so the wording is tested by itself."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from potluck_daemon.control.schema import ProbeState, ProbeStatus, Status, SwarmStatus, UseStatus
from potluck_daemon.states import Reason, State

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
    State.UNKNOWN: "Running",  # a newer daemon's own sentence says the rest
}
AWAY = "Potluck is not running"
_MAX_NAME = 40  # letters of a program's name on a button
_PROBES = {
    ProbeState.SEEN: "Sees something now",
    ProbeState.FAILED: "Does not work",
    ProbeState.WATCHING: "Watching, nothing seen",
    ProbeState.ASLEEP: "Resting, as there is nothing to give back",
    ProbeState.UNAVAILABLE: "Not on this computer",
    ProbeState.OFF: "Not needed with these settings",
    ProbeState.UNKNOWN: "Known only to a newer version",
}


@dataclass(frozen=True, slots=True)
class ProbeGroup:
    """Probes in the same state."""

    heading: str
    is_problem: bool
    probes: tuple[tuple[str, str], ...]  # name, detail


def title(status: Status | None) -> str:
    if status is None:
        return AWAY
    if status.state is State.SERVING and status.duty < 1.0:
        return f"Serving at {100 * status.duty:.0f} %"
    if status.state is State.DRAINING and status.reason is Reason.SHUTDOWN:
        return "Finishing" if _is_finishing(status) else "Shutting down"
    return TITLES[status.state]


def tooltip(status: Status | None) -> str:
    """Lines for the tray: state with speed, the reason, what would end it."""
    if status is None:
        return f"Potluck\n{AWAY}"
    heading = title(status)
    speed = f", {rate(status.tokens_per_s)}" if status.state is State.SERVING else ""
    lines = (f"Potluck: {heading[0].lower()}{heading[1:]}{speed}", status.text, ending(status))
    return "\n".join(line for line in lines if line)


def ending(status: Status) -> str:
    """What would end this state, as a sentence; empty if it is as it should be or an older daemon does not say."""
    if status.state is State.DRAINING and status.reason is Reason.SHUTDOWN:
        limit = f"; shuts down at {clock(status.until)} at the latest" if status.until else ""
        return f"{count(status.sessions, 'session')} left{limit}."
    again = {State.SERVING: "Full speed again", State.ERROR: "Tries again"}.get(status.state, "Serves again")
    if status.until is not None:
        return f"{again} at {clock(status.until)}."
    return f"{again} {status.ends}." if status.ends else ""


def resume(status: Status) -> str:
    """What to write on the button that ends this state; empty if there is nothing that one could end."""
    if status.state is State.PAUSED:
        return "Resume"
    if _is_finishing(status):
        return "Keep serving"
    return {Reason.QUIET_TIME: "Serve now", Reason.ENGINE_FAILED: "Try again now"}.get(status.reason, "")


def never(status: Status) -> str:
    """The offer to ignore a program."""
    return f"Never step aside for {_program(status)}…"


def never_question(status: Status) -> str:
    return (
        f"Go on serving whenever {_program(status)} runs, now and from now on? "
        "To take it back, remove it from yield.never in the settings."
    )


def menu_text(given: str) -> str:
    """For buttons and menus, where a single & marks a shortcut."""
    return given.replace("&", "&&")


def watching(probes: Sequence[ProbeStatus]) -> str:
    """All probes in one line; empty if an older daemon has none to show."""
    if not probes:
        return ""
    failed = sum(probe.state is ProbeState.FAILED for probe in probes)
    working = sum(probe.state in (ProbeState.WATCHING, ProbeState.SEEN) for probe in probes)
    if not working and not failed:
        return "Watches nothing just now"
    problem = f"; {failed} {'does' if failed == 1 else 'do'} not work" if failed else ""
    return f"{count(working, 'way')} to notice that you need the computer{problem}"


def probe_groups(probes: Sequence[ProbeStatus]) -> tuple[ProbeGroup, ...]:
    """What matters first; groups without a member are left out."""
    groups = (
        ProbeGroup(heading, state is ProbeState.FAILED, tuple((p.name, p.detail) for p in probes if p.state is state))
        for state, heading in _PROBES.items()
    )
    return tuple(group for group in groups if group.probes)


def use(used: UseStatus) -> str:
    """What the day has taken; empty if it is nothing worth a line."""
    if used.sent_bytes + used.received_bytes < 1024 and used.energy_wh < 0.5:
        return ""
    energy = f"{used.energy_wh:.0f} Wh" if used.cost is None else f"{used.energy_wh:.0f} Wh for {used.cost:.2f}"
    return f"Used today: {size(used.sent_bytes)} sent, {size(used.received_bytes)} received, {energy} of electricity"


def speed_tps(status: Status) -> float:
    """Tokens a second; the daemon's figure is smoothed and takes a while to reach nothing."""
    return status.tokens_per_s if status.state is State.SERVING or _is_finishing(status) else 0.0


def rate(tokens_per_s: float) -> str:
    return f"{tokens_per_s:.1f} tokens/s" if tokens_per_s < 100 else f"{tokens_per_s:,.0f} tokens/s"


def size(num_bytes: int) -> str:
    """Bytes in binary units, as memory is sold."""
    value = float(num_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.0f} {unit}" if unit in ("B", "KiB", "MiB") else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


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


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _is_finishing(status: Status) -> bool:
    """Open sessions go on for a while; without a limit it is ending at once."""
    return status.state is State.DRAINING and status.reason is Reason.SHUTDOWN and status.until is not None


def _program(status: Status) -> str:
    name = status.app_title or status.app
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"


def gaps_of(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Ranges [start, end) of blocks without a replica."""
    gaps: list[tuple[int, int]] = []
    for block, replicas in enumerate(counts):
        if replicas:
            continue
        if gaps and gaps[-1][1] == block:
            gaps[-1] = (gaps[-1][0], block + 1)
        else:
            gaps.append((block, block + 1))
    return gaps


def failure(error: PotluckError) -> str:
    """What went wrong, and what to do about it, as sentences."""
    return " ".join(sentence(part) for part in (error.message, error.hint) if part)


def sentence(part: str) -> str:
    return f"{part[0].upper()}{part[1:].rstrip('.')}."


def _range(start: int, end: int) -> str:
    """As everywhere in Potluck: [start, end)."""
    return f"{start}:{end}"
