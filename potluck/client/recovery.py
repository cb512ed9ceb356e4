"""Decides what a failed call means for the session and for the server. It does no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto

from potluck.client.config import ClientConfig
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError

_BUSY_S = 5.0  # how long to avoid a full server that names no time itself
_MIN_AWAY_S = 0.5  # shortest time to avoid a server, or it would be chosen again at once
_MOVING_S = 2.0  # how long to avoid a server that serves other blocks than it announced; its new record follows
_LEAVING_S = 30.0  # how long to avoid a server that leaves; its record says so by then
_UNPROVEN_S = 5.0  # how long to avoid a server that could not be reached; others' reports tell more by then
_OTHER_VERSION_S = 600.0  # how long to avoid a server that has to be updated first


class Action(Enum):
    GIVE_UP = auto()  # every honest server would answer the same: tell the caller
    REOPEN = auto()  # the same server with a new session and the history replayed
    REPLACE = auto()  # another server


@dataclass(frozen=True, slots=True)
class Verdict:
    action: Action
    is_fault: bool = False  # the server failed; its ban grows each time
    is_unproven: bool = False  # the server or the way to it failed; a new connection tells which
    away_s: float = 0.0  # how long to avoid a server that is not at fault
    for_this_session: bool = False  # the server refuses only this session
    has_left: bool = False  # the server left and may come back


_VERDICTS = {
    Code.BAD_REQUEST: Verdict(Action.GIVE_UP),
    Code.NOT_A_MEMBER: Verdict(Action.GIVE_UP),
    Code.TOO_LONG: Verdict(Action.REPLACE, for_this_session=True),
    Code.REFUSED: Verdict(Action.REPLACE, for_this_session=True),
    Code.ROLLBACK: Verdict(Action.REOPEN),
    Code.NO_ADAPTER: Verdict(Action.REOPEN),
    Code.BUSY: Verdict(Action.REPLACE, away_s=_BUSY_S),
    Code.NO_MEMORY: Verdict(Action.REPLACE, away_s=_BUSY_S),
    Code.WRONG_VERSION: Verdict(Action.REPLACE, away_s=_OTHER_VERSION_S),
    Code.NOT_SERVED: Verdict(Action.REPLACE, away_s=_MOVING_S),
    Code.DRAINING: Verdict(Action.REPLACE, away_s=_LEAVING_S, has_left=True),
    Code.UNREACHABLE: Verdict(Action.REPLACE, is_unproven=True, away_s=_UNPROVEN_S),
    Code.BAD_REPLY: Verdict(Action.REPLACE, is_fault=True),
    Code.INTERNAL: Verdict(Action.REPLACE, is_fault=True),
}


NO_ANSWER = Verdict(Action.REPLACE, is_fault=True)
"""The verdict on an unproven server that does not answer over a new connection either."""


def judge(error: RemoteError) -> Verdict:
    """Return the consequences of `error`; the server's own `retry_after_s` overrides our guess."""
    verdict = _VERDICTS[error.code]
    if verdict.away_s and error.retry_after_s is not None:
        return replace(verdict, away_s=max(error.retry_after_s, _MIN_AWAY_S))
    return verdict


@dataclass(slots=True)
class _Ban:
    """The failures of one server. Times are in seconds of a monotonic clock."""

    until_s: float = 0.0
    failures: int = 0  # failures in a row
    fault_until_s: float = 0.0  # the end of a ban for a fault
    may_recover: bool = False  # may work again before its time is over; a ping tells


class Bans:
    """The servers to avoid, each until some time. `now` is in seconds of a monotonic clock."""

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self._bans: dict[PeerId, _Ban] = {}

    def record(self, peer: PeerId, verdict: Verdict, now: float) -> None:
        """Record a failure. All calls that were on their way when a server failed count as one fault."""
        ban = self._bans.setdefault(peer, _Ban())
        ban.may_recover |= verdict.is_fault or verdict.is_unproven or verdict.has_left
        if verdict.is_fault and now >= ban.fault_until_s:
            ban.failures += 1
            ban_s = self._config.ban_s * 2.0 ** min(ban.failures - 1, 16)
            ban.until_s = ban.fault_until_s = now + min(ban_s, self._config.max_ban_s)
        elif verdict.away_s and not verdict.is_fault:
            ban.until_s = max(ban.until_s, now + verdict.away_s)

    def clear(self, peer: PeerId) -> None:
        """Forget the failures of a server that did its work."""
        self._bans.pop(peer, None)

    def forgive(self, peers: Iterable[PeerId]) -> None:
        """Allow these servers again; a further failure still counts as one more in a row."""
        for peer in peers:
            if (ban := self._bans.get(peer)) is not None:
                self._bans[peer] = _Ban(failures=ban.failures)

    def current(self, now: float) -> frozenset[PeerId]:
        return frozenset(peer for peer, ban in self._bans.items() if ban.until_s > now)

    def recovering(self, now: float) -> frozenset[PeerId]:
        """Return the servers to avoid that may work again before their time is over: a ping tells."""
        return frozenset(peer for peer, ban in self._bans.items() if ban.until_s > now and ban.may_recover)
