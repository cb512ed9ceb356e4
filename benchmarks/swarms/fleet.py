"""A swarm that stands still, and its clients: the scenario's volunteers with spans, places on a map, and their pings.

The scenario says nothing of distances, so these are invented: a square of 120 ms round trip a side, and a few
milliseconds for everybody's own line. Spans are as if all had joined one after the other, each where there is least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from benchmarks.swarms.volunteers import random_volunteer, scenario
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import Heartbeat, LiveServer, NumberFormat, ServerRecord, ServerState
from potluck.routing.latency import estimate_rtts

Floats = NDArray[np.float64]

_SIDE_S = 0.12
_LINE_S, _LINE_SIGMA = 0.008, 0.6
_PINGS = 16  # measured by each server
_FREE_TOKENS = 1 << 20
_LANDMARKS = 32  # servers that a client has pinged


@dataclass(frozen=True, slots=True)
class Places:
    """Points on the map and the delay of each one's own line, seconds there and back."""

    xy: Floats  # [places, 2], in seconds
    line_s: Floats  # [places]

    @classmethod
    def random(cls, number: int, rng: np.random.Generator) -> Places:
        return cls(rng.uniform(0, _SIDE_S, (number, 2)), _LINE_S * rng.lognormal(0, _LINE_SIGMA, number))

    def rtts_s(self, xy: Floats, line_s: float) -> Floats:
        """Round trips from one point to all places."""
        away = self.xy - xy
        rtts_s: Floats = np.hypot(away[:, 0], away[:, 1]) + self.line_s + line_s
        return rtts_s


@dataclass(frozen=True, slots=True)
class Fleet:
    """Servers with records and places, by row."""

    servers: tuple[LiveServer, ...]
    places: Places

    @classmethod
    def random(cls, number: int, seed: int) -> Fleet:
        rng = np.random.default_rng(seed)
        volunteers = [random_volunteer(rng) for _ in range(number)]
        num_blocks = scenario()["model"]["num_blocks"]
        coverage = np.zeros(num_blocks)
        places = Places.random(number, rng)
        servers = []
        for row, volunteer in enumerate(volunteers):
            sums = np.convolve(coverage, np.ones(volunteer.window), "valid")
            start = int(rng.choice(np.flatnonzero(sums <= sums.min() + 1e-9)))
            span = Span(start, start + volunteer.window)
            coverage[span.start : span.end] += volunteer.throughput_tps
            rtts_s = places.rtts_s(places.xy[row], places.line_s[row])
            known = rng.choice(number, min(_PINGS, number), replace=False)
            record = ServerRecord(
                peer_id=peer_of(row),
                span=span,
                revision="main",
                format=NumberFormat("bfloat16", "int4"),
                block_digests=tuple(f"{block:016x}" for block in span),
                max_batch_tokens=2048,
                max_length=8192,
                inference_tps=volunteer.decode_tps,
                forward_tps=volunteer.forward_tps,
                network_tps=volunteer.network_tps,
                throughput_tps=volunteer.throughput_tps,
                version="simulated",
            )
            pings_s = {peer_of(int(other)): float(rtts_s[other]) for other in known if other != row}
            beat = Heartbeat(record.peer_id, ServerState.ONLINE, _FREE_TOKENS, pings_s=pings_s)
            servers.append(LiveServer(record, beat))
        return cls(tuple(servers), places)

    def loaded(self, row: int, *, batch: float, step_s: float, queue_s: float) -> LiveServer:
        """The server with what it would say of such a load."""
        server = self.servers[row]
        beat = replace(server.heartbeat, batch=round(batch), step_ms=1000 * step_s, queue_ms=1000 * queue_s)
        return LiveServer(server.record, beat)


@dataclass(frozen=True, slots=True)
class Client:
    """A client at a place of the map; the functions of `potluck.routing` estimate what it has not measured."""

    rtts_s: Floats  # true ones, by row of the fleet
    measured_s: dict[PeerId, float]  # round trips to servers it has pinged
    known_s: dict[PeerId, float]  # measured and estimated

    @classmethod
    def random(cls, fleet: Fleet, number: int, rng: np.random.Generator) -> list[Client]:
        places = Places.random(number, rng)
        clients = []
        for xy, line_s in zip(places.xy, places.line_s, strict=True):
            rtts_s = fleet.places.rtts_s(xy, line_s)
            landmarks = rng.choice(len(rtts_s), min(_LANDMARKS, len(rtts_s)), replace=False)
            measured_s = {peer_of(int(row)): float(rtts_s[row]) for row in landmarks}
            clients.append(cls(rtts_s, measured_s, estimate_rtts(fleet.servers, measured_s)))
        return clients

    def note(self, rows: Sequence[int]) -> None:
        """Servers were asked for quotes, and pinged on this occasion."""
        for row in rows:
            peer = peer_of(row)
            self.known_s[peer] = self.measured_s[peer] = float(self.rtts_s[row])


def peer_of(row: int) -> PeerId:
    """Sorted as the rows are."""
    return PeerId(f"{row:06}")
