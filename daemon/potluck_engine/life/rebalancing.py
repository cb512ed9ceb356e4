"""Moves an engine to where the swarm needs it, while it serves.

    reach the target, block by block -> rest -> next_move says where to serve -> announce it -> reach it -> rest ...
                                                it says stay, and no session is open -> fetch more files

Files that are missing on the disk are fetched first, while everything else goes on. `placement` decides where to serve
and `block_changes` exchanges blocks; this module only orders the two.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import torch
from potluck_control.processes.engine_messages import Moving, OnEvent, Reshaped, Settled
from potluck_control.processes.launch_spec import LaunchSpec

from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.reshaping import NotReshapableError
from potluck.checkpoint.block_files import BlockFiles
from potluck.checkpoint.source import Checkpoint
from potluck.errors import PotluckError
from potluck.protocol.blocks import Span
from potluck.sentences import Blocks, Sentence, sentence
from potluck.tasks import cancel_and_wait, in_own_thread, keep_running, start_task
from potluck_engine.life.announcements import Announcements
from potluck_engine.life.block_changes import HAND_OVER_S, HURRIED_S, BlockFetching, LoadBlocks, grow, shrink
from potluck_engine.network.reachability import Neighbours
from potluck_engine.placement.choose import (
    AGAIN_S,
    CHECK_S,
    choose_span,
    load_order,
    next_move,
    single_moves,
    waits_for_others,
)
from potluck_engine.placement.swarm_map import KnownServer, ModelSize, SwarmMap
from potluck_engine.serving.service import Service
from potluck_engine.weights.fitting import block_stack, choose_num_blocks

log = logging.getLogger(__name__)

_JITTER = 0.2  # varies the pause between two decisions, so that servers that started together don't decide together
_PATIENT_DECISIONS = 2  # how many decisions may leave blocks in need to others
_JOIN_PAUSE_S = (0.2, 2.0)  # separates the two choices of a server that joins, because others may join meanwhile

Reload = Callable[[Span, Span, float], Awaitable[None]]
"""Serves another target by loading it anew. Arguments: the target, its part to load first, and seconds for sessions."""


def next_span(live: Span, target: Span, window: int, order: Sequence[int]) -> Span | None:
    """Return what to serve next on the way from `live` to `target`, with at most `window` blocks at a time.

    The result has one block more than `live`, or only the blocks that stay. It is `live` at the target, and None if no
    block stays. As far as there is room, blocks are added before others go, in the given `order`.
    """
    kept = live & target
    missing = [block for block in order if block in (live.start - 1, live.end) and block in target]
    if kept is None or not missing or len(live) >= window:
        return kept
    return Span(min(live.start, missing[0]), max(live.end, missing[0] + 1))


class Rebalancer:
    """Chooses the first blocks (`join`) and moves on from there.

    Call `start` with a service, `stop` before it is taken away, and `close` at the end.

    Attributes:
        service: the span in service; set by `start`.
    """

    service: Service
    _model: ModelSize  # set by `join`, as the next two
    _fetching: BlockFetching
    _grows: bool  # whether blocks can be exchanged one by one

    def __init__(
        self,
        spec: LaunchSpec,
        announcements: Announcements,
        *,
        load: LoadBlocks,
        reload: Reload,
        on_event: OnEvent,
        changing: asyncio.Lock,
    ) -> None:
        """Store what it works with.

        Args:
            changing: the lock that is held while anything loads or frees weights; `reload` takes it itself.
        """
        self.announcements = announcements
        self._spec = spec
        self._load = load
        self._reload = reload
        self._on_event = on_event
        self._changing = changing
        self._alarm = asyncio.Event()  # set when a neighbour is gone: decide at once
        self._neighbours = Neighbours(announcements.node.host, self._alarm)
        self._rng = random.Random()
        self._decisions_in_vain = 0
        self._is_urgent = False  # whether chance prevented a move that is urgent
        self._patience_s = HAND_OVER_S  # how long the present move waits for sessions
        self._watching: asyncio.Task[None] | None = None
        self._moving: asyncio.Task[None] | None = None

    @property
    def span(self) -> Span:
        return self.service.blocks.span

    def max_blocks(self, blocks: BlockSpan) -> int:
        """Return how many blocks the span may grow to."""
        return self.announcements.window if self._grows else len(blocks.span)

    async def join(self, checkpoint: Checkpoint) -> Span:
        """Choose where to begin, announce it, and return what to load first.

        The choice is made twice, because others may join at the same time.

        Raises:
            PotluckError: the model or the machine cannot be used, or nobody stores the announcement.
        """
        own, spec = self.announcements, self._spec
        own.window, self._grows = await in_own_thread(lambda: choose_num_blocks(checkpoint, spec))
        files = await in_own_thread(lambda: BlockFiles.of(checkpoint, block_stack(checkpoint)))
        own.stored = await in_own_thread(files.stored)
        self._model = ModelSize(checkpoint.num_blocks, files.block_bytes, token_bits=16 * checkpoint.hidden_size)
        self._fetching = BlockFetching(own, files, spec.settings.limits.disk_mb << 20)
        own.join(choose_span(await self._observe(None)))
        await self.announcements.wait_announced()
        await asyncio.sleep(self._rng.uniform(*_JOIN_PAUSE_S))
        swarm_map = await self._observe(None)
        target = choose_span(swarm_map)
        self.announcements.join(target)
        self._watching = start_task(keep_running("measuring neighbours", self._neighbours.watch))
        return self._first_of(target, load_order(swarm_map, target))

    def start(self, service: Service) -> None:
        self.service = service
        if self._moving is None:
            self._moving = start_task(keep_running("choosing blocks", self._run))

    async def stop(self) -> None:
        """Stop moving, and leave the span as it is. Idempotent."""
        moving, self._moving = self._moving, None
        await cancel_and_wait(moving)
        await self._fetching.stop()

    async def close(self) -> None:
        await self.stop()
        await cancel_and_wait(self._watching)

    async def _run(self) -> None:
        """Decide and rest for ever. An engine that cannot move goes on where it is."""
        pause_s = 0.0 if self.announcements.target != self.span else CHECK_S
        while True:
            await self._rest(pause_s)
            try:
                has_moved = await self._move_if_better()
            except Exception as error:  # serving goes on, whether a fetch, a load or the directory failed
                log.warning("this server stays with layers %s: %s", self.span.layers, error, exc_info=True)
                has_moved = False
                await self._cancel_move()
            pause_s = AGAIN_S if has_moved or self._is_urgent else CHECK_S

    async def _observe(self, span: Span | None) -> SwarmMap:
        """Return a map of the swarm in which this server serves `span`. Raises PotluckError if no directory answers."""
        own = self.announcements
        servers = await own.node.directory.fetch()
        self._neighbours.choose_among(server.peer_id for server in servers)
        gone = self._neighbours.gone()
        me = KnownServer(own.node.peer_id, own.window, own.throughput_tps, own.stored, span=span)
        return SwarmMap.of([server for server in servers if server.peer_id not in gone], self._model, me)

    async def _rest(self, pause_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause_s * self._rng.uniform(1 - _JITTER, 1 + _JITTER)):
                await self._alarm.wait()
        self._alarm.clear()

    async def _move_if_better(self) -> bool:
        """Read the directory, and move if that is worth it. Return whether anything was changed."""
        self._is_urgent = False
        swarm_map = await self._observe(self.span)
        why = sentence("the rest of what it joined for")
        if self.announcements.target == self.span:
            target = await self._better_place(swarm_map)
            if target is None:
                if not len(self.service.sessions):
                    self._fetching.prefetch(swarm_map)
                return False
            why = _why(swarm_map, target, self.span)
            self.announcements.target = target
            await self.announcements.announce()
        target = self.announcements.target
        coverage = swarm_map.coverage(swarm_map.live)
        self._patience_s = HURRIED_S if any(coverage[block] == 0 for block in target) else HAND_OVER_S
        await self._reach(target, load_order(swarm_map, target), why)
        return True

    async def _better_place(self, swarm_map: SwarmMap) -> Span | None:
        """Return a better target; None to stay."""
        if len(self.span) < min(self.announcements.window, swarm_map.num_blocks):
            return choose_span(await self._observe(None))  # a failed move left it with less than it can hold
        move = next_move(swarm_map)
        self._decisions_in_vain = self._decisions_in_vain + 1 if move is None and waits_for_others(swarm_map) else 0
        if self._decisions_in_vain > _PATIENT_DECISIONS:  # the servers that should move there don't
            move = single_moves(swarm_map, np.array([swarm_map.me])).get(swarm_map.me)
        self._is_urgent = move is not None and move.is_urgent
        return move.target if move is not None and self._rng.random() < move.chance else None

    async def _reach(self, target: Span, order: Sequence[int], why: Sentence) -> None:
        """Move to `target`. Raises PotluckError and others; what is still served then is complete."""
        log.info("moving from layers %s to %s: %s", self.span.layers, target.layers, why)
        self._on_event(Moving(self.span, target, why))
        while (step := next_span(self.span, target, self.announcements.window, order)) != self.span:
            missing = [block for block in order if block not in self.span]
            new = [] if step is None else [block for block in step if block not in self.span]
            await self._fetching.fetch(new or missing)
            try:
                await self._change_blocks(step, new)
            except NotReshapableError as error:
                log.info("layers %s are loaded anew, all together: %s", target.layers, error.message)
                await self._fetching.fetch(missing)
                await self._reload(target, self._first_of(target, order), self._patience_s)
            except torch.OutOfMemoryError:
                log.warning("there is no room for more than %d layers", len(self.span))
                self.announcements.window = len(self.span)
                raise
        self._on_event(Settled(self.span))

    async def _change_blocks(self, step: Span | None, new: Sequence[int]) -> None:
        """Serve the blocks of `step`, of which one may be new. Raises NotReshapableError if all must be loaded anew."""
        before = self.span
        async with self._changing:
            try:
                if step is None:
                    raise NotReshapableError("none of the layers that are served stays")
                if new:
                    await grow(self.service, new[0], self._load)
                else:
                    await shrink(self.service, step, self.announcements.announce, patience_s=self._patience_s)
            finally:
                if self.span != before:
                    self._on_event(Reshaped(self.span, self.announcements.target))
        if new:
            await self.announcements.announce()

    async def _cancel_move(self) -> None:
        """Announce that this server stays, after a move that failed."""
        self.announcements.target = self.span
        try:
            await self.announcements.announce()
        except PotluckError as error:
            log.warning("%s", error)

    def _first_of(self, target: Span, order: Sequence[int]) -> Span:
        """Return what to load before this server goes online."""
        return Span(order[0], order[0] + 1) if self._grows else target


def _why(swarm_map: SwarmMap, target: Span, live: Span) -> Sentence:
    """Return the reason for a move, for people: what the target's blocks lack."""
    coverage = swarm_map.coverage(swarm_map.live)
    new = [block for block in target if block not in live]
    empty = [block for block in new if coverage[block] == 0]
    if empty:
        return sentence("layers {blocks} were served by nobody", blocks=Blocks(empty[0], empty[-1] + 1))
    return sentence("layers {blocks} are served by few", blocks=Blocks(new[0], new[-1] + 1))
