"""How the detectors of games and activity stand, in a line and in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from potluck_control.schema import ProbeState, ProbeStatus

from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

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
