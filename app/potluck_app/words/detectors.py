"""The detectors of games and activity, in one line and in groups. The daemon calls them probes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from potluck_control.schema import ProbeState, ProbeStatus

from potluck_app.words.daemon_texts import translated
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

_GROUPS = {
    ProbeState.SEEN: QT_TRANSLATE_NOOP("", "Detecting something now"),
    ProbeState.FAILED: QT_TRANSLATE_NOOP("", "Not working"),
    ProbeState.WATCHING: QT_TRANSLATE_NOOP("", "Active, nothing detected"),
    ProbeState.ASLEEP: QT_TRANSLATE_NOOP("", "Resting while Potluck is not serving"),
    ProbeState.UNAVAILABLE: QT_TRANSLATE_NOOP("", "Not available on this computer"),
    ProbeState.OFF: QT_TRANSLATE_NOOP("", "Off in your settings"),
    ProbeState.UNKNOWN: QT_TRANSLATE_NOOP("", "Known only to a newer version"),
}


@dataclass(frozen=True, slots=True)
class ProbeGroup:
    """Detectors in the same state."""

    heading: str
    is_problem: bool
    probes: tuple[tuple[str, str], ...]  # name, detail


def watching(probes: Sequence[ProbeStatus]) -> str:
    """Return all detectors in one line; empty if the daemon has none to show."""
    if not probes:
        return ""
    failed = sum(probe.state is ProbeState.FAILED for probe in probes)
    if failed:
        return tr("Watching for games and activity (%n detector(s) not working)", "", failed)
    if any(probe.state in (ProbeState.WATCHING, ProbeState.SEEN) for probe in probes):
        return tr("Watching for games and activity")
    return tr("Detectors are resting")


def probe_groups(probes: Sequence[ProbeStatus]) -> tuple[ProbeGroup, ...]:
    """Return the groups that have members, the most important first."""
    groups = (
        ProbeGroup(
            tr(heading),
            state is ProbeState.FAILED,
            tuple((translated(probe.name), translated(probe.detail)) for probe in probes if probe.state is state),
        )
        for state, heading in _GROUPS.items()
    )
    return tuple(group for group in groups if group.probes)
