"""What sessions and servers do to each other: mean values of a closed network of queues, one second after the other.

A session sends one token through its hops, waits for it, and sends the next. At a server a token waits for the step
that runs and then takes part in the next one; a step takes as long as its weights need to be read or its rows to be
computed, whichever is more. Links are queues of their own. Rates follow from the times, and rows and queues from the
rates (Schweitzer's approximation), until they agree.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.swarms.fleet import Fleet, Floats
from potluck.protocol.records import LiveServer
from potluck.routing.candidates import HOP_OVERHEAD_S
from potluck.routing.experience import Parts

Ints = NDArray[np.int64]

_ROUNDS = 25  # each second; the last second's values are where they begin
_DAMPING = 0.4


@dataclass(slots=True, eq=False)
class Session:
    """One generation: its hops by rows of the fleet, and what it still has to do."""

    client: int
    tokens_left: float
    rows: Ints
    blocks: Floats
    travel_s: Floats  # round trips and overhead
    rate_tps: float = 0.0

    @classmethod
    def of(cls, client: int, tokens: float, parts: Parts, rtts_s: Floats) -> Session:
        rows = np.array([int(peer) for peer, _ in parts])
        blocks = np.array([len(span) for _, span in parts], np.float64)
        return cls(client, tokens, rows, blocks, rtts_s[rows] + HOP_OVERHEAD_S)


@dataclass(slots=True)
class Traffic:
    """All sessions at all servers now; arrays have a value a server."""

    fleet: Fleet
    sessions: list[Session] = field(default_factory=list)
    rate_tps: Floats = field(init=False)  # tokens a second
    rows: Floats = field(init=False)  # rows in a step
    step_s: Floats = field(init=False)
    wait_s: Floats = field(init=False)  # wait for the step, and for the link
    joined: Floats = field(init=False)  # sessions that came since the last second
    _link_queue: Floats = field(init=False)

    def __post_init__(self) -> None:
        records = [server.record for server in self.fleet.servers]
        zeros = np.zeros(len(records))
        self._decode_s = 1 / np.array([record.inference_tps for record in records])
        self._forward_s = 1 / np.array([record.forward_tps for record in records])
        self._link_s = 1 / np.array([record.network_tps for record in records])
        self.rate_tps, self.rows, self.step_s, self.wait_s = zeros.copy(), zeros.copy(), zeros.copy(), zeros.copy()
        self.joined, self._link_queue = zeros.copy(), zeros.copy()

    _decode_s: Floats = field(init=False)
    _forward_s: Floats = field(init=False)
    _link_s: Floats = field(init=False)

    def add(self, session: Session) -> None:
        self.sessions.append(session)
        self.joined[session.rows] += 1

    def live(self, row: int) -> LiveServer:
        """Return what a server says of itself now, sessions that came in this second included."""
        wait_s = float(self.wait_s[row])
        batch = self.rows[row] + self.joined[row]
        return self.fleet.loaded(row, batch=batch, step_s=float(self.step_s[row]) + wait_s, queue_s=wait_s)

    def advance(self, seconds: float) -> list[Session]:
        """Let time pass; the sessions that are done by then, which are gone."""
        self._settle()
        self.joined[:] = 0
        for session in self.sessions:
            session.tokens_left -= session.rate_tps * seconds
        done = [session for session in self.sessions if session.tokens_left <= 0]
        self.sessions = [session for session in self.sessions if session.tokens_left > 0]
        return done

    def _settle(self) -> None:
        """Make rates, rows and queues agree."""
        count, servers = len(self.sessions), len(self.rate_tps)
        at = np.concatenate([session.rows for session in self.sessions])
        blocks = np.concatenate([session.blocks for session in self.sessions])
        travel_s = np.concatenate([session.travel_s for session in self.sessions])
        owner = np.repeat(np.arange(count), [len(session.rows) for session in self.sessions])
        present = np.bincount(at, minlength=servers)
        others = np.maximum(present - 1, 0) / np.maximum(present, 1)
        rates = np.zeros(count)
        for _ in range(_ROUNDS):
            stay_s = blocks * self._row_s(at) + self._wait_s(others)[at] + self._link_s[at]
            cycle_s = np.bincount(owner, travel_s + stay_s, minlength=count)
            rates = 1 / cycle_s
            arrivals = np.bincount(at, rates[owner], minlength=servers)
            self.rate_tps += _DAMPING * (arrivals - self.rate_tps)
            work = np.bincount(at, rates[owner] * blocks, minlength=servers) / np.maximum(arrivals, 1e-12)
            self.step_s = work * np.maximum(self._decode_s, np.maximum(self.rows, 1) * self._forward_s)
            rows = np.clip(self.rate_tps * self.step_s, np.minimum(present, 1), np.maximum(present, 1))
            self.rows += _DAMPING * (np.where(present > 0, rows, 0) - self.rows)
            self._link_queue += _DAMPING * (
                np.minimum(self.rate_tps * self._link_s * (1 + others * self._link_queue), present) - self._link_queue
            )
        self.wait_s = self._wait_s(others)
        for session, rate in zip(self.sessions, rates.tolist(), strict=True):
            session.rate_tps = rate

    def _row_s(self, at: Ints) -> Floats:
        """Time a block of a step."""
        result: Floats = np.maximum(self._decode_s[at], np.maximum(self.rows[at], 1) * self._forward_s[at])
        return result

    def _wait_s(self, others: Floats) -> Floats:
        link_s = self._link_s * others * self._link_queue
        return link_s + np.minimum(self.rate_tps * self.step_s, 1) * others * self.step_s / 2
