"""Gives rank 0 a span on several devices with the interface of a span on one: all ranks make each call.

A `RankedSpan` is a `BlockSpan`, its memory a `KvMemory`, and its caches are `KvCache`s. Only rank 0 decides about
pages; it has the others copy, read and write the same slots. Their side is in `mirror.py`, under the same names.
"""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor

from potluck.blocks.cache.arenas import KvArena
from potluck.blocks.cache.kv_memory import KvLayout, KvMemory, KvSequence
from potluck.blocks.cache.session_cache import KvCache
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.step_plans import StepPlan
from potluck.protocol.blocks import Span
from potluck.protocol.codes import RemoteError
from potluck_engine.compute.loaded_blocks import LoadedBlocks
from potluck_engine.compute.passes import CallInputs, Gradients, backward_of
from potluck_engine.ranks.processes import RankProcesses

_numbers = itertools.count()


class RankedSpan(BlockSpan):
    """A span of which rank 0 has loaded its own part."""

    repeats_choices = False  # the other ranks would choose for themselves

    def __init__(self, own: BlockSpan, ranks: RankProcesses) -> None:
        vars(self).update(vars(own))
        self.own = own
        self.ranks = ranks

    @property
    def is_reshapable(self) -> bool:
        """False, because ranks load and serve a span as a whole."""
        return False

    def free(self) -> None:
        self.own.free()
        with contextlib.suppress(RemoteError):
            self.ranks.free()

    def new_memory(self, num_tokens: int, *, max_blocks: int = 0) -> KvMemory:
        assert self.own.layout is not None, "sessions of this family run alone"
        self.ranks.post("new_memory", num_tokens)
        return RankedMemory(self.own.layout, num_tokens, self.ranks)  # a ranked span does not grow

    def run_decided(
        self, plan: StepPlan, hidden: Tensor, memory: KvMemory, prompts: Mapping[int, Tensor] | None = None
    ) -> Tensor:
        some = prompts or {}
        with self.ranks.together("run_step", plan, hidden, tuple(some), *some.values()):
            return self.own.run_decided(plan, hidden, memory, prompts)

    def next_tokens(self, sequences: list[KvSequence], memory: KvMemory) -> None:
        """Prepare nothing, because the other ranks follow plans."""

    def new_cache(self) -> KvCache:
        return RankedCache(self.decoder.config, self.span, self.ranks)

    def forward(self, hidden: Tensor, cache: KvCache | None = None, prompts: Tensor | None = None) -> Tensor:
        number = cache.number if isinstance(cache, RankedCache) else None
        with self.ranks.together("forward", self.span, number, hidden, prompts):
            return self.own.forward(hidden, cache, prompts)

    __call__ = forward


class RankedCache(KvCache):
    """The cache of a session that runs alone. The other ranks know theirs by its `number`."""

    def __init__(self, config: Any, span: Span, ranks: RankProcesses) -> None:
        super().__init__(config)
        self.number = next(_numbers)
        self._ranks = ranks
        ranks.post("new_cache", self.number, span)
        weakref.finalize(self, ranks.post, "drop_cache", self.number).atexit = False

    def crop(self, length: int) -> None:
        super().crop(length)
        self._ranks.post("crop", self.number, length)

    def reorder_cache(self, beam_idx: Tensor) -> None:
        super().reorder_cache(beam_idx)
        self._ranks.post("reorder", self.number, beam_idx.tolist())


class RankedMemory(KvMemory):
    """Pages whose keys and values are spread over the ranks by heads. They are never saved or loaded."""

    def __init__(self, layout: KvLayout, num_tokens: int, ranks: RankProcesses) -> None:
        super().__init__(layout, num_tokens)
        self.arenas: list[KvArena] = [_RankedArena(arena, i, ranks) for i, arena in enumerate(self.arenas)]
        self.page_bytes *= ranks.size


class _RankedArena(KvArena):
    def __init__(self, own: KvArena, index: int, ranks: RankProcesses) -> None:
        vars(self).update(vars(own))
        self._index = index
        self._ranks = ranks

    def copy(self, source: int, target: int, count: int) -> None:
        super().copy(source, target, count)
        self._ranks.post("copy", self._index, source, target, count)

    def give_back(self, runs: Iterable[tuple[int, int]]) -> None:
        runs = list(runs)
        super().give_back(runs)
        self._ranks.post("give_back", self._index, runs)


class RankedBlocks(LoadedBlocks):
    """The loaded blocks of a `RankedSpan`."""

    def __init__(self, whole: RankedSpan, *, piece_tokens: int) -> None:
        super().__init__(whole, piece_tokens=piece_tokens)
        self._ranks = whole.ranks

    def new_part(self, span: Span) -> BlockSpan:
        return RankedSpan(super().new_part(span), self._ranks)

    def backward_piece(self, inputs: CallInputs, grad: Tensor) -> Gradients:
        assert inputs.private is None, "private adapters are served on one device"
        part = self.part(inputs.span)
        assert isinstance(part, RankedSpan)
        with self._ranks.together("backward", inputs.span, inputs.hidden, grad, inputs.prompts):
            return backward_of(part.own, inputs, grad)

    def _room(self) -> int:
        return 0  # the other ranks take part in gradients by a forward of their own

    @property
    def is_restorable(self) -> bool:
        return False  # the ranks end with their work; new ones load their parts


def make_loaded_blocks(whole: BlockSpan, *, piece_tokens: int) -> LoadedBlocks:
    """Return the blocks of a span that is loaded on one device or several."""
    if isinstance(whole, RankedSpan):
        return RankedBlocks(whole, piece_tokens=piece_tokens)
    return LoadedBlocks(whole, piece_tokens=piece_tokens)
