"""Safetensors files, read into memory of this process's own and checked whenever they are read again.

Nothing is mapped. A mapped page changes when somebody rewrites the file in place, so it would compute wrong tokens, and
touching a page that was cut off ends the process (SIGBUS). Bytes in memory of our own can do neither: what the digest
was computed over is what computes.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import mmap
import os
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import _TYPES
from torch import Tensor

from potluck.errors import CheckpointError
from potluck.sentences import sentence

DIGEST_HEX_DIGITS = 16
ALIGNMENT = 64  # bytes; torch aligns its memory to the same multiple
CHUNK_BYTES = 8 << 20  # read and checked at a time; the check finds them in the processor's cache
_MAX_HEADER_BYTES = 100_000_000  # the limit of safetensors itself
_SUMMED_WORDS = 8192  # 64 KiB: one sum for that much is 0.01 % of the weights
_HUGE_PAGE_BYTES = 2 << 20

FileIdentity = tuple[int, ...]
"""What changes when somebody writes to a file. That it stays the same is a sign, not a proof."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One tensor of a file, whose bytes are at [start, end)."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


class Shard:
    """An open safetensors file. It stays readable after another file took its name.

    Attributes:
        opened_as: its identity before anything was read.
    """

    def __init__(self, path: Path) -> None:
        """Open a file and read its header. Raises CheckpointError if it is missing, cut short or something else."""
        self.path = path
        with file_errors(path):
            self.handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            weakref.finalize(self, os.close, self.handle)
            self.opened_as = _identity(os.fstat(self.handle))
            self._entries = self._header()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: entry.shape for name, entry in self._entries.items()}

    def read(self, names: Iterable[str]) -> ReadTensors:
        """Return tensors in memory of their own. Raises CheckpointError."""
        found = ReadTensors()
        for name in names:
            entry, dtype = self._find(name)
            memory = host_memory(entry.end - entry.start, shift=entry.start if entry.start % dtype.itemsize == 0 else 0)
            for _ in self.chunks(entry.start, memory):
                pass
            found.add(name, memory.view(dtype).view(entry.shape), self, entry.start)
        return found

    def digested(self, name: str) -> Iterator[bytes | memoryview]:
        """Yield what `digest_tensors` digests of a tensor, piece by piece. Raises CheckpointError."""
        entry, dtype = self._find(name)
        yield digest_header(name, dtype, entry.shape)
        yield from self.pieces(entry.start, entry.end)

    def part(self, name: str, tensor: Tensor) -> FilePart:
        """Return where `tensor` is stored in this file, checked. Raises CheckpointError if it isn't."""
        entry = self._entries.get(name)
        if entry is None or entry.end - entry.start != tensor.nbytes:
            raise self._damaged()
        part = FilePart.of(self, entry.start, tensor)
        part.check()
        return part

    def chunks(self, start: int, memory: Tensor) -> Iterator[memoryview]:
        """Fill `memory`, bytes on the CPU, from `start` on; yield each piece that is there. Raises CheckpointError.

        No advice is given to the system: with it Linux caches small pages, which halves the rate (measured).
        """
        whole = bytes_of(memory)
        with file_errors(self.path):
            for first in range(0, len(whole), CHUNK_BYTES):
                chunk = whole[first : first + CHUNK_BYTES]
                done = 0
                while done < len(chunk):
                    count = os.preadv(self.handle, [chunk[done:]], start + first + done)
                    if not count:
                        raise self._damaged()
                    done += count
                yield chunk

    def pieces(self, start: int, end: int) -> Iterator[memoryview]:
        """Yield the bytes [start, end), each piece in memory of its own. Raises CheckpointError."""
        for first in range(start, end, CHUNK_BYTES):
            yield from self.chunks(first, torch.empty(min(CHUNK_BYTES, end - first), dtype=torch.uint8))

    def _find(self, name: str) -> tuple[_Entry, torch.dtype]:
        entry = self._entries.get(name)
        if entry is None:
            raise CheckpointError(
                sentence("{file} lacks a tensor that the index lists: {what}", file=self.path.name, what=name),
                hint=sentence("download the checkpoint again"),
            )
        dtype = _TYPES.get(entry.dtype)
        if dtype is None:
            raise CheckpointError(
                sentence(
                    "{what} is stored as {format}, which this version of torch does not know",
                    what=name,
                    format=entry.dtype,
                )
            )
        return entry, dtype

    def _header(self) -> dict[str, _Entry]:
        size = os.fstat(self.handle).st_size
        length = int.from_bytes(os.pread(self.handle, 8, 0), "little")
        if size < 8 or size < 8 + length <= 8 + _MAX_HEADER_BYTES:
            raise self._damaged()
        if length > _MAX_HEADER_BYTES:
            raise self._damaged("not a valid safetensors file: its header is too large")
        text = os.pread(self.handle, length, 8)
        try:
            header = json.loads(text)
            entries = {name: _entry(raw, 8 + length) for name, raw in header.items() if name != "__metadata__"}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise self._damaged("not a valid safetensors file: its header is not one of safetensors") from error
        at = 8 + length
        for entry in sorted(entries.values(), key=lambda entry: (entry.start, entry.end)):
            if entry.start != at:
                raise self._damaged("not a valid safetensors file: its tensors overlap, or leave gaps")
            at = entry.end
        if at != size:
            raise self._damaged()
        return entries

    def _damaged(self, problem: str = "cut short or damaged") -> CheckpointError:
        return CheckpointError(f"{self.path.name} is {problem}", hint=f"delete {self.path} and download it again")


