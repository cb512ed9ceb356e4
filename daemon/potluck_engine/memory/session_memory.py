"""Defines the memory of a session, its steps, and the store for spilled sessions.

The rows of a session are in pages, spilled, or not computed yet. A session that runs alone has a KvCache instead, which
grows as Transformers' caches do and is counted in pages.

Spilled KV is stored in RAM if pages are on a device, and in files if pages are in RAM. Files are written and read, not
mapped: on a full disk a write fails with an error, a mapping with a signal. The system drops their pages from RAM when
it needs them. Files have no name, so they vanish with the engine.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor

from potluck.allowance import memory as machine_memory
from potluck.blocks.adapters import PrivateAdapter
from potluck.blocks.cache.kv_memory import KvMemory, KvSequence, SavedSequence
from potluck.blocks.cache.session_cache import KvCache
from potluck.blocks.span.block_span import BlockSpan
from potluck.errors import PotluckError
from potluck.protocol.blocks import PeerId, Span
from potluck_engine.compute.steps import StepJob
from potluck_engine.memory.page_admission import Holder, PageRequest
from potluck_engine.memory.prefixes import Chain

_SPILLED_FACTOR = 4  # times the memory of pages, because there are many idle sessions
_RAM_SHARE = 0.25  # the share of the RAM that is free when the engine starts


@dataclass(frozen=True, slots=True)
class Spilled:
    """The rows of one spilled session. Their tensors have only shapes, because the content is in the file."""

    rows: tuple[SavedSequence, ...]
    num_pages: int
    nbytes: int
    file: io.BufferedIOBase


class SpillStore:
    """Saves rows and loads them again, within a limit. For the step loop only.

    Args:
        folder: the folder for files; None: rows are kept in RAM.
    """

    def __init__(self, memory: KvMemory, folder: Path | None) -> None:
        self._memory = memory
        self._folder = folder
        self._max_bytes = _SPILLED_FACTOR * memory.num_pages * memory.page_bytes
        if folder is None:
            self._max_bytes = min(self._max_bytes, int(machine_memory().available * _RAM_SHARE))
        self.held_bytes = 0
        self.held_pages = 0

    def save(self, sequences: list[KvSequence]) -> Spilled:
        """Copy rows out of their pages. Raises OSError or MemoryError, and then nothing is stored."""
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
        """Load rows into new pages. Call `discard` afterwards.

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


def folder_for_spills() -> Path:
    """Return a folder on a disk for large temporary files; the usual one is often in RAM."""
    disk = Path("/var/tmp")
    return disk if os.access(disk, os.W_OK) else Path(tempfile.gettempdir())


@dataclass(slots=True, eq=False)
class AloneCache:
    """The cache of a session that never shares a step."""

    blocks: BlockSpan
    cache: KvCache


@dataclass(slots=True, eq=False, kw_only=True)
class SessionMemory(Holder):
    """The memory of one session. The asyncio side makes it, and only the step loop uses it.

    Attributes:
        sharing: see `SessionOpening.sharing`.
        private: the private adapter of a session, which then runs alone.
        pending: the step that waits for pages, and its request for them.
        is_abandoned: whether the client left without a word, or doesn't read, so that its beginnings are not needed.
        chains: the chain of each row, as long as the session is nothing but a beginning.
    """

    client: PeerId
    span: Span
    rows: int
    is_alone: bool
    adapter: str | None = None
    sharing: str = ""
    private: PrivateAdapter | None = None
    sequences: list[KvSequence] = field(default_factory=list)
    spilled: Spilled | None = None
    alone: AloneCache | None = None
    pending: tuple[SessionStep, PageRequest] | None = None
    is_closed: bool = False
    is_abandoned: bool = False
    chains: list[Chain] | None = None

    @property
    def prefix_tokens(self) -> int:
        """The number of trained keys and values before the session's own."""
        return 0 if self.private is None else self.private.layout.prefix_tokens

    @property
    def length(self) -> int:
        """The number of tokens in memory."""
        if self.alone is not None:
            return self.alone.cache.length - self.prefix_tokens
        if self.spilled is not None:
            return self.spilled.rows[0].length
        return self.sequences[0].length if self.sequences else 0


@dataclass(slots=True, eq=False)
class SessionStep(StepJob):
    """A step with its tensors.

    Shapes: hidden [rows, tokens, hidden_size]; prompts [blocks, rows or 1, p, hidden_size]; order [rows] int64; outputs
    [rows, some tokens, hidden_size] each, in the dtype of the blocks, on the CPU; chosen [rows, some tokens, layers *
    choices] int16 likewise, see `Routers.chosen`.

    Attributes:
        alloc_deadline: the end of the wait for memory.
        start: the session's tokens before this step.
        is_prepared: whether the session was rolled back, reordered and given a kept beginning for this step. That must
            happen only once, although the session may be spilled and brought back before the step runs.
        chains: the chain of each row's input, if this step is part of a beginning.
        chosen: the chosen experts; empty in models without experts.
        computed: the number of tokens of each row in `outputs`.
    """

    memory: SessionMemory = field(kw_only=True)
    alloc_deadline: float = field(kw_only=True)
    start: int = field(kw_only=True)
    hidden: Tensor = field(kw_only=True, repr=False)
    prompts: Tensor | None = field(kw_only=True, repr=False)
    order: Tensor | None = field(kw_only=True, repr=False)
    on_done: Callable[[SessionStep, PotluckError | None], None] = field(kw_only=True, repr=False)
    is_prepared: bool = False
    chains: list[Chain] | None = None
    outputs: list[Tensor] = field(default_factory=list, repr=False)
    chosen: list[Tensor] = field(default_factory=list, repr=False)
    computed: int = 0

    @property
    def end(self) -> int:
        """The session's tokens after this step."""
        return self.start + self.tokens

    def add_output(self, output: Tensor, chosen: Tensor | None = None) -> None:
        self.outputs.append(output)
        self.computed += output.shape[1]
        if chosen is not None:
            self.chosen.append(chosen)

    def all_chosen(self) -> Tensor | None:
        """Return the experts of all tokens, [rows, tokens, layers * choices]; None in models without experts."""
        return torch.cat(self.chosen, dim=1) if self.chosen else None

    def result(self) -> Tensor:
        """Return the outputs, [rows, tokens, hidden_size]."""
        if len(self.outputs) > 1:
            self.outputs = [torch.cat(self.outputs, dim=1)]
        return self.outputs[0] if self.outputs else self.hidden
