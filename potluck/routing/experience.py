"""What a client learns of servers in its own sessions: how fast they are, how silent they may be, what they cached.

    steps are as fast as promised: look every minute      steps take more than twice as long: look after a few of them
    another costs at most 0.6 times as much and 10 ms less: move           nothing found: wait twice as long

A move costs a replay, so the bars are high. A server that was left for being slow stays marked as slow for a while, so
that a session does not go back and forth between two of them.

A server keeps the beginning of a prompt only for the client that sent it and for the span of that session, so each
client remembers which servers have which beginnings. A beginning is a chain of fingerprints, one for each page of
tokens. Pure: times are arguments.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from potluck.protocol.blocks import PeerId, Span

_RECENT_STEPS = 7
_STEPS_TO_EXPECT = 3  # steps that are needed to expect anything of the next one
_LATE = 8.0  # times the median of recent steps; then a probe is sent, which is a small message
_MIN_SILENCE_S = 0.2
_LATE_PROBE = 4.0  # times the longest recent step; at a load of 15 on two cores, a step takes up to five medians
_MIN_PROBE_S = 0.3  # two of them without an answer end the wait
_MIN_OPENING_S = 0.4  # allowance for the first answer of a session, besides the work; a server may have to make room
_LATE_OPENING = 4.0  # times what its first answer was to take
_MAX_STEP_S = 2.0  # more is a penalty, such as that of a server without room, and no time
_UPLOAD_BPS = 5e6  # assumed for a client whose own link nobody measured; few are slower
_STEPS_TO_JUDGE = 6
_SLOW = 2.0  # times the promised step time
_MIN_SLOW_S = 0.02  # least excess over the promised step time; less is noise of the network and of schedulers
_WORTH = 0.6
_MIN_GAIN_S = 0.01
_LOOK_EVERY_S = 60.0
_PAUSE_S, _MAX_PAUSE_S = 5.0, 300.0
_HALF_LIFE_S = 120.0
_MAX_RATIO = 16.0
_KEPT = 0.8  # weight of what is known of a time


def faded(known_s: float, latest_s: float) -> float:
    """Return what is known of a time that varies, with its latest value; `known_s`: 0 if nothing was."""
    return _KEPT * known_s + (1 - _KEPT) * latest_s if known_s else latest_s


@dataclass(frozen=True, slots=True)
class Patience:
    """The wait for an answer before a probe, and for how long `probes` in a row may stay unanswered."""

    silence_s: float
    probe_s: float  # wait for each probe
    probes: int


def opening_silence_s(step_s: float, compute_s: float, sent_bytes: int) -> float:
    """Return after how long without an answer a session is opened at another server, too.

    Args:
        step_s: promised for a decode step, with the measured way there and back.
        compute_s: that the server needs for the first message by its own measurement.
        sent_bytes: of the first message, all of which may still be on the client's own link.
    """
    promised_s = min(step_s, _MAX_STEP_S)
    return max(_LATE_OPENING * promised_s, _MIN_OPENING_S) + _LATE_OPENING * compute_s + 8 * sent_bytes / _UPLOAD_BPS


@dataclass(slots=True)
class Pace:
    """The speed of one server in one session, as the client sees it.

    Attributes:
        promised_s: the cost of a decode step when the route was chosen.
        recent_s: the latest step times.
        slow_s: steps that take longer are clearly slower than promised.
    """

    promised_s: float
    recent_s: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT_STEPS))
    slow_s: float = field(init=False)
    _look_at: float | None = None
    _pause_s: float = _PAUSE_S

    def __post_init__(self) -> None:
        self.slow_s = max(_SLOW * self.promised_s, self.promised_s + _MIN_SLOW_S)

    @property
    def seen_s(self) -> float:
        """Return the median of the latest step times, so that one slow step does not count."""
        return sorted(self.recent_s)[len(self.recent_s) // 2] if self.recent_s else 0.0

    def patience(self, most: Patience) -> Patience:
        """Return how long the next decode step may be silent: not above `most`, which holds while little is known."""
        if len(self.recent_s) < _STEPS_TO_EXPECT:
            return most
        silence_s = max(_LATE * self.seen_s, _MIN_SILENCE_S)
        probe_s = max(_LATE_PROBE * max(self.recent_s), _MIN_PROBE_S)
        return Patience(min(silence_s, most.silence_s), min(probe_s, most.probe_s), most.probes)

    @property
    def is_slow(self) -> bool:
        """Return whether recent steps are clearly slower than promised."""
        return self.seen_s > self.slow_s and len(self.recent_s) >= _STEPS_TO_JUDGE

    @property
    def ratio(self) -> float:
        """Return the seen step time divided by the promised one."""
        return min(self.seen_s / self.promised_s, _MAX_RATIO) if self.promised_s > 0 else 1.0

    def is_due(self, now: float) -> bool:
        """Return whether to look for a faster server now; each due time is reported once."""
        if self._look_at is None:
            self._look_at = now + _LOOK_EVERY_S
        if len(self.recent_s) < _STEPS_TO_JUDGE or (now < self._look_at and not self._is_first_alarm()):
            return False
        self._look_at = now + self._pause_s if self.is_slow else now + max(_LOOK_EVERY_S, self._pause_s)
        self._pause_s = min(2 * self._pause_s, _MAX_PAUSE_S)
        return True

    def is_worth(self, cost_s: float) -> bool:
        """Return whether to move to a server where a step costs `cost_s`."""
        return cost_s <= min(_WORTH * self.seen_s, self.seen_s - _MIN_GAIN_S)

    def _is_first_alarm(self) -> bool:
        return self.is_slow and self._pause_s == _PAUSE_S


@dataclass(slots=True)
class Slowness:
    """The ratios by which servers were slower than promised; they fade by half every two minutes."""

    _seen: dict[PeerId, tuple[float, float]] = field(default_factory=dict)  # ratio and when it was seen

    def record(self, peer: PeerId, ratio: float, now: float) -> None:
        if ratio > _SLOW:
            self._seen[peer] = ratio, now
        else:
            self._seen.pop(peer, None)

    def current(self, now: float) -> dict[PeerId, float]:
        """Return the faded ratios that are still above 1."""
        faded = {peer: ratio * 0.5 ** ((now - when) / _HALF_LIFE_S) for peer, (ratio, when) in self._seen.items()}
        for peer in [peer for peer, ratio in faded.items() if ratio <= 1.0]:
            del self._seen[peer], faded[peer]
        return faded


STICKINESS = 0.7  # a route with a known beginning may cost 1 / 0.7 times as much as the best one
_MAX_BEGINNINGS = 1024
_LIVES_S = 600.0  # servers drop beginnings that nobody uses

Parts = tuple[tuple[PeerId, Span], ...]


@dataclass(frozen=True, slots=True)
class _Memory:
    """A route and until when its servers are likely to have the beginning."""

    parts: Parts
    until_s: float


class Affinity:
    """The routes of the latest sessions by their beginnings, the least recently used first."""

    def __init__(self) -> None:
        self._routes: OrderedDict[bytes, _Memory] = OrderedDict()  # fingerprint of a beginning -> its route

    def remember(self, chain: Sequence[bytes], parts: Parts, now: float) -> None:
        """Record that the servers of `parts` computed a prompt with these fingerprints."""
        for key in chain:
            self._routes[key] = _Memory(parts, now + _LIVES_S)
            self._routes.move_to_end(key)
        while len(self._routes) > _MAX_BEGINNINGS:
            self._routes.popitem(last=False)

    def find(self, chain: Sequence[bytes], now: float) -> Parts | None:
        """Return the route of the longest known beginning, or None."""
        for key in reversed(chain):
            memory = self._routes.get(key)
            if memory is not None and now < memory.until_s:
                return memory.parts
        return None
