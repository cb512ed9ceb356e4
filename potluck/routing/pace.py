"""When to look for something better in mid-session, and when it is worth a move. Pure: times come as arguments.

    steps are as promised: look every minute       steps take more than twice that: look after a few of them
    found: at most 0.6 of what is seen here, and 10 ms less: move       nothing found: wait twice as long

A move costs a replay, so the bars for going are high; and a server that was left for being slow is remembered as slow,
with the ratio fading, so that nobody goes back and forth between two of them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from potluck.protocol.blocks import PeerId

_RECENT_STEPS = 7
_STEPS_TO_JUDGE = 6
_SLOW = 2.0  # times what was promised
_MIN_SLOW_S = 0.02  # beyond the promise: less is noise of the network and of schedulers
_WORTH = 0.6
_MIN_GAIN_S = 0.01
_LOOK_EVERY_S = 60.0
_PAUSE_S, _MAX_PAUSE_S = 5.0, 300.0
_HALF_LIFE_S = 120.0
_MAX_RATIO = 16.0


@dataclass(slots=True)
class Pace:
    """One server's decode steps in one session, as the client sees them.

    `promised_s`: what the route's cost said of a step.
    """

    promised_s: float
    _recent_s: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT_STEPS))
    _look_at: float | None = None
    _pause_s: float = _PAUSE_S

    def add(self, step_s: float) -> None:
        self._recent_s.append(step_s)

    @property
    def seen_s(self) -> float:
        """What steps take lately, in the middle: one that took long is no reason for anything."""
        return sorted(self._recent_s)[len(self._recent_s) // 2] if self._recent_s else 0.0

    @property
    def is_slow(self) -> bool:
        """It does not keep what was promised."""
        is_slow = self.seen_s > max(_SLOW * self.promised_s, self.promised_s + _MIN_SLOW_S)
        return is_slow and len(self._recent_s) >= _STEPS_TO_JUDGE

    @property
    def ratio(self) -> float:
        """Times seen over times promised."""
        return min(self.seen_s / self.promised_s, _MAX_RATIO) if self.promised_s > 0 else 1.0

    def is_due(self, now: float) -> bool:
        """Whether to look for something better now; says yes once."""
        if self._look_at is None:
            self._look_at = now + _LOOK_EVERY_S
        if len(self._recent_s) < _STEPS_TO_JUDGE or (now < self._look_at and not self._is_first_alarm()):
            return False
        self._look_at = now + self._pause_s if self.is_slow else now + max(_LOOK_EVERY_S, self._pause_s)
        self._pause_s = min(2 * self._pause_s, _MAX_PAUSE_S)
        return True

    def is_worth(self, cost_s: float) -> bool:
        """Whether to go where a step costs `cost_s`."""
        return cost_s <= min(_WORTH * self.seen_s, self.seen_s - _MIN_GAIN_S)

    def _is_first_alarm(self) -> bool:
        return self.is_slow and self._pause_s == _PAUSE_S


@dataclass(slots=True)
class Slowness:
    """How much slower than promised servers were; fades by half every two minutes."""

    _seen: dict[PeerId, tuple[float, float]] = field(default_factory=dict)  # ratio, and when

    def note(self, peer: PeerId, ratio: float, now: float) -> None:
        if ratio > _SLOW:
            self._seen[peer] = ratio, now
        else:
            self._seen.pop(peer, None)

    def current(self, now: float) -> dict[PeerId, float]:
        """Ratios above 1."""
        faded = {peer: ratio * 0.5 ** ((now - when) / _HALF_LIFE_S) for peer, (ratio, when) in self._seen.items()}
        for peer in [peer for peer, ratio in faded.items() if ratio <= 1.0]:
            del self._seen[peer], faded[peer]
        return faded
