"""Returns free memory of the heap to the system."""

from __future__ import annotations

import ctypes


def trim_heap() -> None:
    """Return freed memory, which the C library caches, to the system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only
    if trim is not None:
        trim(0)
