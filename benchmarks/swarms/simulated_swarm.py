"""A swarm over hours: volunteers come and go, some of the model is live. Which blocks they serve is a policy's matter.

Time goes in ticks of the directory's delay: what a server knows of the others is one tick old. Rows are servers that
are here or whose record still is; columns are blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from potluck_engine.placement.price import Bools, Floats, Ints, ServerTable
from potluck_engine.placement.swarm_map import SwarmMap, believed_tps

from benchmarks.swarms.volunteers import Arrival, arrivals, scenario
from potluck.protocol.blocks import PeerId

_MEASURED_AFTER_S = 600.0  # others have measured a server's link


class Policy(Protocol):
    """Decides which blocks are served."""

    ghost_s: tuple[float, float]  # how long the record of a crashed server stays
    gb_a_block: float  # size of a block that it downloads

    def join(self, swarm: Swarm, row: int) -> None:
        """A server has come; it chooses now or in a later tick."""

    def tick(self, swarm: Swarm) -> None:
        """Let those that look at the swarm now do so, and move."""


@dataclass(slots=True)
class Result:
    """Samples of one run, and sums over its servers."""

    throughput: list[float] = field(default_factory=list)  # the least covered block's, over perfect balance
    is_available: list[bool] = field(default_factory=list)
    server_hours: float = 0.0
    moves: int = 0


class Swarm:
    """State as arrays."""

    def __init__(self, num_servers: int, policy: Policy, seed: int, *, liars: int = 0) -> None:
        """`liars`: so many servers serve nothing, but say that they do, a hundred times as fast as they could."""
        self.num_blocks: int = scenario()["model"]["num_blocks"]
        self.tick_s: float = scenario()["churn"]["record_delay_s"]
        self.now_s = 0.0
        self.rng = np.random.default_rng([seed, 1])  # the policy's; the churn has its own
        self.num_servers, self._policy, self._seed = num_servers, policy, seed
        self._disks: dict[int, Bools] = {}  # disks of volunteers that are away
        rows = 2 * num_servers + 60
        self._names = [PeerId(f"{row:06}") for row in range(rows)]
        self._arrivals: list[Arrival | None] = [None] * rows
        self.is_here = np.zeros(rows, bool)
        self._is_known = np.zeros(rows, bool)  # its record, which outlives a crash, is there
        self._forgotten_s = np.full(rows, np.inf)
        self._leaves_s = np.full(rows, np.inf)
        self._crashes = np.zeros(rows, bool)
        self._is_liar = np.zeros(rows, bool)
        self._num_liars = liars
        self.window = np.ones(rows, np.int64)
        self.start = np.zeros(rows, np.int64)
        self.length = np.zeros(rows, np.int64)
        self.throughput_tps = np.zeros(rows)
        self.download_bps = np.ones(rows)
        self._network_tps = np.zeros(rows)
        self._joined_s = np.zeros(rows)
        self._link_free_s = np.zeros(rows)
        self.on_disk_s = np.full((rows, self.num_blocks), np.inf)  # the time since when it is there
        self.live_from_s = np.full((rows, self.num_blocks), np.inf)
        self.live_until_s = np.full((rows, self.num_blocks), np.inf)
        self.busy_until_s = np.zeros(rows)  # loading or moving
        self.result = Result()
        self.seen_rows: Ints = np.zeros(0, np.int64)
        self.seen = self._map_of(self.seen_rows)

    def run(self, hours: float) -> Result:
        """Warm up, then take samples for `hours`."""
        run = scenario()["run"]
        begin_s = 3600.0 * run["warm_up_h"]
        end_s = begin_s + 3600.0 * hours
        sample_ticks = round(run["sample_every_s"] / self.tick_s)
        coming = arrivals(self.num_servers, self._seed, end_s)
        arrival = next(coming, None)
        for tick in range(1, round(end_s / self.tick_s) + 1):
            self.now_s = tick * self.tick_s
            self._leave()
            while arrival is not None and arrival.at_s <= self.now_s:
                self._join(arrival)
                arrival = next(coming, None)
            self._policy.tick(self)
            self._publish()
            if self.now_s <= begin_s:
                self.result = Result()
                continue
            self.result.server_hours += self.is_here.sum() * self.tick_s / 3600.0
            if tick % sample_ticks == 0:
                self._sample()
        return self.result

    def spans(self) -> Bools:
        """[rows, blocks]: what each serves or means to serve."""
        blocks = np.arange(self.num_blocks)
        return (self.start[:, None] <= blocks) & (blocks < (self.start + self.length)[:, None])

    def live(self) -> Bools:
        """[rows, blocks]: what answers now, or did until its server crashed."""
        return (self.live_from_s <= self.now_s) & (self.now_s < self.live_until_s)

    def seen_with(self, row: int) -> SwarmMap:
        """Return what the server of this row knows: itself now, the others a tick ago."""
        rows = np.append(self.seen_rows[self.seen_rows != row], row)
        is_other = self.seen_rows != row
        own, others = self._map_of(np.array([row])), self.seen
        return SwarmMap(
            peers=tuple(self._names[row] for row in rows),
            servers=ServerTable(
                *(
                    np.concatenate((getattr(others.servers, name)[is_other], getattr(own.servers, name)))
                    for name in ("start", "length", "window", "throughput_tps", "fetch_s")
                )
            ),
            live=np.concatenate((others.live[is_other], own.live)),
            me=len(rows) - 1,
        )

    def fetch(self, row: int, blocks: Ints) -> Floats:
        """Get these blocks' files, one after the other; when each is on disk."""
        missing = np.isinf(self.on_disk_s[row, blocks])
        begin_s = max(self.now_s, float(self._link_free_s[row]))
        each_s = self._policy.gb_a_block * 8e9 / self.download_bps[row]
        arrives_s = np.where(missing, begin_s + each_s * np.cumsum(missing), self.on_disk_s[row, blocks])
        self.on_disk_s[row, blocks] = arrives_s
        if missing.any():
            self._link_free_s[row] = begin_s + each_s * missing.sum()
        on_disk_s: Floats = np.maximum(arrives_s, self.now_s)
        return on_disk_s

    def _publish(self) -> None:
        """Keep what everybody will know in the next tick."""
        self.seen_rows = np.flatnonzero(self._is_known & (self.length > 0))
        self.seen = self._map_of(self.seen_rows)

    def _map_of(self, rows: Ints) -> SwarmMap:
        """Return the map of these rows that their records give."""
        is_on_disk = self.on_disk_s[rows] <= self.now_s
        each_s = self._policy.gb_a_block * 8e9 / self.download_bps[rows]
        claimed_tps = self.throughput_tps[rows] * np.where(self._is_liar[rows], 100.0, 1.0)
        is_measured = self.now_s - self._joined_s[rows] > _MEASURED_AFTER_S
        measured_tps = np.where(is_measured, self._network_tps[rows], np.nan)
        servers = ServerTable(
            start=self.start[rows],
            length=self.length[rows],
            window=self.window[rows],
            throughput_tps=believed_tps(claimed_tps, measured_tps),
            fetch_s=np.where(is_on_disk, 0.0, each_s[:, None]),
        )
        live = (self.live_from_s[rows] <= self.now_s) & (self.now_s < self.live_until_s[rows])
        return SwarmMap(tuple(self._names[row] for row in rows), servers, live, me=-1)

    def _join(self, arrival: Arrival) -> None:
        row = int(np.flatnonzero(~self.is_here & ~self._is_known)[0])
        volunteer = arrival.volunteer
        self._arrivals[row] = arrival
        self.is_here[row] = self._is_known[row] = True
        self._leaves_s[row], self._crashes[row] = arrival.leaves_s, arrival.crashes
        self._forgotten_s[row] = np.inf
        self._is_liar[row] = self._is_liar[self.is_here].sum() < self._num_liars
        self.window[row], self.length[row] = volunteer.window, 0
        self.throughput_tps[row], self.download_bps[row] = volunteer.throughput_tps, volunteer.download_bps
        self._network_tps[row], self._joined_s[row] = volunteer.network_tps, self.now_s
        disk = self._disks.pop(arrival.who, np.zeros(self.num_blocks, bool))
        self.on_disk_s[row] = np.where(disk, 0.0, np.inf)
        self.live_from_s[row] = self.live_until_s[row] = np.inf
        self.busy_until_s[row] = self._link_free_s[row] = self.now_s
        self._policy.join(self, row)

    def _leave(self) -> None:
        for row in np.flatnonzero(self.is_here & (self._leaves_s <= self.now_s)):
            self._go(int(row))
        self._is_known &= self.is_here | (self._forgotten_s > self.now_s)

    def _go(self, row: int) -> None:
        arrival = self._arrivals[row]
        assert arrival is not None
        self.is_here[row] = False
        ghost_s = self.rng.uniform(*self._policy.ghost_s) if self._crashes[row] else 0.0
        self._forgotten_s[row] = self.now_s + ghost_s
        self._disks[arrival.who] = self._kept_on_disk(row)
        self.on_disk_s[row, self.on_disk_s[row] > self.now_s] = np.inf
        self.live_from_s[row, self.live_from_s[row] > self.now_s] = np.inf

    def _kept_on_disk(self, row: int) -> Bools:
        """Return at most what the scenario's disk cache holds; what was served stays first of all."""
        disk: Bools = self.on_disk_s[row] <= self.now_s
        others = np.flatnonzero(disk & ~self.spans()[row])
        excess = int(disk.sum()) - scenario()["churn"]["host_disk_cache_blocks"]
        if excess > 0:
            disk[self.rng.permutation(others)[:excess]] = False
        return disk

    def _sample(self) -> None:
        works = self.is_here & ~self._is_liar
        live = self.live() & works[:, None]
        perfect = (self.throughput_tps * self.window)[works].sum() / self.num_blocks
        self.result.throughput.append(float((self.throughput_tps @ live).min() / max(perfect, 1e-9)))
        self.result.is_available.append(bool(live.any(axis=0).all()))
