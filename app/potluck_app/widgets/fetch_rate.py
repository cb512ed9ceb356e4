"""The speed of a download and the time left. Pure: it takes how far the download is, and when."""

from __future__ import annotations

from collections import deque

_WINDOW_S = 15.0  # a line's latest speed predicts the next seconds best
_LEAST_S = 2.0  # a shorter time is too noisy


class FetchRate:
    """The speed of one download; a smaller number of bytes begins another download."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def add(self, done: int, now: float) -> None:
        """Take the number of bytes that have come. `now`: seconds of a monotonic clock."""
        if self._marks and done < self._marks[-1][1]:
            self._marks.clear()
        self._marks.append((now, done))
        while now - self._marks[0][0] > _WINDOW_S and len(self._marks) > 2:
            self._marks.popleft()

    @property
    def bytes_per_s(self) -> float:
        """Return the speed; 0 while it is unknown or nothing comes."""
        if not self._marks:
            return 0.0
        (began, before), (now, done) = self._marks[0], self._marks[-1]
        return (done - before) / (now - began) if now - began >= _LEAST_S else 0.0

    def left_s(self, total: int) -> float | None:
        """Return the seconds left, or None while that is unknown."""
        rate = self.bytes_per_s
        return max(total - self._marks[-1][1], 0) / rate if rate > 0.0 else None