@dataclass(frozen=True, slots=True, eq=False)
class FilePart:
    """The place of a tensor's bytes in a file, and sums that tell whether they are still the same.

    A sum is over the words of 64 KiB, at the speed of memory; a digest of them would be fifteen times slower.

    Attributes:
        shift: of the tensor's address beyond a multiple of `ALIGNMENT`; some products round differently with another.
    """

    shard: Shard
    start: int
    num_bytes: int
    shift: int
    _sums: tuple[bytes, ...]  # one entry for each chunk

    @classmethod
    def of(cls, shard: Shard, start: int, tensor: Tensor) -> FilePart:
        """Return the part of the file that should hold this tensor, whose bytes in memory are right."""
        whole = bytes_of(tensor)
        pieces = (whole[first : first + CHUNK_BYTES] for first in range(0, len(whole), CHUNK_BYTES))
        return cls(shard, start, len(whole), tensor.data_ptr() % ALIGNMENT, tuple(map(_sums, pieces)))

    def read_into(self, memory: Tensor) -> None:
        """Fill `memory`, bytes on the CPU. Raises CheckpointError if the file does not have the same bytes any more."""
        self._compare(self.shard.chunks(self.start, memory))

    def check(self) -> None:
        """Read everything, a chunk at a time. Raises CheckpointError as `read_into`."""
        self._compare(self.shard.pieces(self.start, self.start + self.num_bytes))

    def evict(self) -> None:
        """Remove the bytes from the system's cache of files, where the system can do that."""
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self.shard.handle, self.start, self.num_bytes, os.POSIX_FADV_DONTNEED)

    def _compare(self, chunks: Iterator[memoryview]) -> None:
        for chunk, sums in zip(chunks, self._sums, strict=True):
            if _sums(chunk) != sums:
                raise self._changed()

    def _changed(self) -> CheckpointError:
        path = self.shard.path
        return CheckpointError(f"{path.name} changed while it was in use", hint=f"put the right file back: {path}")


class ReadTensors(dict[str, Tensor]):
    """Tensors by name, and where in the files each was read from."""

    def __init__(self) -> None:
        super().__init__()
        self.shards: dict[str, Shard] = {}
        self._places: list[tuple[int, int, Shard, int]] = []  # address, its end, file, place in the file

    def add(self, name: str, tensor: Tensor, shard: Shard, start: int) -> None:
        self[name] = tensor
        self.shards[name] = shard
        self._places.append((tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes, shard, start))

    def merge(self, others: ReadTensors) -> None:
        self.update(others)
        self.shards.update(others.shards)
        self._places += others._places

    def parts_of(self, tensors: Iterable[Tensor]) -> tuple[FilePart, ...] | None:
        """Return the part of a file for each tensor, or None if one of them was converted since it was read."""
        found = [self._part_of(tensor) for tensor in tensors]
        known = tuple(part for part in found if part is not None)
        return known if len(known) == len(found) else None

    def _part_of(self, tensor: Tensor) -> FilePart | None:
        address, end = tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes
        for first, last, shard, start in self._places:
            if first <= address and end <= last and tensor.is_contiguous():
                return FilePart.of(shard, start + address - first, tensor)
        return None


