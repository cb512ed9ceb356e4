"""What the app says: numbers and states as short texts for people. No widgets here, so the wording is tested by itself.

Every text goes through `translate`; what counts something has plural forms (`%n`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from potluck_control.agreement import Agreement
from potluck_control.methods.earnings import MICROCREDITS
from potluck_control.methods.setup import Problem, Progress, Step
from potluck_control.schema import ProbeState, ProbeStatus, Status, SwarmStatus, UseStatus
from potluck_control.states import Reason, State
from PySide6.QtCore import QDateTime, QLocale

from potluck.errors import PotluckError
from potluck_app.shell.language import QT_TRANSLATE_NOOP, tr
from potluck_app.words.daemon_texts import translated

TITLES = {
    State.IDLE: QT_TRANSLATE_NOOP("", "Not serving"),
    State.STARTING: QT_TRANSLATE_NOOP("", "Starting"),
    State.JOINING: QT_TRANSLATE_NOOP("", "Joining the swarm"),
    State.SERVING: QT_TRANSLATE_NOOP("", "Serving"),
    State.DRAINING: QT_TRANSLATE_NOOP("", "Stepping aside"),
    State.YIELDED: QT_TRANSLATE_NOOP("", "Stepped aside"),
    State.PAUSED: QT_TRANSLATE_NOOP("", "Paused"),
    State.ERROR: QT_TRANSLATE_NOOP("", "Something failed"),
    State.UNKNOWN: QT_TRANSLATE_NOOP("", "Running"),  # a newer daemon's own sentence says the rest
}
_STEPS = {
    Step.LOOK: QT_TRANSLATE_NOOP("", "Looking at this computer"),
    Step.RESOLVE: QT_TRANSLATE_NOOP("", "Looking up the packages"),
    Step.INSTALL: QT_TRANSLATE_NOOP("", "Installing"),
    Step.TRY: QT_TRANSLATE_NOOP("", "Trying it out on this computer"),
    Step.SWITCH: QT_TRANSLATE_NOOP("", "In use from now on"),
}
_BUILDS = {
    "cpu": QT_TRANSLATE_NOOP("", "{name}, for the processor"),
    "cu130": QT_TRANSLATE_NOOP("", "{name}, for graphics cards by NVIDIA"),
    "cu126": QT_TRANSLATE_NOOP("", "{name}, for older graphics cards or drivers by NVIDIA"),
    "rocm": QT_TRANSLATE_NOOP("", "{name}, for graphics cards by AMD"),
    "mps": QT_TRANSLATE_NOOP("", "{name}, for Macs with Apple's processor"),
    "xpu": QT_TRANSLATE_NOOP("", "{name}, for graphics cards by Intel"),
}
_MAX_NAME = 40  # letters of a program's name on a button
_PROBES = {
    ProbeState.SEEN: QT_TRANSLATE_NOOP("", "Sees something now"),
    ProbeState.FAILED: QT_TRANSLATE_NOOP("", "Does not work"),
    ProbeState.WATCHING: QT_TRANSLATE_NOOP("", "Watching, nothing seen"),
    ProbeState.ASLEEP: QT_TRANSLATE_NOOP("", "Resting, as there is nothing to give back"),
    ProbeState.UNAVAILABLE: QT_TRANSLATE_NOOP("", "Not on this computer"),
    ProbeState.OFF: QT_TRANSLATE_NOOP("", "Not needed with these settings"),
    ProbeState.UNKNOWN: QT_TRANSLATE_NOOP("", "Known only to a newer version"),
}


@dataclass(frozen=True, slots=True)
class ProbeGroup:
    """Probes in the same state."""

    heading: str
    is_problem: bool
    probes: tuple[tuple[str, str], ...]  # name, detail


def away() -> str:
    return tr("Potluck is not running")


def absent() -> str:
    """What follows from a daemon that does not run."""
    return tr("Nothing is served until it runs. Your settings and what you earned are kept.")


def closed() -> str:
    """Why the daemon is away, if it ended while we listened."""
    return tr("The daemon has ended.")


def title(status: Status | None) -> str:
    if status is None:
        return away()
    if status.state is State.SERVING and status.duty < 1.0:
        return tr("Serving at {percent} %").format(percent=f"{100 * status.duty:.0f}")
    if status.state is State.DRAINING and status.reason is Reason.SHUTDOWN:
        return tr("Finishing") if _is_finishing(status) else tr("Shutting down")
    return tr(TITLES[status.state])


def tooltip(status: Status | None) -> str:
    """Lines for the tray: state with speed, the reason, what would end it."""
    if status is None:
        return f"Potluck\n{away()}"
    heading = title(status)
    speed = f", {rate(status.tokens_per_s)}" if status.state is State.SERVING else ""
    lines = (f"Potluck: {heading[0].lower()}{heading[1:]}{speed}", translated(status.text), ending(status))
    return "\n".join(line for line in lines if line)


def ending(status: Status) -> str:
    """What would end this state, as a sentence; empty if it is as it should be or an older daemon does not say."""
    if status.state is State.DRAINING and status.reason is Reason.SHUTDOWN:
        left = tr("%n session(s) left", "", status.sessions)
        if status.until is None:
            return f"{left}."
        return tr("{left}; shuts down at {time} at the latest.").format(left=left, time=clock(status.until))
    at, when = _ENDINGS.get(status.state, _SERVES_AGAIN)
    if status.until is not None:
        return tr(at).format(time=clock(status.until))
    return tr(when).format(condition=translated(status.ends)) if status.ends else ""


_SERVES_AGAIN = (
    QT_TRANSLATE_NOOP("", "Serves again at {time}."),
    QT_TRANSLATE_NOOP("", "Serves again {condition}."),
)
_ENDINGS = {
    State.SERVING: (
        QT_TRANSLATE_NOOP("", "Full speed again at {time}."),
        QT_TRANSLATE_NOOP("", "Full speed again {condition}."),
    ),
    State.ERROR: (
        QT_TRANSLATE_NOOP("", "Tries again at {time}."),
        QT_TRANSLATE_NOOP("", "Tries again {condition}."),
    ),
}


def resume(status: Status) -> str:
    """What to write on the button that ends this state; empty if there is nothing that one could end."""
    if status.state is State.PAUSED:
        return tr("Resume")
    if _is_finishing(status):
        return tr("Keep serving")
    match status.reason:
        case Reason.QUIET_TIME:
            return tr("Serve now")
        case Reason.SWITCHED_OFF:
            return tr("Start donating again")
        case Reason.ENGINE_FAILED:
            return tr("Try again now")
        case _:
            return ""


def never(status: Status) -> str:
    """The offer to ignore a program."""
    return tr("Never step aside for {program}…").format(program=_program(status))


def never_question(status: Status) -> str:
    return tr(
        "Go on serving whenever {program} runs, now and from now on? You can take it back on the Activity page.",
    ).format(program=_program(status))


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
        return tr("Watches nothing just now")
    ways = tr("%n way(s) to notice that you need the computer", "", working)
    broken = tr("%n do(es) not work", "", failed)
    return f"{ways}; {broken}" if failed else ways


def probe_groups(probes: Sequence[ProbeStatus]) -> tuple[ProbeGroup, ...]:
    """What matters first; groups without a member are left out."""
    groups = (
        ProbeGroup(
            tr(heading),
            state is ProbeState.FAILED,
            tuple((p.name, p.detail) for p in probes if p.state is state),
        )
        for state, heading in _PROBES.items()
    )
    return tuple(group for group in groups if group.probes)


def use(used: UseStatus) -> str:
    """What the day has taken; empty if it is nothing worth a line."""
    if used.sent_bytes + used.received_bytes < 1024 and used.energy_wh < 0.5:
        return ""
    said = tr("Used today: {sent} sent, {received} received, {energy} of electricity")
    spent = energy(used.energy_wh)
    if used.cost is not None:
        spent = tr("{energy} for {cost}").format(energy=spent, cost=cost(used.cost))
    return said.format(sent=size(used.sent_bytes), received=size(used.received_bytes), energy=spent)


def speed_tps(status: Status) -> float:
    """Tokens a second; the daemon's figure is smoothed and takes a while to reach nothing."""
    return status.tokens_per_s if status.state is State.SERVING or _is_finishing(status) else 0.0


