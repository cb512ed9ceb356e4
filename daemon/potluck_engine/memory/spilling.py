"""Stores the KV of spilled sessions: in RAM if pages are on a device, in files if pages are in RAM.

Files are written and read, not mapped: on a full disk a write fails with an error, a mapping with a signal. The system
drops their pages from RAM when it needs them. Files have no name, so they are gone with the engine.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil
import torch

from potluck.blocks.kv import KvMemory, KvSequence, SavedSequence

_SPILLED_SHARE = 4  # times the memory itself, because idle sessions are many
_RAM_SHARE = 0.25  # of what is free when the engine starts


@dataclass(frozen=True, slots=True)
class Spilled:
    """The rows of one session. With a `file`, their tensors have only shapes."""

    rows: tuple[SavedSequence, ...]
    nbytes: int
    file: IO[bytes] | None


class SpillStore:
    """Saves rows and brings them back, within a limit. Used by the compute thread only.

    Args:
        folder: for files; None stores in RAM.
    """

    def __init__(self, memory: KvMemory, folder: Path | None) -> None:
        self._memory = memory
        self._folder = folder
        self._max_bytes = _SPILLED_SHARE * memory.num_pages * memory.page_bytes
        if folder is None:
            self._max_bytes = min(self._max_bytes, int(psutil.virtual_memory().available * _RAM_SHARE))
        self.held_bytes = 0

    def save(self, sequences: list[KvSequence]) -> Spilled:
        """Copy rows out of their pages. Raises OSError or MemoryError; then nothing is stored."""
        nbytes = sum(self._memory.saved_bytes(sequence) for sequence in sequences)
        if self.held_bytes + nbytes > self._max_bytes:
            raise MemoryError(f"spilled sessions may take {self._max_bytes / 1e6:.0f} MB")
        if self._folder is None:
            spilled = Spilled(tuple(self._memory.save(sequence) for sequence in sequences), nbytes, None)
        else:
            spilled = self._write(self._folder, sequences, nbytes)
        self.held_bytes += nbytes
        return spilled

    def load(self, spilled: Spilled) -> list[KvSequence]:
        """Load rows into new pages; call `discard` afterwards.

        Raises:
            RemoteError: NO_MEMORY.
            OSError: the file cannot be read.
        """
        loaded: list[KvSequence] = []
        try:
            for saved in self._read(spilled):
                loaded.append(self._memory.load(saved))
        except BaseException:
            for sequence in loaded:
                self._memory.free(sequence)
            raise
        return loaded

    def discard(self, spilled: Spilled) -> None:
        self.held_bytes -= spilled.nbytes
        if spilled.file is not None:
            spilled.file.close()

    def _write(self, folder: Path, sequences: list[KvSequence], nbytes: int) -> Spilled:
        file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 (open until it is discarded)
        rows = []
        try:
            for sequence in sequences:
                buffer = torch.empty(self._memory.saved_bytes(sequence), dtype=torch.uint8)
                rows.append(_without_values(self._memory.save(sequence, buffer)))
                _write_all(file.fileno(), buffer.numpy().data)
        except BaseException:
            file.close()
            raise
        return Spilled(tuple(rows), nbytes, file)

    def _read(self, spilled: Spilled) -> Iterator[SavedSequence]:
        if spilled.file is None:
            yield from spilled.rows
            return
        spilled.file.seek(0)
        for saved in spilled.rows:
            sizes = [shape.numel() * shape.element_size() for shape in saved.tensors]
            data = torch.empty(sum(sizes), dtype=torch.uint8)
            _read_all(spilled.file, data.numpy().data)
            parts = torch.split(data, sizes)
            tensors = [part.view(like.dtype).view(like.shape) for part, like in zip(parts, saved.tensors, strict=True)]
            yield SavedSequence(saved.span, saved.length, saved.firsts, tuple(tensors))


def default_folder() -> Path:
    """Return the folder for large temporary files: on a disk, because the usual one is often in RAM."""
    disk = Path("/var/tmp")
    return disk if os.access(disk, os.W_OK) else Path(tempfile.gettempdir())


def _without_values(saved: SavedSequence) -> SavedSequence:
    tensors = tuple(torch.empty_like(tensor, device="meta") for tensor in saved.tensors)
    return SavedSequence(saved.span, saved.length, saved.firsts, tensors)


def _write_all(descriptor: int, data: memoryview) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _read_all(file: IO[bytes], data: memoryview) -> None:
    assert isinstance(file, io.RawIOBase)
    while data:
        count = file.readinto(data)
        if not count:
            raise OSError("a file of spilled sessions is shorter than it was")
        data = data[count:]