@dataclass(frozen=True, slots=True, eq=False)
class BlockOrigin:
    """The files of one block, by the names of its tensors, and what they were when it was loaded."""

    digest: str
    files: Mapping[str, Path]
    identities: Mapping[Path, FileIdentity | None]

    @classmethod
    def of(cls, digest: str, read: ReadTensors) -> BlockOrigin:
        shards = read.shards
        return cls(
            digest,
            {name: shard.path for name, shard in shards.items()},
            {shard.path: shard.opened_as for shard in shards.values()},
        )

    def identities_now(self) -> dict[Path, FileIdentity | None]:
        """Return what is under the names of the files now; None: nothing that can be read."""
        return {path: _identity_now(path) for path in self.identities}

    def verify(self) -> Iterator[None]:
        """Read the block from its files again, a piece at a time, and compare the digest.

        Raises:
            CheckpointError: the files are missing, damaged, or hold something else.
        """
        shards = {path: Shard(path) for path in self.identities}
        whole = hashlib.sha256()
        for name in sorted(self.files):
            for piece in shards[self.files[name]].digested(name):
                whole.update(piece)
                yield
        if whole.hexdigest()[:DIGEST_HEX_DIGITS] != self.digest:
            raise CheckpointError(
                sentence("{file} changed on disk", file=self.file_names), hint=sentence("put the right file back")
            )

    @property
    def file_names(self) -> str:
        return ", ".join(sorted(path.name for path in self.identities))


@contextlib.contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn errors of the operating system about one file into a CheckpointError."""
    try:
        yield
    except FileNotFoundError as error:
        raise CheckpointError(
            sentence("{file} is missing from the checkpoint", file=path.name),
            hint=sentence("download it again to {folder}", folder=path),
        ) from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise disk_full(path) from error
        raise CheckpointError(
            sentence("cannot read {path}: {why}", path=path.name, why=error.strerror or error)
        ) from error


def disk_full(path: Path) -> CheckpointError:
    return CheckpointError(f"the disk is full: no room for {path.name}", hint=f"free some space in {path.parent}")


def digest_tensors(tensors: dict[str, Tensor]) -> str:
    """Return 16 hex digits over name, dtype, shape and bytes of each tensor, in the order of the names."""
    whole = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        whole.update(digest_header(name, tensor.dtype, tensor.shape))
        whole.update(bytes_of(tensor))
    return whole.hexdigest()[:DIGEST_HEX_DIGITS]


def digest_header(name: str, dtype: torch.dtype, shape: Sequence[int]) -> bytes:
    """Return what `digest_tensors` digests before the bytes of a tensor."""
    return json.dumps([name, str(dtype).removeprefix("torch."), list(shape)]).encode() + b"\n"


def bytes_of(tensor: Tensor) -> memoryview:
    """Return the bytes of a tensor on the CPU, without a copy if it is contiguous."""
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data


def quick_digest(tensors: Mapping[str, Tensor]) -> str:
    """Return 16 hex digits over the sums of all tensors; it finds changes as `FilePart` does, and proves nothing."""
    whole = hashlib.sha256()
    for name in sorted(tensors):
        whole.update(_sums(bytes_of(tensors[name])))
    return whole.hexdigest()[:DIGEST_HEX_DIGITS]


def host_memory(num_bytes: int, *, shift: int = 0) -> Tensor:
    """Return bytes on the CPU, not filled; large ones in huge pages, which take a quarter of the time to get.

    Args:
        shift: of the address beyond a multiple of `ALIGNMENT`; multiples of it may be added. Transformers computes
            where files are mapped, and the same shift gives the same bits.
    """
    shift %= ALIGNMENT
    if num_bytes < _HUGE_PAGE_BYTES or sys.platform != "linux":
        return torch.empty(shift + num_bytes, dtype=torch.uint8)[shift:]
    memory = mmap.mmap(-1, shift + num_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    return torch.frombuffer(memory, dtype=torch.uint8)[shift:]


def _identity(stat: os.stat_result) -> FileIdentity:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _identity_now(path: Path) -> FileIdentity | None:
    with contextlib.suppress(OSError):
        return _identity(path.stat())
    return None


def _entry(raw: Any, data_start: int) -> _Entry:
    """Return a checked entry of a header. Raises ValueError, TypeError or KeyError."""
    start, end = raw["data_offsets"]
    shape = tuple(raw["shape"])
    if not all(isinstance(number, int) and number >= 0 for number in (start, end, *shape)) or start > end:
        raise ValueError("a size is not a number")
    dtype = _TYPES.get(raw["dtype"])
    if dtype is not None and math.prod(shape) * dtype.itemsize != end - start:
        raise ValueError("a tensor has another size than its shape")
    return _Entry(raw["dtype"], shape, data_start + start, data_start + end)


def _sums(data: memoryview) -> bytes:
    """Return the sum of each 64 KiB, of the rest, and the last bytes that are no whole word."""
    words = np.frombuffer(data, np.uint64, count=len(data) // 8)
    rows = len(words) // _SUMMED_WORDS
    each = words[: rows * _SUMMED_WORDS].reshape(rows, _SUMMED_WORDS).sum(axis=1)
    rest = words[rows * _SUMMED_WORDS :].sum(dtype=np.uint64)
    return b"".join((each.tobytes(), rest.tobytes(), data[len(words) * 8 :]))
