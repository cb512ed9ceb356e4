"""Stores the KV of spilled sessions: in RAM if pages are on a device, in files if pages are in RAM.

Files are written and read, not mapped: on a full disk a write fails with an error, a mapping with a signal. The system
drops their pages from RAM when it needs them. Files have no name, so they are gone with the engine.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from potluck.allowance import memory as machine_memory
from potluck.blocks.kv import KvMemory, KvSequence, SavedSequence

_SPILLED_SHARE = 4  # times the memory itself, because idle sessions are many
_RAM_SHARE = 0.25  # of what is free when the engine starts


@dataclass(frozen=True, slots=True)
class Spilled:
    """The rows of one session, whose tensors have only shapes: what was in them is in the file."""

    rows: tuple[SavedSequence, ...]
    num_pages: int
    nbytes: int
    file: io.BufferedIOBase


class SpillStore:
    """Saves rows and brings them back, within a limit. Used by the step loop only.

    Args:
        folder: for files; None stores in RAM.
    """

    def __init__(self, memory: KvMemory, folder: Path | None) -> None:
        self._memory = memory
        self._folder = folder
        self._max_bytes = _SPILLED_SHARE * memory.num_pages * memory.page_bytes
        if folder is None:
            self._max_bytes = min(self._max_bytes, int(machine_memory().available * _RAM_SHARE))
        self.held_bytes = 0
        self.held_pages = 0

    def save(self, sequences: list[KvSequence]) -> Spilled:
        """Copy rows out of their pages. Raises OSError or MemoryError; then nothing is stored."""
        nbytes = sum(self._memory.saved_bytes(sequence) for sequence in sequences)
        if self.held_bytes + nbytes > self._max_bytes:
            raise MemoryError(f"spilled sessions may take {self._max_bytes / 1e6:.0f} MB")
        file: io.BufferedIOBase = io.BytesIO() if self._folder is None else tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
        rows = []
        try:
            for sequence in sequences:
                buffer = torch.empty(self._memory.saved_bytes(sequence), dtype=torch.uint8)
                saved = self._memory.save(sequence, buffer)
                rows.append(replace(saved, tensors=tuple(each.to("meta") for each in saved.tensors)))
                file.write(buffer.numpy().data)
            file.flush()
        except BaseException:
            file.close()
            raise
        num_pages = sum(table.num_pages for row in sequences for table in row.tables.values())
        self.held_bytes += nbytes
        self.held_pages += num_pages
        return Spilled(tuple(rows), num_pages, nbytes, file)

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
        self.held_pages -= spilled.num_pages
        spilled.file.close()

    def _read(self, spilled: Spilled) -> Iterator[SavedSequence]:
        spilled.file.seek(0)
        for saved in spilled.rows:
            sizes = [shape.nbytes for shape in saved.tensors]
            data = torch.empty(sum(sizes), dtype=torch.uint8)
            if spilled.file.readinto(data.numpy().data) != len(data):
                raise OSError("a file of spilled sessions is shorter than it was")
            parts = torch.split(data, sizes)
            tensors = [part.view(like.shape) for part, like in zip(parts, saved.tensors, strict=True)]
            yield replace(saved, tensors=tuple(tensors))


def default_folder() -> Path:
    """Return the folder for large temporary files: on a disk, because the usual one is often in RAM."""
    disk = Path("/var/tmp")
    return disk if os.access(disk, os.W_OK) else Path(tempfile.gettempdir())
