"""What a failed call means for the session and for the server: pure decisions, no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from potluck.client.config import ClientConfig
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError

_BUSY_S = 5.0  # keep away from a full server that names no time of its own
_MIN_AWAY_S = 0.5  # whatever it says: at once it would only be chosen again
_MOVING_S = 2.0  # from one that serves other blocks than it announced: it moves, and its record follows
_LEAVING_S = 30.0  # and from one that leaves, until its record says so too


class Action(Enum):
    GIVE_UP = auto()  # no honest server would answer otherwise: tell the caller
    REOPEN = auto()  # the same server, a new session, the history replayed
    REPLACE = auto()  # another server


@dataclass(frozen=True, slots=True)
class Verdict:
    action: Action
    is_fault: bool = False  # the server failed, so that its ban grows with each time
    away_s: float = 0.0  # keep away for this long, if it is no fault
    for_this_session: bool = False  # it refuses this session, others may be welcome
    has_left: bool = False  # and says so in the directory: if it is announced after that, it is back


_VERDICTS = {
    Code.BAD_REQUEST: Verdict(Action.GIVE_UP),
    Code.NOT_A_MEMBER: Verdict(Action.GIVE_UP),
    Code.TOO_LONG: Verdict(Action.REPLACE, for_this_session=True),
    Code.ROLLBACK: Verdict(Action.REOPEN),
    Code.BUSY: Verdict(Action.REPLACE, away_s=_BUSY_S),
    Code.NO_MEMORY: Verdict(Action.REPLACE, away_s=_BUSY_S),
    Code.NOT_SERVED: Verdict(Action.REPLACE, away_s=_MOVING_S),
    Code.DRAINING: Verdict(Action.REPLACE, away_s=_LEAVING_S, has_left=True),
    Code.UNREACHABLE: Verdict(Action.REPLACE, is_fault=True),
    Code.BAD_REPLY: Verdict(Action.REPLACE, is_fault=True),
    Code.INTERNAL: Verdict(Action.REPLACE, is_fault=True),
}


def judge(error: RemoteError) -> Verdict:
    """What to do after `error`; the server's own `retry_after_s` overrides our guess."""
    verdict = _VERDICTS[error.code]
    if verdict.away_s and error.retry_after_s is not None:
        return replace(verdict, away_s=max(error.retry_after_s, _MIN_AWAY_S))
    return verdict


@dataclass(slots=True)
class Bans:
    """Which servers to keep away from, and until when. `now` is monotonic seconds."""

    config: ClientConfig
    _until_s: dict[PeerId, float] = field(default_factory=dict)
    _failures: dict[PeerId, int] = field(default_factory=dict)
    _left: set[PeerId] = field(default_factory=set)

    def record(self, peer: PeerId, verdict: Verdict, now: float) -> None:
        if verdict.has_left:
            self._left.add(peer)
        if verdict.is_fault:
            self._failures[peer] = self._failures.get(peer, 0) + 1
            self._until_s[peer] = now + self.config.ban_after(self._failures[peer])
        elif verdict.away_s:
            self._until_s[peer] = max(self._until_s.get(peer, 0.0), now + verdict.away_s)

    def clear(self, peer: PeerId) -> None:
        """It did its work: forget what was."""
        if self._failures or self._until_s:
            self._failures.pop(peer, None)
            self._until_s.pop(peer, None)
            self._left.discard(peer)

    def forgive(self, peers: Iterable[PeerId]) -> None:
        """Let these be tried again now; a further failure still counts as one more in a row."""
        for peer in peers:
            self._until_s.pop(peer, None)
            self._left.discard(peer)

    def current(self, now: float) -> frozenset[PeerId]:
        return frozenset(peer for peer, until in self._until_s.items() if until > now)

    def left(self) -> frozenset[PeerId]:
        """Those that said goodbye and were not heard of since."""
        return frozenset(self._left)

    def faulty(self, now: float) -> frozenset[PeerId]:
        """Those banned for a fault of theirs, who may have come back."""
        return frozenset(peer for peer in self.current(now) if self._failures.get(peer))
