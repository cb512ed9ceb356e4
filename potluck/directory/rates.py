"""Limits how much one person may ask of us in a minute. Pure."""

from __future__ import annotations

from potluck.protocol.blocks import PersonId
from potluck.protocol.codes import Code, RemoteError

_WINDOW_S = 60.0


class RateLimiter:
    """Allows each person `most` units a minute; `now` is in seconds of a steady clock."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._window = 0
        self._used: dict[PersonId, int] = {}

    def allows(self, person: PersonId, amount: int, now: float) -> bool:
        """Count `amount` if the person has so much left; return whether that is so."""
        window = int(now // _WINDOW_S)
        if window != self._window:  # forget all people with the window
            self._window, self._used = window, {}
        used = self._used.get(person, 0) + amount
        if used > self._most:
            return False
        self._used[person] = used
        return True

    def check(self, person: PersonId, amount: int, now: float) -> None:
        """Count `amount`. Raises RemoteError BUSY, which says when to come back."""
        if not self.allows(person, amount, now):
            after_s = round((self._window + 1) * _WINDOW_S - now, 1)
            raise RemoteError(Code.BUSY, "too many questions about the directory", retry_after_s=after_s)
