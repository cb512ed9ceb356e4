"""An engine that goes where the swarm needs it, while it serves.

    reach the target, block by block -> rest -> look: next_move says where to be -> announce it -> reach it -> rest ...
                                                      it says stay, and nobody is served -> fetch another block's files

What is missing on the disk is fetched first, while everything else goes on. Where to be is `placement`'s decision, how
blocks come and go `live_span`'s matter; here is the order of both.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from potluck_control.engine_messages import Moving, OnEvent, Settled

from potluck.blocks.reshaping import NotReshapableError
from potluck.checkpoint.block_files import BlockFiles
from potluck.errors import PotluckError
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer
from potluck_engine.announcing import Announcements
from potluck_engine.in_thread import in_thread
from potluck_engine.live_span import HAND_OVER_S, HURRIED_S, LiveSpan
from potluck_engine.neighbours import Neighbours
from potluck_engine.placement.choose import (
    AGAIN_S,
    CHECK_S,
    choose_span,
    load_order,
    next_move,
    single_moves,
    waits_for_others,
)
from potluck_engine.placement.swarm_map import ModelSize, Own, SwarmMap
from potluck_engine.prefetching import Prefetching

log = logging.getLogger(__name__)

_JITTER = 0.2  # of the pause between two looks: servers that started together must not look together for ever
_PATIENT_LOOKS = 2  # at blocks in need that others should go to
_JOIN_PAUSE_S = (0.2, 2.0)  # between two choices of who begins, for whoever begins at the same time


@dataclass(frozen=True, slots=True)
class Grow:
    """Serve this block too."""

    block: int


@dataclass(frozen=True, slots=True)
class Shrink:
    """Serve these blocks only."""

    kept: Span


@dataclass(frozen=True, slots=True)
class Anew:
    """Nothing stays: begin with the target."""


Step = Grow | Shrink | Anew


def next_step(live: Span, target: Span, window: int, order: Sequence[int]) -> Step | None:
    """How to get from `live` to `target`, with at most `window` blocks at a time; None: it is there.

    Blocks are added before others go, as far as there is room, in the `order` in which the target wants them.
    """
    kept = live & target
    if kept is None:
        return Anew()
    beside = {live.start - 1, live.end}
    missing = [block for block in order if block in beside and block in target]
    if missing and len(live) < window:
        return Grow(missing[0])
    return None if live == kept else Shrink(kept)


class Looking:
    """Sees the swarm as placement wants to see it."""

    def __init__(self, announcements: Announcements, neighbours: Neighbours, model: ModelSize) -> None:
        self._announcements = announcements
        self._neighbours = neighbours
        self._model = model

    async def look(self, span: Span | None) -> SwarmMap:
        """The swarm around a server that serves `span`. Raises PotluckError if the directory does not answer."""
        view = await self._announcements.directory.fetch()
        self._neighbours.know(server.peer_id for server in view.servers)
        gone = self._neighbours.gone()
        return self._map([server for server in view.servers if server.peer_id not in gone], span)

    def _map(self, others: Sequence[LiveServer], span: Span | None) -> SwarmMap:
        told = self._announcements
        own = Own(told.peer_id, told.window, told.throughput_tps, told.stored, span=span)
        return SwarmMap.of(others, self._model, own)


async def join(looking: Looking, announcements: Announcements, rng: random.Random) -> tuple[Span, list[int]]:
    """Where to begin, announced, and in which order; looks twice, because others may begin at the same time."""
    announcements.join(choose_span(await looking.look(None)))
    await announcements.wait_announced()
    await asyncio.sleep(rng.uniform(*_JOIN_PAUSE_S))
    swarm_map = await looking.look(None)
    target = choose_span(swarm_map)
    announcements.join(target)
    return target, load_order(swarm_map, target)


class Rebalancer:
    """`start` when something is served; `stop` before it is taken away; may be started again.

    Args:
        reload: serves other blocks by loading them anew, after sessions had so many seconds to leave; returns when
            the first of them are served.
    """

    def __init__(
        self,
        live: LiveSpan,
        looking: Looking,
        announcements: Announcements,
        files: BlockFiles,
        prefetching: Prefetching,
        reload: Callable[[Span, Sequence[int], float], Awaitable[None]],
        on_event: OnEvent,
        rng: random.Random,
    ) -> None:
        self._live = live
        self._looking = looking
        self._announcements = announcements
        self._files = files
        self._prefetching = prefetching
        self._reload = reload
        self._on_event = on_event
        self._rng = rng
        self._alarm = asyncio.Event()
        self._looks_in_vain = 0
        self._is_urgent = False  # a move that chance did not let it make
        self._patience_s = HAND_OVER_S  # of the present move, with sessions
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Leave the span as it is. Idempotent."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._live.settle()
            await self._prefetching.stop()

    def note_loss(self, peer: PeerId) -> None:
        """Somebody is gone: look at once."""
        log.info("a server does not answer any more: looking what is missing")
        self._alarm.set()

    async def _run(self) -> None:
        """Raises nothing: an engine that cannot move goes on where it is."""
        pause_s = 0.0 if self._target != self._live.span else CHECK_S
        while True:
            await self._rest(pause_s)
            try:
                has_moved = await self._look()
            except Exception as error:  # a fetch, a load, a directory: whatever it is, serving goes on
                log.warning("this server stays with blocks %s: %s", self._live.span, error, exc_info=True)
                has_moved = False
                await self._stay()
            pause_s = AGAIN_S if has_moved or self._is_urgent else CHECK_S

    @property
    def _target(self) -> Span:
        return self._announcements.target or self._live.span

    async def _rest(self, pause_s: float) -> None:
        try:
            async with asyncio.timeout(pause_s * self._rng.uniform(1 - _JITTER, 1 + _JITTER)):
                await self._alarm.wait()
        except TimeoutError:
            pass
        self._alarm.clear()

    async def _look(self) -> bool:
        """Whether something was changed."""
        self._is_urgent = False
        swarm_map = await self._looking.look(self._live.span)
        why = "the rest of what it joined for"
        if self._target == self._live.span:
            target = await self._better_place(swarm_map)
            if target is None:
                if not len(self._live.serving.sessions):
                    self._prefetching.go_on(swarm_map)
                return False
            why = _why(swarm_map, target, self._live.span)
            self._announcements.target = target
            await self._announcements.tell()
        coverage = swarm_map.coverage(swarm_map.live)
        self._patience_s = HURRIED_S if any(coverage[block] == 0 for block in self._target) else HAND_OVER_S
        await self._reach(load_order(swarm_map, self._target), why)
        return True

    async def _better_place(self, swarm_map: SwarmMap) -> Span | None:
        """Where to go; None: this is the place."""
        if len(self._live.span) < min(self._announcements.window, swarm_map.num_blocks):
            return choose_span(await self._looking.look(None))  # a move that failed left it with less than it can hold
        move = next_move(swarm_map)
        self._looks_in_vain = self._looks_in_vain + 1 if move is None and waits_for_others(swarm_map) else 0
        if self._looks_in_vain > _PATIENT_LOOKS:  # those whom the plan sends there do not go
            move = single_moves(swarm_map, np.array([swarm_map.me])).get(swarm_map.me)
        self._is_urgent = move is not None and move.is_urgent
        return move.target if move is not None and self._rng.random() < move.chance else None

    async def _reach(self, order: Sequence[int], why: str) -> None:
        """Raises PotluckError and others; what is served then is whole."""
        live, target = self._live, self._target
        log.info("moving from blocks %s to %s: %s", live.span, target, why)
        self._on_event(Moving(live.span, target, why))
        while (step := next_step(live.span, target, self._announcements.window, order)) is not None:
            missing = [block for block in order if block not in live.span]
            await self._fetch([step.block] if isinstance(step, Grow) else missing)
            try:
                await self._take(step)
            except NotReshapableError as error:
                log.info("blocks %s are loaded anew, all together: %s", target, error.message)
                await self._fetch(missing)
                await self._reload(target, order, self._patience_s)
            except torch.OutOfMemoryError:
                log.warning("there is no room for more than %d blocks", len(live.span))
                self._announcements.window = len(live.span)
                raise
        self._on_event(Settled(live.span))

    async def _take(self, step: Step) -> None:
        """Raises NotReshapableError if only loading anew leads on."""
        match step:
            case Grow(block):
                await self._live.grow(block)
            case Shrink(kept):
                await self._live.shrink(kept, patience_s=self._patience_s)
            case Anew():
                raise NotReshapableError("none of the blocks that are served stays")

    async def _stay(self) -> None:
        """Call a move off that failed."""
        self._announcements.target = self._live.span
        try:
            await self._announcements.tell()
        except PotluckError as error:
            log.warning("%s", error)

    async def _fetch(self, blocks: Sequence[int]) -> None:
        """Have their files on the disk."""
        for block in blocks:
            if block not in self._announcements.stored:
                await in_thread(partial(self._files.fetch, block))
                self._announcements.stored = await in_thread(self._files.stored)


def _why(swarm_map: SwarmMap, target: Span, live: Span) -> str:
    """For people: what the place lacks that this server goes to."""
    coverage = swarm_map.coverage(swarm_map.live)
    new = [block for block in target if block not in live]
    empty = [block for block in new if coverage[block] == 0]
    if empty:
        return f"blocks {Span(empty[0], empty[-1] + 1)} were served by nobody"
    return f"blocks {Span(new[0], new[-1] + 1)} are served by few"
