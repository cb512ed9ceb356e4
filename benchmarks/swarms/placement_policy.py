"""Our policy in the simulation: the engine's own functions decide, this only carries out what they say."""

from __future__ import annotations

import numpy as np
from potluck_engine.network.reachability import NUM_NEIGHBOURS
from potluck_engine.placement.choose import (
    AGAIN_S,
    CHECK_S,
    PlannedMove,
    choose_span,
    load_order,
    planned_moves,
    plans_together,
    rarest_missing,
    single_moves,
)
from potluck_engine.placement.price import Floats, Ints

from benchmarks.swarms.simulated_swarm import Swarm
from benchmarks.swarms.volunteers import scenario
from potluck.protocol.blocks import Span

PREFETCH_GB_AN_HOUR = 2.0  # background downloads; with joins and moves they stay below 3


class Potluck:
    """Go live block by block from the neediest, make before break, fetch what may be needed later."""

    def __init__(self) -> None:
        model, churn = scenario()["model"], scenario()["churn"]
        self.ghost_s = tuple(churn["ghost_record_s"]["fast_detection"])
        self.gb_a_block: float = model["block_gb_4bit"]
        self._load_s: float = churn["load_s_per_block"]["potluck"]
        self._most_on_disk: int = churn["host_disk_cache_blocks"]
        self._next_check_s: Floats = np.zeros(0)
        self._prefetched_s: Floats = np.zeros(0)  # end of the time that a row's prefetching has paid for
        self._planned_for: tuple[bytes, ...] = ()
        self._plan: dict[int, PlannedMove] = {}
        self._was_there: Ints = np.zeros(0, np.int64)  # rows

    def join(self, swarm: Swarm, row: int) -> None:
        if not len(self._next_check_s):
            self._next_check_s, self._prefetched_s = np.zeros((2, len(swarm.is_here)))
        view = swarm.seen_with(row)
        span = choose_span(view)
        blocks = np.array(load_order(view, span))
        swarm.start[row], swarm.length[row] = span.start, len(span)
        self._go_live(swarm, row, blocks, swarm.fetch(row, blocks))
        self._next_check_s[row] = swarm.now_s + CHECK_S * (1 + swarm.rng.random())
        self._prefetched_s[row] = swarm.now_s

    def tick(self, swarm: Swarm) -> None:
        at_rest = swarm.seen_rows[swarm.seen.at_rest]
        free = at_rest[swarm.is_here[at_rest] & (swarm.busy_until_s[at_rest] <= swarm.now_s)]
        self._note_losses(swarm)
        due = free[self._next_check_s[free] <= swarm.now_s]
        self._next_check_s[due] = swarm.now_s + CHECK_S
        if len(due):
            for row, move in self._moves(swarm, due).items():
                self._next_check_s[row] = swarm.now_s + (AGAIN_S if move.is_urgent else CHECK_S)
                if swarm.rng.random() < move.chance:
                    self._move(swarm, row, move.target)
        self._prefetch(swarm, free)

    def _note_losses(self, swarm: Swarm) -> None:
        """Have the watchers of a server that is gone look at once, like the engine's neighbours."""
        names = self._was_there
        for row in np.setdiff1d(names, swarm.seen_rows):
            watchers = names[np.searchsorted(names, row) - np.arange(1, min(NUM_NEIGHBOURS, len(names) - 1) + 1)]
            self._next_check_s[watchers] = swarm.now_s
        self._was_there = swarm.seen_rows

    def _moves(self, swarm: Swarm, rows: Ints) -> dict[int, PlannedMove]:
        """Return what `next_move` tells each of these servers, without doing the same work for each again."""
        seen = swarm.seen
        indices = np.searchsorted(swarm.seen_rows, rows)
        if not plans_together(seen):
            moves = single_moves(seen, indices)
        else:
            state = (seen.live.tobytes(), seen.servers.start.tobytes(), seen.servers.fetch_s.tobytes())
            if state != self._planned_for:
                self._planned_for, self._plan = state, planned_moves(seen)
            moves = self._plan
        return {int(swarm.seen_rows[i]): moves[int(i)] for i in indices if int(i) in moves}

    def _move(self, swarm: Swarm, row: int, target: Span) -> None:
        """Move like the engine: fetch all that is missing, drop what does not stay, add block after block."""
        old = range(swarm.start[row], swarm.start[row] + swarm.length[row])
        gone = np.array([block for block in old if block not in target])
        come = np.array([block for block in load_order(swarm.seen_with(row), target) if block not in old])
        if len(gone) < len(old):  # outwards from what stays
            come = np.sort(come)[:: 1 if target.start > old.start else -1]
        begins_s = float(swarm.fetch(row, come).max())
        swarm.start[row], swarm.length[row] = target.start, len(target)
        self._go_live(swarm, row, come, np.full(len(come), begins_s))
        swarm.live_until_s[row, gone] = begins_s
        swarm.result.moves += 1

    def _go_live(self, swarm: Swarm, row: int, blocks: Ints, on_disk_s: Floats) -> None:
        """Take blocks live one after the other, when their files arrive."""
        live_s = swarm.now_s
        for block, arrival_s in zip(blocks, on_disk_s, strict=True):
            live_s = max(live_s, arrival_s) + self._load_s
            swarm.live_from_s[row, block], swarm.live_until_s[row, block] = live_s, np.inf
        swarm.busy_until_s[row] = live_s

    def _prefetch(self, swarm: Swarm, rows: Ints) -> None:
        each_s = 3600.0 * self.gb_a_block / PREFETCH_GB_AN_HOUR
        due = rows[self._prefetched_s[rows] + each_s <= swarm.now_s]
        self._prefetched_s[due] = swarm.now_s
        due = due[np.isfinite(swarm.on_disk_s[due]).sum(axis=1) < self._most_on_disk]
        coverage = swarm.seen.coverage(swarm.seen.soon) if len(due) else np.zeros(0)
        for row in due:
            missing = rarest_missing(coverage, np.isinf(swarm.on_disk_s[row]).astype(float))
            swarm.fetch(row, np.array(missing[:1]))