def rate(tokens_per_s: float) -> str:
    figure = number(tokens_per_s, 1 if tokens_per_s < 100 else 0)
    return tr("{number} tokens/s").format(number=figure)


def number(value: float, decimals: int = 0) -> str:
    """As the user's language writes numbers."""
    return QLocale().toString(float(value), "f", decimals)


def credits(microcredits: int) -> str:
    """A number of credits with as many digits as say something; the unit is written beside it."""
    value = microcredits / MICROCREDITS
    size_of = abs(value)
    steps = ((1000, 0), (100, 1), (1, 2), (0.001, 4))
    decimals = next((digits for least, digits in steps if size_of >= least), 6) if microcredits else 0
    return number(value, decimals)


def energy(watt_hours: float) -> str:
    return f"{number(watt_hours / 1000, 1)} kWh" if watt_hours >= 1000 else f"{number(watt_hours)} Wh"


def cost(amount: float) -> str:
    """In whatever currency the user gave the price in."""
    return number(amount, 2)


def duration(seconds: float) -> str:
    """In the one or two units that matter: "3 d 4 h", "2 h 5 min", "40 s"."""
    minutes, hours, days = int(seconds // 60), int(seconds // 3600), int(seconds // 86400)
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{int(seconds)} s"


def size(num_bytes: int) -> str:
    """Bytes in binary units, as memory is sold."""
    value = float(num_bytes)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            return f"{number(value, 0 if unit in ('B', 'KiB', 'MiB') else 1)} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def memory(status: Status) -> str:
    load = status.load
    limit = load.memory_limit_bytes or load.memory_total_bytes
    used = size(load.memory_used_bytes)
    return tr("{used} of {all}").format(used=used, all=size(limit)) if limit else used


def progress(of: Progress) -> str:
    """Of making the engine's environment: which package is fetched, the daemon says; everything else is ours to say."""
    if of.step is Step.FETCH:
        return tr("Fetching {what}").format(what=translated(of.text))
    return f"{tr(_STEPS[of.step])}…"


def fetched(done: int, total: int, bytes_per_s: float, left_s: float | None) -> str:
    """How far a fetch is, how fast, and how long it will take; what is not known is left out."""
    parts = [tr("{used} of {all}").format(used=size(done), all=size(total))]
    if bytes_per_s > 0.0:
        parts.append(tr("{size}/s").format(size=size(round(bytes_per_s))))
    if left_s is not None:
        parts.append(tr("about {time} left").format(time=duration(left_s)))
    return " · ".join(parts)


def sizes(download_bytes: int, disk_bytes: int) -> str:
    said = tr("Fetches {download} at most, and takes {disk} of the disk.")
    return said.format(download=size(download_bytes), disk=size(disk_bytes))


def variant(name: str) -> str:
    """A build of torch, as those know it who have to choose one."""
    said = next((said for known, said in _BUILDS.items() if name.startswith(known)), "{name}")
    return tr(said).format(name=name)


def device(name: str) -> str:
    """One that the engine names: cpu, cuda:0."""
    kind, _, number = name.partition(":")
    if kind == "cpu":
        return tr("the processor")
    return tr("graphics card {number}").format(number=int(number) + 1) if number.isdecimal() else name


def setting_up(said: str) -> str:
    """What was found before something is installed, as a sentence; empty stays empty."""
    return sentence(translated(said)) if said else ""


def state(of: State, reason: Reason) -> str:
    """The name of a state that is over."""
    return tr("Shutting down") if (of, reason) == (State.DRAINING, Reason.SHUTDOWN) else tr(TITLES[of])


def advice(given: str) -> str:
    """What to do about something; it may begin with a command, so its first letter stays small."""
    return tr("What to do: {advice}.").format(advice=given.rstrip(".")) if given else ""


def time_of_day(at: float) -> str:
    return QLocale().toString(QDateTime.fromSecsSinceEpoch(int(at)), "HH:mm")


def day(at: float) -> str:
    """Today, yesterday, or the date in full."""
    when, today = QDateTime.fromSecsSinceEpoch(int(at)).date(), QDateTime.currentDateTime().date()
    match when.daysTo(today):
        case 0:
            return tr("Today")
        case 1:
            return tr("Yesterday")
        case _:
            return QLocale().toString(when, "dddd d MMMM yyyy")


def clock(at: float) -> str:
    """A time of day, with the day if it is not today."""
    when = QDateTime.fromSecsSinceEpoch(int(at))
    is_today = when.date() == QDateTime.currentDateTime().date()
    return QLocale().toString(when, "HH:mm" if is_today else "ddd d MMM, HH:mm")


def model(name: str) -> str:
    """As people call it: without the folders before it."""
    return name.rstrip("/").rpartition("/")[2] or name


def blocks(swarm: SwarmStatus, *, is_live: bool = True) -> str:
    """One line under the strip: what is ours, and what nobody serves. Not live: no engine looks, so say when it was."""
    own = tr("none of them yours") if swarm.span is None else tr("yours: {blocks}").format(blocks=span(*swarm.span))
    seen = coverage(swarm.coverage)
    if swarm.coverage_at is not None and not is_live:
        seen = tr("at {time} {coverage}").format(time=clock(swarm.coverage_at), coverage=seen)
    count = tr("%n block(s)", "", swarm.num_blocks)
    return f"{count}; {own}; {seen}"


def outlook(swarm: SwarmStatus) -> str:
    """What the whole swarm bears and what holds it back, as a sentence; empty while that is not known."""
    known = swarm.outlook
    if known is None or known.tokens_per_s <= 0.0:
        return ""
    said = tr("Together the swarm serves up to {rate}").format(rate=rate(known.tokens_per_s))
    if sum(end - start for start, end in known.bottlenecks) == swarm.num_blocks:
        return f"{said}."
    framed = ", ".join(span(start, end) for start, end in known.bottlenecks)
    limit = tr("blocks {blocks} (framed) set the limit.").format(blocks=framed)
    return f"{said}; {limit}"


def coverage(counts: Sequence[int]) -> str:
    if not counts:
        return tr("coverage not known yet")
    gaps = [span(start, end) for start, end in gaps_of(counts)]
    if gaps:
        return tr("nobody serves {blocks}").format(blocks=", ".join(gaps))
    return tr("each served at least %n time(s)", "", min(counts))


def _is_finishing(status: Status) -> bool:
    """Open sessions go on for a while; without a limit it is ending at once."""
    return status.state is State.DRAINING and status.reason is Reason.SHUTDOWN and status.until is not None


def _program(status: Status) -> str:
    return short(status.app_title or status.app)


def short(name: str) -> str:
    """A program's name that fits on a button."""
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
    return _sentences(error.message, error.hint or "")


def problem(told: Problem | None) -> str:
    """How something that the daemon did by itself ended, as `failure`; empty: well."""
    return _sentences(told.text, told.hint) if told is not None else ""


def difference(agreement: Agreement) -> str:
    """Between the versions of daemon and app, and what to do about it; empty without one."""
    return _sentences(agreement.text, agreement.advice)


def _sentences(*parts: str) -> str:
    return " ".join(sentence(translated(part)) for part in parts if part)


def sentence(part: str) -> str:
    return f"{capital(part).rstrip('.')}."


def capital(part: str) -> str:
    """With a large first letter."""
    return f"{part[:1].upper()}{part[1:]}"


def span(start: int, end: int) -> str:
    """As everywhere in Potluck: [start, end)."""
    return f"{start}:{end}"
