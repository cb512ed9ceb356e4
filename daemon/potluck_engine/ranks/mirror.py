"""Repeats each call of rank 0 on another rank of a span on several devices (see `ranked.py`)."""

from __future__ import annotations

from pathlib import Path

import torch
from potluck_control.processes.launch_spec import LaunchSpec
from torch import Tensor

from potluck.blocks.accelerators import release_memory
from potluck.blocks.cache.kv_memory import KvMemory
from potluck.blocks.cache.session_cache import KvCache
from potluck.blocks.span.ranks import Ranks, join_ranks, leave_ranks
from potluck.blocks.span.step_plans import StepPlan
from potluck.protocol.blocks import Span
from potluck_engine.compute.loaded_blocks import LoadedBlocks
from potluck_engine.compute.passes import CallInputs
from potluck_engine.ranks.processes import EXCHANGE_TIMEOUT_S, MEETING_TIMEOUT_S, RankInbox
from potluck_engine.weights.checkpoints import open_for_swarm
from potluck_engine.weights.loading import load_blocks


class Mirror:
    """One rank's part of a span. Rank 0 calls its public methods by name; tensors come on the CPU."""

    _ranks: Ranks  # set by `load`, as the next one
    _blocks: LoadedBlocks

    def __init__(self, rank: int, config: LaunchSpec) -> None:
        self._rank = rank
        self._config = config.with_serve(device=config.serve.devices[rank])
        self._memory: KvMemory | None = None
        self._caches: dict[int, KvCache] = {}

    def follow(self, letters: RankInbox) -> None:
        """Make the calls of rank 0. Raises EOFError when it is gone, and the error of any call."""
        while True:
            name, args = letters.next()
            getattr(self, name)(*args)

    def load(self, span: Span, meeting: Path) -> None:
        """Meet the other ranks and load this rank's part."""
        config = self._config
        torch.set_num_threads(config.serve.threads)
        size, device = len(config.serve.devices), config.serve.device
        self._ranks = join_ranks(self._rank, size, device=device, meeting=meeting, timeout_s=MEETING_TIMEOUT_S)
        whole = load_blocks(open_for_swarm(config), span, config, self._ranks)
        self._blocks = LoadedBlocks(whole, piece_tokens=config.limits.piece_tokens)
        self._ranks.expect_within(EXCHANGE_TIMEOUT_S)

    def free(self) -> None:
        self._caches.clear()
        self._memory = None
        self._blocks.forget()
        self._blocks.whole.free()
        release_memory(self._blocks.whole.device)
        self._ranks.agree(True)
        leave_ranks()

    def new_memory(self, num_tokens: int) -> None:
        self._memory = self._blocks.whole.new_memory(num_tokens)

    def copy(self, arena: int, source: int, target: int, count: int) -> None:
        self._pages.arenas[arena].copy(source, target, count)

    def give_back(self, arena: int, runs: list[tuple[int, int]]) -> None:
        self._pages.arenas[arena].give_back(runs)

    def run_step(self, plan: StepPlan, hidden: Tensor, rows: tuple[int, ...], *prompts: Tensor) -> None:
        of_rows = {row: self._here(prompt) for row, prompt in zip(rows, prompts, strict=True)}
        self._blocks.whole.run_decided(plan, self._here(hidden), self._pages, of_rows)

    def new_cache(self, number: int, span: Span) -> None:
        self._caches[number] = self._blocks.part(span).new_cache()

    def drop_cache(self, number: int) -> None:
        self._caches.pop(number, None)

    def crop(self, number: int, length: int) -> None:
        self._caches[number].crop(length)

    def reorder(self, number: int, rows: list[int]) -> None:
        self._caches[number].reorder_cache(torch.tensor(rows))

    def forward(self, span: Span, number: int | None, hidden: Tensor, prompts: Tensor | None) -> None:
        cache = None if number is None else self._caches[number]
        with torch.inference_mode():
            self._blocks.part(span).forward(self._here(hidden), cache, None if prompts is None else self._here(prompts))

    def backward(self, span: Span, hidden: Tensor, grad: Tensor, prompts: Tensor | None) -> None:
        some = None if prompts is None else self._here(prompts)
        self._blocks.backward_piece(CallInputs(span, self._here(hidden), some), self._here(grad))

    @property
    def _pages(self) -> KvMemory:
        assert self._memory is not None
        return self._memory

    def _here(self, tensor: Tensor) -> Tensor:
        return tensor.to(self._blocks.whole.device)
