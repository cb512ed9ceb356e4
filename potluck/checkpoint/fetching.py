"""How far the downloads of this process are, how fast they are, and how fast they may be.

Counted where bytes arrive, read by whoever shows progress.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_MEASURED_BYTES = 1 << 20  # a smaller file says more of the way than of its width
_NEWEST_WEIGHT = 0.5


class Fetching:
    """Of the files that are being fetched now, and of those before them as long as it goes on without a pause.

    Attributes:
        cap_bytes_s: what all downloads together may take; 0: no cap.
        bytes_s: what recent files came with; 0: not known.
    """

    def __init__(self) -> None:
        self.cap_bytes_s = 0.0
        self.bytes_s = 0.0
        self._free_at = 0.0  # when as much may come again, at the cap
        self._lock = threading.Lock()
        self._num_open = 0
        self._done_bytes = 0
        self._total_bytes = 0

    @contextmanager
    def file(self, done_bytes: int, total_bytes: int) -> Iterator[None]:
        """While one file is fetched, of which `done_bytes` were here before."""
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

    def add(self, num_bytes: int) -> None:
        """Count bytes that came. Waits as long as the cap wants; whoever calls then does not read on."""
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
        """Bytes done and in total; None while nothing is fetched."""
        with self._lock:
            return (self._done_bytes, self._total_bytes) if self._num_open else None


FETCHING = Fetching()
"""Of this process: what fetches lies deep below what shows it."""
