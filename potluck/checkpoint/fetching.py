"""Measures and limits this process's downloads: how much is done, how fast, and the highest speed allowed.

Downloads count bytes as they arrive; pages that show progress read the counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_MEASURED_BYTES = 1 << 20  # a smaller file measures latency rather than bandwidth
_NEWEST_WEIGHT = 0.5


class Fetching:
    """The progress of files that are being downloaded, including finished ones until all have ended.

    Attributes:
        cap_bytes_s: limit for all downloads together; 0: no limit.
        bytes_s: speed of recent files; 0: unknown.
    """

    def __init__(self) -> None:
        self.cap_bytes_s = 0.0
        self.bytes_s = 0.0
        self._free_at = 0.0  # when the next bytes may come without exceeding the limit
        self._lock = threading.Lock()
        self._num_open = 0
        self._done_bytes = 0
        self._total_bytes = 0

    @contextmanager
    def file(self, done_bytes: int, total_bytes: int) -> Iterator[None]:
        """Count one file as open within the context; `done_bytes` of it were here before."""
        with self._lock:
            if self._num_open == 0:
                self._done_bytes = self._total_bytes = 0
            self._num_open += 1
            self._done_bytes += done_bytes
            self._total_bytes += total_bytes
        begin = time.monotonic()
        try:
            yield
            self._measure(total_bytes - done_bytes, time.monotonic() - begin)
        finally:
            with self._lock:
                self._num_open -= 1

    def count(self, num_bytes: int) -> None:
        """Count bytes that arrived over a connection that keeps to the limit by itself."""
        with self._lock:
            self._done_bytes += num_bytes

    def add(self, num_bytes: int) -> None:
        """Count bytes that arrived. Blocks the caller as long as the limit requires, so it reads no more meanwhile."""
        with self._lock:
            self._done_bytes += num_bytes
            if self.cap_bytes_s <= 0:
                return
            self._free_at = max(self._free_at, time.monotonic()) + num_bytes / self.cap_bytes_s
            wait_s = self._free_at - time.monotonic()
        time.sleep(wait_s)

    def _measure(self, num_bytes: int, seconds: float) -> None:
        if num_bytes >= _MEASURED_BYTES and seconds > 0:
            now = num_bytes / seconds
            self.bytes_s = now if not self.bytes_s else self.bytes_s + _NEWEST_WEIGHT * (now - self.bytes_s)

    def progress(self) -> tuple[int, int] | None:
        """Return bytes done and in total, or None while nothing is downloaded."""
        with self._lock:
            return (self._done_bytes, self._total_bytes) if self._num_open else None


FETCHING = Fetching()
"""The one of this process, because downloads happen far below the code that shows them."""
