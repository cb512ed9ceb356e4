"""KV memory of a span, in pages that all its sessions share.

A *sequence* is one row of a session. Layers with the same window and shape form groups, and each sequence has a page
table for each group, so that a sliding window returns pages while full attention keeps them. All groups take pages from
one pool: the n-th layer of every group uses the n-th place of the arena, so any group can use any page.

A span that changes while it is served keeps its memory: `reshape` assigns places to new layers, frees those of removed
layers and leaves the others untouched.

One thread at a time may use the memory; other threads may only read the counts. A method that raises has changed
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from potluck.blocks.cache.arenas import KvArena, KvShape
from potluck.blocks.cache.pages import PAGE_TOKENS, PagePool, PageTable, Run, join, pages_of, slots_in
from potluck.blocks.cache.session_cache import WINDOW_ROLLBACK_TOKENS
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError


@dataclass(frozen=True, slots=True)
class LayerKv:
    """The shape of a token in a layer, and how many of the newest tokens it sees, itself included (None: all)."""

    shape: KvShape
    window: int | None = None


@dataclass(frozen=True, slots=True)
class KvLayout:
    """The keys and values of a span's layers, as the trial at loading found out.

    Attributes:
        is_int8: keys and values are held in int8, whatever the layers compute in.
    """

    span: Span
    layers: tuple[LayerKv, ...]
    dtype: torch.dtype
    device: torch.device
    is_int8: bool = False

    @property
    def stored(self) -> torch.dtype:
        """Return the number format in which keys and values are held."""
        return torch.int8 if self.is_int8 else self.dtype

    def bytes_per_token(self, stored: torch.dtype) -> int:
        """Return the bytes of a token in all layers, if keys and values are held in `stored`."""
        return sum(layer.shape.nbytes(stored) for layer in self.layers)


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """Layers that share page tables; each has its own place in the arena with index `arena`."""

    window: int | None
    arena: int

    def first_visible(self, position: int) -> int:
        """Return the oldest token that the token at `position` sees."""
        return 0 if self.window is None else max(position - self.window + 1, 0)


@dataclass(slots=True, eq=False)
class KvSequence:
    """One row's memory in the layers of `span`; it belongs to the `KvMemory` that made it.

    Attributes:
        length: number of tokens held.
        room: length to which it can surely grow in pages of its own; see `KvMemory.reserve`.
        tables: index of a group -> page table, for groups with a layer in `span`.
    """

    span: Span
    tables: dict[int, PageTable]
    length: int = 0
    room: int = 0


@dataclass(frozen=True, slots=True)
class SavedSequence:
    """A sequence copied out of the memory.

    Attributes:
        firsts: index of a group -> first page that was held.
        tensors: the bytes of what each group's arena holds of the sequence, uint8 [layers of the group, kv_heads,
            tokens, bytes], in the order of `firsts`.
    """

    span: Span
    length: int
    firsts: dict[int, int]
    tensors: tuple[Tensor, ...] = field(repr=False)

    @property
    def nbytes(self) -> int:
        return sum(tensor.nbytes for tensor in self.tensors)


class KvMemory:
    """All KV memory of a loaded span, with room for at least `num_tokens` tokens in all its layers.

    Args:
        max_blocks: how many blocks need room if the span may grow. A span with several kinds of layers begins with room
            for its own layers; later layers that find no room get a new group.

    Attributes:
        homes: index of a layer within the span -> (group, place in the group's arena).
        spare_page: a page that no sequence ever gets, for rows that only fill up a step.
        used_groups: groups that have layers now, ascending.
    """

    def __init__(self, layout: KvLayout, num_tokens: int, *, max_blocks: int = 0) -> None:
        self.layout = layout
        shapes = sorted({layer.shape for layer in layout.layers}, key=repr)
        members = _groups_of(layout.layers)
        self.groups = [LayerGroup(kind.window, shapes.index(kind.shape)) for kind, _ in members]
        self.homes = {layer: (g, n) for g, (_, layers) in enumerate(members) for n, layer in enumerate(layers)}
        self.used_groups = list(range(len(self.groups)))
        depths = [max(len(layers) for kind, layers in members if kind.shape == shape) for shape in shapes]
        if len(members) == 1:
            depths = [max(depths[0], max_blocks)]
        token_bytes = [shape.nbytes(layout.stored) * depth for shape, depth in zip(shapes, depths, strict=True)]
        self.page_bytes = PAGE_TOKENS * sum(token_bytes)
        self.pool = PagePool(pages_of(num_tokens) * len(self.groups))
        self.arenas = [self._new_arena(shape, depth) for shape, depth in zip(shapes, depths, strict=True)]

    @property
    def num_pages(self) -> int:
        return self.pool.num_pages

    @property
    def spare_page(self) -> int:
        return self.pool.num_pages

    @property
    def free_pages(self) -> int:
        return self.pool.free_pages

    def reshape(self, layout: KvLayout) -> None:
        """Serve the blocks of `layout` from the next step on. Sequences of blocks that leave must be free; others
        continue.

        Raises torch.OutOfMemoryError if there is no memory for a new layer.
        """
        shift = layout.span.start - self.layout.span.start
        homes = {layer - shift: home for layer, home in self.homes.items() if 0 <= layer - shift < len(layout.layers)}
        for layer, kept in enumerate(layout.layers):
            if layer not in homes:
                homes[layer] = self._free_home(kept, set(homes.values()))
        self.layout, self.homes = layout, homes
        self.used_groups = sorted({group for group, _ in homes.values()})

    def new_sequence(self, span: Span | None = None) -> KvSequence:
        """Return an empty sequence for the blocks `span` (None: all). It holds no page yet."""
        span = span or self.layout.span
        if not self.layout.span.covers(span):
            raise ValueError(f"blocks {span} are not among {self.layout.span}")
        groups = {self.homes[block - self.layout.span.start][0] for block in span}
        return KvSequence(span, {group: PageTable() for group in sorted(groups)})

    def pages_needed(self, sequence: KvSequence, length: int) -> int:
        """Return how many free pages `reserve` would take."""
        if length <= sequence.length:
            return 0
        missing = sum(max(pages_of(length) - table.end, 0) for table in sequence.tables.values())
        return missing + sum(self._page_to_copy(sequence, table) is not None for table in sequence.tables.values())

    def reserve(self, sequence: KvSequence, length: int) -> None:
        """Make room for the sequence to grow to `length` tokens.

        Raises:
            RemoteError: NO_MEMORY, and nothing has changed.
        """
        if length <= max(sequence.room, sequence.length):
            return
        needed = self.pages_needed(sequence, length)
        if needed > self.free_pages:
            raise RemoteError(Code.NO_MEMORY, f"{needed} pages of cache are needed, {self.free_pages} are free")
        for group, table in sequence.tables.items():
            shared = self._page_to_copy(sequence, table)
            if shared is not None:
                self._copy_last_page(group, table, shared, sequence.length % PAGE_TOKENS)
            table.append(self.pool.allocate(max(pages_of(length) - table.end, 0), after=table.last_page))
        sequence.room = PAGE_TOKENS * min(table.end for table in sequence.tables.values())

    def advance(self, sequence: KvSequence, tokens: int) -> None:
        """Count tokens that a step has written, and release pages that left a window."""
        sequence.length += tokens
        for group, table in sequence.tables.items():
            window = self.groups[group].window
            if window is not None:
                keep_from = sequence.length - (window - 1) - WINDOW_ROLLBACK_TOKENS
                self._release(group, table.drop(max(keep_from, 0) // PAGE_TOKENS))

    def crop(self, sequence: KvSequence, length: int) -> None:
        """Roll back to `length` tokens and release the pages behind them.

        Raises:
            RemoteError: ROLLBACK, if the sequence is shorter or a window no longer reaches back that far.
        """
        if not 0 <= length <= sequence.length:
            raise RemoteError(Code.ROLLBACK, f"cannot go to token {length}: the session has {sequence.length}")
        if length == 0:
            self.free(sequence)
            return
        for group, table in sequence.tables.items():
            if table.first * PAGE_TOKENS > self.groups[group].first_visible(length):
                raise RemoteError(Code.ROLLBACK, f"cannot go back to token {length}: the cache does not reach that far")
        for group, table in sequence.tables.items():
            self._release(group, table.cut(pages_of(length)))
        sequence.length, sequence.room = length, 0

    def fork(self, sequence: KvSequence) -> KvSequence:
        """Return another sequence with the same tokens. The two share pages until one of them writes."""
        tables = {}
        for group, table in sequence.tables.items():
            self._release(group, table.cut(pages_of(sequence.length)))  # only the last page may be partly full
            self.pool.share(table.runs)
            tables[group] = PageTable(table.first, table.runs)
        sequence.room = 0
        return KvSequence(sequence.span, tables, sequence.length)

    def free(self, sequence: KvSequence) -> None:
        """Release all pages. The sequence is then empty and can be used again."""
        for group, table in sequence.tables.items():
            self._release(group, table.cut(0))
            table.first = 0
        sequence.length = sequence.room = 0

    def saved_bytes(self, sequence: KvSequence) -> int:
        """Return how many bytes `save` copies."""
        stored = self.layout.stored
        return sum(
            (sequence.length - table.first * PAGE_TOKENS)
            * sum(count for _, count in self._places(group, sequence.span))
            * self.arena_of(group).shape.nbytes(stored)
            for group, table in sequence.tables.items()
        )

    def save(self, sequence: KvSequence, into: Tensor | None = None) -> SavedSequence:
        """Copy a sequence to RAM, or into a flat uint8 tensor of at least `saved_bytes`, such as a mapped file.

        The sequence keeps its pages; call `free` to release them.
        """
        size = self.saved_bytes(sequence)
        buffer = torch.empty(size, dtype=torch.uint8) if into is None else into[:size]
        tensors = []
        for group, table in sequence.tables.items():
            places, tokens = self._places(group, sequence.span), sequence.length - table.first * PAGE_TOKENS
            depth = sum(count for _, count in places)
            for tensor in self.arena_of(group).as_bytes():
                whole = (depth, tensor.shape[1], tokens, tensor.shape[3])
                used = torch.Size(whole).numel()
                target, buffer = buffer[:used].view(whole), buffer[used:]
                for layers, here in _stretches(places):
                    for new, slots in _stretches(slots_in(table.runs, 0, tokens)):
                        target[layers, :, new].copy_(tensor[here, :, slots])
                tensors.append(target)
        firsts = {group: table.first for group, table in sequence.tables.items()}
        return SavedSequence(sequence.span, sequence.length, firsts, tuple(tensors))

    def load(self, saved: SavedSequence) -> KvSequence:
        """Return a sequence with the saved content, in pages of its own.

        Raises:
            RemoteError: NO_MEMORY, and nothing has changed.
        """
        sequence = self.new_sequence(saved.span)
        for group, table in sequence.tables.items():
            table.first = saved.firsts[group]
        self.reserve(sequence, saved.length)
        self.write(sequence, saved.tensors)
        sequence.length = saved.length
        return sequence

    def write(self, sequence: KvSequence, tensors: Sequence[Tensor]) -> None:
        """Fill a sequence's pages with the tensors that `save` copied from a similar one; see `SavedSequence`."""
        sources = iter(tensors)
        for group, table in sequence.tables.items():
            places = self._places(group, sequence.span)
            for tensor in self.arena_of(group).as_bytes():
                source = next(sources)
                for layers, here in _stretches(places):
                    for new, slots in _stretches(slots_in(table.runs, 0, source.shape[2])):
                        tensor[here, :, slots].copy_(source[layers, :, new])

    def _page_to_copy(self, sequence: KvSequence, table: PageTable) -> int | None:
        """Return the partly full page that the next token goes to, if another sequence shares it."""
        last = table.last_page
        is_partial = sequence.length % PAGE_TOKENS and table.end == pages_of(sequence.length)
        return last if last is not None and is_partial and self.pool.is_shared(last) else None

    def _copy_last_page(self, group: int, table: PageTable, page: int, tokens: int) -> None:
        released = table.cut(table.end - 1)
        (copy,) = self.pool.allocate(1, after=table.last_page)
        self.arena_of(group).copy(page * PAGE_TOKENS, copy[0] * PAGE_TOKENS, tokens)
        table.append([copy])
        self._release(group, released)

    def _release(self, group: int, runs: tuple[Run, ...]) -> None:
        freed = self.pool.release(runs)
        if freed:
            self.arena_of(group).give_back([(start * PAGE_TOKENS, count * PAGE_TOKENS) for start, count in freed])

    def arena_of(self, group: int) -> KvArena:
        return self.arenas[self.groups[group].arena]

    def _places(self, group: int, span: Span) -> list[Run]:
        """Return runs of arena places of the group's layers within `span`, in the order of the blocks."""
        places: list[Run] = []
        for block in span:
            home, place = self.homes[block - self.layout.span.start]
            if home == group:
                join(places, (place, 1))
        return places

    def _new_arena(self, shape: KvShape, depth: int) -> KvArena:
        capacity = (self.pool.num_pages + 1) * PAGE_TOKENS  # one more for the spare page
        return KvArena(shape, depth, capacity, self.layout.stored, self.layout.device)

    def _free_home(self, layer: LayerKv, taken: set[tuple[int, int]]) -> tuple[int, int]:
        """Return a place in a group of this kind, in an unused group, or in a new one."""
        used = {group for group, _ in taken}
        for index, group in enumerate(self.groups):
            arena = self.arenas[group.arena]
            if arena.shape != layer.shape or (group.window != layer.window and index in used):
                continue
            place = next((place for place in range(arena.depth) if (index, place) not in taken), None)
            if place is not None:
                self.groups[index] = LayerGroup(layer.window, group.arena)
                return index, place
        arenas = [index for index, arena in enumerate(self.arenas) if arena.shape == layer.shape]
        if not arenas:
            self.arenas.append(self._new_arena(layer.shape, 1))
            arenas = [len(self.arenas) - 1]
        self.groups.append(LayerGroup(layer.window, arenas[0]))
        return len(self.groups) - 1, 0


def _groups_of(layers: tuple[LayerKv, ...]) -> list[tuple[LayerKv, tuple[int, ...]]]:
    """Group layers of one kind; no group is larger than the rarest kind, so that places fill up.

    Source: vLLM's hybrid KV cache manager, which groups layers for the same reason.
    """
    kinds: dict[LayerKv, list[int]] = {}
    for index, layer in enumerate(layers):
        kinds.setdefault(layer, []).append(index)
    groups = []
    for kind, members in kinds.items():
        size = min(len(others) for other, others in kinds.items() if other.shape == kind.shape)
        groups += [(kind, tuple(members[start : start + size])) for start in range(0, len(members), size)]
    return groups


def _stretches(runs: list[Run]) -> Iterator[tuple[slice, slice]]:
    """Yield each run as two slices: of all that the runs hold together, and of the arena."""
    end = 0
    for start, count in runs:
        yield slice(end, end + count), slice(start, start + count)
        end += count
