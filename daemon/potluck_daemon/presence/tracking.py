"""Turns sightings into evidence. Pure.

A certain sighting counts at once, a likely one when a second look agrees, a weak one when a second probe sees the same
program. A thing that becomes weak for a moment, such as a game that loads, stays evidence. The most certain probe
decides whether somebody uses the computer; among equals, the one that sees somebody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from potluck_control.states import Certainty, Reason

from potluck.sentences import Sentence
from potluck_daemon.policy.model import EndedEvidence, Evidence, Presence
from potluck_daemon.presence.probe import Sighting

_SLACK = 0.8  # share of the interval that is enough: a timer may fire a little early
_USE = (Reason.USER_ACTIVE, Reason.AWAY)
_MAX_OVER = 32  # more things than end within the longest quiet time
_Thing = tuple[Reason, str | Sentence, str]  # reason, who, GPU
_Lasting = tuple[Sentence, Sighting]  # a probe, and what it sees, without certainty


@dataclass(frozen=True, slots=True)
class SightingSpan:
    """The time over which a probe has seen a thing in every one of its looks."""

    first: float
    last: float
    likely_since: float | None = None  # the first look that found it at least likely


@dataclass(frozen=True, slots=True)
class Track:
    """The last report of every probe, and for how long it has seen each thing."""

    presence: Presence = field(default_factory=Presence)
    seen: Mapping[Sentence, tuple[Sighting, ...]] = field(default_factory=dict)  # probe -> its last report
    lasting: Mapping[_Lasting, SightingSpan] = field(default_factory=dict)

    @property
    def has_unconfirmed(self) -> bool:
        """True if something likely waits for a second look."""
        confirmed = set(map(_thing, self.presence.evidence))
        found = (sighting for reported in self.seen.values() for sighting in reported)
        likely = (item for item in found if item.certainty is Certainty.LIKELY and item.reason not in _USE)
        return any(_thing(item) not in confirmed for item in likely)


def observe(
    track: Track, probe: Sentence, sightings: tuple[Sighting, ...] | None, now: float, *, likely_interval_s: float
) -> Track:
    """Return the track after one report of `probe`. `sightings` None: it no longer works."""
    seen = {name: reported for name, reported in track.seen.items() if name != probe}
    if sightings is not None:
        seen[probe] = sightings
    strongest = {
        (name, _lasting(sighting)): sighting
        for name, reported in seen.items()
        for sighting in sorted(reported, key=lambda item: item.certainty.rank)
        if not sighting.is_unsure
    }
    lasting = {
        key: _span_after(track.lasting.get(key), sighting, now, is_new=key[0] == probe)
        for key, sighting in strongest.items()
    }
    enough_s = likely_interval_s * _SLACK
    found: dict[_Thing, Evidence] = {}
    agreed = {key for key, span in lasting.items() if span.last - span.first >= enough_s}
    for key, span in lasting.items():
        evidence = _evidence(key, strongest[key], span, agreed, enough_s)
        if evidence is not None:
            found[_thing(evidence)] = _stronger(found.get(_thing(evidence)), evidence)
    presence = replace(_presence_after(track.presence, found, _is_away(seen), now), unsure=_unsure(seen))
    return Track(presence, seen, lasting)


def forget_quiet(track: Track) -> Track:
    """Return the track without ended things, because the user doesn't want to wait after a game that is over."""
    return replace(track, presence=replace(track.presence, over=()))


def _lasting(sighting: Sighting) -> Sighting:
    """Return the part of a sighting that stays the same from look to look while a thing lasts."""
    return replace(sighting, certainty=Certainty.WEAK, level=0.0)


def _span_after(before: SightingSpan | None, sighting: Sighting, now: float, *, is_new: bool) -> SightingSpan:
    """Return the span after a report. `is_new` False: another probe reported, so nothing is new about this thing."""
    is_likely = sighting.certainty is not Certainty.WEAK
    if before is None:
        return SightingSpan(now, now, now if is_likely else None)
    if not is_new:
        return before
    likely_since = now if is_likely and before.likely_since is None else before.likely_since
    return SightingSpan(before.first, now, likely_since)


def _evidence(
    key: _Lasting, sighting: Sighting, span: SightingSpan, agreed: set[_Lasting], enough_s: float
) -> Evidence | None:
    if sighting.reason in _USE:
        return None
    certainty = sighting.certainty
    if certainty is not Certainty.CERTAIN:
        others = (other for name, other in agreed if name != key[0] and other.reason not in _USE)
        is_shared = key in agreed and bool(sighting.app) and any(other.app == sighting.app for other in others)
        since = span.likely_since if certainty is Certainty.LIKELY else None
        is_confirmed = since is not None and span.last - since >= enough_s
        if not is_confirmed and not is_shared:
            return None
        certainty = Certainty.LIKELY
    return Evidence(sighting.reason, sighting.who, certainty, span.first, sighting.app, sighting.gpu, sighting.level)


def _thing(item: Evidence | Sighting) -> _Thing:
    return item.reason, item.who, item.gpu


def _stronger(one: Evidence | None, other: Evidence) -> Evidence:
    """Return the more certain of two sightings of one thing, else the worse, else the earlier."""
    if one is None:
        return other
    return max(one, other, key=lambda item: (item.certainty.rank, item.level, -item.since))


def _presence_after(before: Presence, found: Mapping[_Thing, Evidence], is_away: bool | None, now: float) -> Presence:
    earlier = {_thing(evidence): evidence for evidence in before.evidence}
    evidence = tuple(
        replace(item, since=min(item.since, earlier[thing].since)) if thing in earlier else item
        for thing, item in found.items()
    )
    over = {_thing(item.evidence): item for item in before.over}
    over |= {thing: EndedEvidence(item, now) for thing, item in earlier.items()}
    still = tuple(item for thing, item in over.items() if thing not in found)
    use_since = before.use_since if is_away is before.is_away else now
    return Presence(tuple(sorted(evidence, key=_order)), still[-_MAX_OVER:], is_away, use_since)


def _order(evidence: Evidence) -> tuple[int, float]:
    return -evidence.certainty.rank, evidence.since


def _is_away(seen: Mapping[Sentence, tuple[Sighting, ...]]) -> bool | None:
    found = [sighting for reported in seen.values() for sighting in reported if sighting.reason in _USE]
    if not found:
        return None
    best = max(found, key=lambda sighting: (sighting.certainty.rank, sighting.reason is Reason.USER_ACTIVE))
    return best.reason is Reason.AWAY


def _unsure(seen: Mapping[Sentence, tuple[Sighting, ...]]) -> tuple[Evidence, ...]:
    found = (sighting for reported in seen.values() for sighting in reported if sighting.is_unsure)
    return tuple(Evidence(item.reason, item.who, item.certainty, app=item.app) for item in found)
