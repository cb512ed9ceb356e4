"""How far the downloads of this process are. Counted where bytes arrive, read by whoever shows progress."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Fetching:
    """Of the files that are being fetched now, and of those before them as long as it goes on without a pause."""

    def __init__(self) -> None:
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
        try:
            yield
        finally:
            with self._lock:
                self._num_open -= 1

    def add(self, num_bytes: int) -> None:
        with self._lock:
            self._done_bytes += num_bytes

    def progress(self) -> tuple[int, int] | None:
        """Bytes done and in total; None while nothing is fetched."""
        with self._lock:
            return (self._done_bytes, self._total_bytes) if self._num_open else None


FETCHING = Fetching()
"""Of this process: what fetches lies deep below what shows it."""
