"""Limits how much one peer may ask of us in a minute. Pure."""

from __future__ import annotations

from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError

_WINDOW_S = 60.0


class RateLimiter:
    """Allows each peer `most` units a minute; `now` is in seconds of a steady clock."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._window = 0
        self._used: dict[PeerId, int] = {}

    def check(self, peer: PeerId, amount: int, now: float) -> None:
        """Count `amount`. Raises RemoteError BUSY, which says when to come back."""
        window = int(now // _WINDOW_S)
        if window != self._window:  # forget all peers with the window
            self._window, self._used = window, {}
        used = self._used.get(peer, 0) + amount
        if used > self._most:
            after_s = round((window + 1) * _WINDOW_S - now, 1)
            raise RemoteError(Code.BUSY, "too many questions about the directory", retry_after_s=after_s)
        self._used[peer] = used
