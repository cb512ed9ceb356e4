"""From sightings to evidence: certain ones count at once, likely ones only when a second look agrees. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from potluck_daemon.policy import Evidence, Presence
from potluck_daemon.presence.probe import Sighting

_SLACK = 0.8  # of the interval: a timer may fire a little early


@dataclass(frozen=True, slots=True)
class Track:
    """What every probe saw last, and since when each likely thing has been seen without a break."""

    presence: Presence = field(default_factory=Presence)
    seen: Mapping[str, tuple[Sighting, ...]] = field(default_factory=dict)  # probe -> its last report
    first_seen: Mapping[tuple[str, Sighting], float] = field(default_factory=dict)


def observe(
    track: Track, probe: str, sightings: tuple[Sighting, ...], now: float, *, likely_interval_s: float
) -> Track:
    """The track after one report of `probe`. An empty report also stands for a probe that sleeps or fails."""
    seen = {**track.seen, probe: sightings}
    first_seen = {
        (name, sighting): track.first_seen.get((name, sighting), now)
        for name, reported in seen.items()
        for sighting in reported
    }
    confirmed = [
        sighting
        for (_, sighting), first in first_seen.items()
        if sighting.is_certain or now - first >= likely_interval_s * _SLACK
    ]
    return Track(_presence_after(track.presence, _strongest(confirmed), now), seen, first_seen)


def forget_quiet(track: Track) -> Track:
    """The user said "resume": do not wait any longer for a game that is over."""
    return replace(track, presence=replace(track.presence, last=None))


def _strongest(sightings: list[Sighting]) -> Evidence | None:
    if not sightings:
        return None
    best = max(sightings, key=lambda sighting: sighting.is_certain)  # the earliest seen among equals
    return Evidence(best.reason, best.who, best.is_certain)


def _presence_after(before: Presence, evidence: Evidence | None, now: float) -> Presence:
    if evidence == before.evidence:
        return before
    if evidence is None:
        return Presence(last=before.evidence, ended_at=now)
    if before.evidence is None:
        return Presence(evidence, since=now)
    return replace(before, evidence=evidence)  # another one took over; the device has been wanted all along
