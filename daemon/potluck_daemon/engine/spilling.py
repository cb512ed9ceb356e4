"""Where the KV of spilled sessions lies: in RAM where the memory is a device's, in files where it is RAM itself.

A file is written and closed, not mapped: writing says that the disk is full by an error, a mapping by a signal. The
system may then drop its pages from RAM. Files die with the engine's runtime folder.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from pathlib import Path

import torch

from potluck.checkpoint.kv import KvMemory, KvSequence, SavedSequence


@dataclass(frozen=True, slots=True)
class Spilled:
    """The rows of one session. `path` None: their tensors hold what was saved; else they are empty, the file has it."""

    rows: tuple[SavedSequence, ...]
    nbytes: int
    path: Path | None


class SpillStore:
    """Saves rows and brings them back; at most `max_bytes` at a time. Used by the compute thread only."""

    def __init__(self, memory: KvMemory, folder: Path | None, *, max_bytes: int) -> None:
        self._memory = memory
        self._folder = folder
        self._max_bytes = max_bytes
        self._numbers = itertools.count()
        self.held_bytes = 0

    def save(self, sequences: list[KvSequence]) -> Spilled:
        """Copy rows out; they keep their pages. Raises OSError or MemoryError, and nothing is kept."""
        nbytes = sum(self._memory.saved_bytes(sequence) for sequence in sequences)
        if self.held_bytes + nbytes > self._max_bytes:
            raise MemoryError(f"spilled sessions may take {self._max_bytes >> 20} MiB")
        if self._folder is None:
            spilled = Spilled(tuple(self._memory.save(sequence) for sequence in sequences), nbytes, None)
        else:
            spilled = self._write(self._folder / f"kv-{next(self._numbers)}", sequences, nbytes)
        self.held_bytes += nbytes
        return spilled

    def load(self, spilled: Spilled) -> list[KvSequence]:
        """Bring rows back into pages of their own; `discard` afterwards.

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
        if spilled.path is not None:
            spilled.path.unlink(missing_ok=True)

    def _write(self, path: Path, sequences: list[KvSequence], nbytes: int) -> Spilled:
        rows = []
        try:
            with path.open("wb", buffering=0) as file:
                for sequence in sequences:
                    buffer = torch.empty(self._memory.saved_bytes(sequence), dtype=torch.uint8)
                    rows.append(self._memory.save(sequence, buffer))
                    _write_all(file.fileno(), buffer.numpy().data)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return Spilled(tuple(_without_values(saved) for saved in rows), nbytes, path)

    def _read(self, spilled: Spilled) -> list[SavedSequence]:
        if spilled.path is None:
            return list(spilled.rows)
        data = torch.from_file(str(spilled.path), size=spilled.nbytes, dtype=torch.uint8)
        rows = []
        for saved in spilled.rows:
            tensors = []
            for empty in saved.tensors:
                size = empty.numel() * empty.element_size()
                tensors.append(data[:size].view(empty.dtype).view(empty.shape))
                data = data[size:]
            rows.append(SavedSequence(saved.span, saved.length, saved.firsts, tuple(tensors)))
        return rows


def _without_values(saved: SavedSequence) -> SavedSequence:
    tensors = tuple(torch.empty_like(tensor, device="meta") for tensor in saved.tensors)
    return SavedSequence(saved.span, saved.length, saved.firsts, tensors)


def _write_all(descriptor: int, data: memoryview) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
