"""Weights that are pages of a mapped file: reads them ahead and drops them after use.

Dropping is free because the file still has the bytes. Dropping anonymous memory would zero it, so only ranges that the
kernel lists as mapped from a file are touched. On systems other than Linux nothing is read ahead or dropped; the system
reclaims clean pages by itself. `trim_heap` returns the heap's free memory.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

PAGE = mmap.PAGESIZE
_MAPS = Path("/proc/self/maps")
_DRIVERS = ("/dev/nvidia", "/dev/zero", "/dev/dri")  # their mappings are no files but, for example, pinned memory
_PAGEOUT, _POPULATE_READ = 21, 22  # madvise(2); Python has no constants for them
_SIDE_BY_SIDE = min(4, os.cpu_count() or 1)
_CHUNK_BYTES = 8 << 20  # per system call; between two calls a reader can stop if the pages are no longer needed


@dataclass(frozen=True, slots=True)
class MappedRange:
    """Whole pages [start, end) of this process that are mapped from a file."""

    start: int
    end: int

    @property
    def num_bytes(self) -> int:
        return self.end - self.start

    def chunks(self) -> Iterable[MappedRange]:
        for start in range(self.start, self.end, _CHUNK_BYTES):
            yield MappedRange(start, min(start + _CHUNK_BYTES, self.end))

    def ask(self) -> None:
        """Read and map the pages before returning. It never raises: if it fails, touching the pages reads them."""
        if _madvise(self, _POPULATE_READ):  # kernels before 5.14 refuse it
            _madvise(self, mmap.MADV_WILLNEED)

    def drop(self, *, evict: bool) -> None:
        """Remove the pages from this process's memory, and with `evict` also from the system's cache of files."""
        if evict:
            _madvise(self, _PAGEOUT)
        _madvise(self, mmap.MADV_DONTNEED)


def ask_all(ranges: Iterable[MappedRange]) -> None:
    """Read all ranges, several at a time, which keeps a disk busy and spreads the cost of mapping."""
    _side_by_side(MappedRange.ask, ranges)


def drop_all(ranges: Iterable[MappedRange]) -> None:
    """Drop all ranges from this process's memory, several at a time."""
    _side_by_side(lambda pages: pages.drop(evict=False), ranges)


def _side_by_side(work: Callable[[MappedRange], None], ranges: Iterable[MappedRange]) -> None:
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        for _ in pool.map(work, (chunk for pages in ranges for chunk in pages.chunks())):
            pass


def mapped_ranges(tensors: Iterable[Tensor]) -> tuple[MappedRange, ...] | None:
    """Return the pages that hold only these tensors, neighbours joined, or None if one is not mapped from a file."""
    tensors = list(tensors)
    if any(tensor.device.type != "cpu" for tensor in tensors):
        return None  # a device's addresses belong to its driver, and nobody else may touch them
    files = _file_mappings()
    wanted = sorted((tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes) for tensor in tensors if tensor.nbytes)
    joined: list[tuple[int, int]] = []
    for start, end in wanted:
        if not any(mapping.start <= start and end <= mapping.end for mapping in files):
            return None
        if joined and start - joined[-1][1] < PAGE:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    whole = [MappedRange(-(-start // PAGE) * PAGE, end // PAGE * PAGE) for start, end in joined]
    return tuple(pages for pages in whole if pages.num_bytes > 0)


def trim_heap() -> None:
    """Return freed memory, which the C library caches, to the system."""
    trim = getattr(_libc(), "malloc_trim", None)  # glibc only
    if trim is not None:
        trim(0)


def _file_mappings() -> list[MappedRange]:
    """Return the ranges that the kernel lists as mapped from files."""
    if sys.platform != "linux":
        return []
    found = []
    for line in _MAPS.read_text().splitlines():
        addresses, _, _, _, inode, *path = line.split(maxsplit=5)
        if inode != "0" and not (path and path[0].startswith(_DRIVERS)):
            start, _, end = addresses.partition("-")
            found.append(MappedRange(int(start, 16), int(end, 16)))
    return found


def _madvise(pages: MappedRange, advice: int) -> int:
    return int(_libc().madvise(ctypes.c_void_p(pages.start), ctypes.c_size_t(pages.num_bytes), ctypes.c_int(advice)))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)
