"""How fast something is fetched, and how long the rest takes. Pure: it is told how far it is, and when."""

from __future__ import annotations

from collections import deque

_WINDOW_S = 15.0  # what a home's line did lately says most about what it will do next
_LEAST_S = 2.0  # a shorter time says nothing


class FetchRate:
    """Of one fetch; bytes that become fewer begin another one."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def add(self, done: int, now: float) -> None:
        """`done`: bytes that are here. `now`: seconds of a monotonic clock."""
        if self._marks and done < self._marks[-1][1]:
            self._marks.clear()
        self._marks.append((now, done))
        while now - self._marks[0][0] > _WINDOW_S and len(self._marks) > 2:
            self._marks.popleft()

    @property
    def bytes_per_s(self) -> float:
        """0 while it is not known, and while nothing comes."""
        if not self._marks:
            return 0.0
        (began, before), (now, done) = self._marks[0], self._marks[-1]
        return (done - before) / (now - began) if now - began >= _LEAST_S else 0.0

    def left_s(self, total: int) -> float | None:
        """None while nobody can tell."""
        rate = self.bytes_per_s
        return max(total - self._marks[-1][1], 0) / rate if rate > 0.0 else None
