"""Who sends a session where: our client with old heartbeats, noise and quotes; an oracle; and Petals.

Ours are the functions of `potluck.routing`, called as `potluck.client.servers` calls them. Petals' is written anew from
its description: the shortest path by declared speed, whole rests of spans, half round trips between servers, no load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from benchmarks.routing.fleet import Fleet, Floats, Places, peer_of
from benchmarks.routing.traffic import Traffic
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer
from potluck.routing.experience import Parts
from potluck.routing.latency import estimate_rtts
from potluck.routing.route import Vantage
from potluck.routing.search import DRAWS, MOST_ASKED, draw_routes, find_route, shortlist
from potluck.routing.servers import ServerColumns

_ADVERTS_S = 30
_LANDMARKS = 32  # servers that a client has pinged
_UNKNOWN_S, _PETALS_HOP_S, _PETALS_PINGED = 0.15, 0.018, 3


@dataclass(frozen=True, slots=True)
class Client:
    """A place on the map."""

    rtts_s: Floats  # true ones, by row of the fleet
    measured_s: dict[PeerId, float]  # of those it has pinged
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


class Policy(Protocol):
    def tick(self, second: int) -> None:
        """A second has passed."""

    def route(self, client: Client) -> Parts: ...


@dataclass(slots=True)
class Ours:
    """Heartbeats of the last half minute, each server's at another second.

    Attributes:
        draws: of noise; 0: the cheapest route without noise.
        asks: whether servers are asked for quotes.
    """

    fleet: Fleet
    traffic: Traffic
    whole: Span
    rng: np.random.Generator
    draws: int = DRAWS
    asks: bool = True
    guesses: bool = True  # round trips from peers' measurements
    _adverts: list[LiveServer] = field(init=False)
    _columns: ServerColumns = field(init=False)

    def __post_init__(self) -> None:
        self._adverts = list(self.fleet.servers)
        self._columns = ServerColumns.of(self._adverts)

    def tick(self, second: int) -> None:
        for row in range(second % _ADVERTS_S, len(self._adverts), _ADVERTS_S):
            self._adverts[row] = live(self.traffic, row)
        self._columns = ServerColumns.of(self._adverts, self._columns)

    def route(self, client: Client) -> Parts:
        vantage = Vantage(rtts_s=client.known_s if self.guesses else client.measured_s)
        if not self.draws:
            return find_route(self._columns, self.whole, vantage=vantage).parts
        routes = draw_routes(self._columns, self.whole, self.rng, draws=self.draws, vantage=vantage)
        if not self.asks:
            return routes[0].parts
        rows = [int(server.peer_id) for server in shortlist(routes, MOST_ASKED)]
        quoted = ServerColumns.of([live(self.traffic, row) for row in rows], self._columns)
        client.note(rows)
        return find_route(quoted, self.whole, vantage=Vantage(rtts_s=client.known_s)).parts


@dataclass(slots=True)
class Oracle:
    """Knows every server's load of this moment, and all distances."""

    traffic: Traffic
    whole: Span
    _now: list[LiveServer] = field(init=False)
    _columns: ServerColumns = field(init=False)

    def __post_init__(self) -> None:
        self._now = list(self.traffic.fleet.servers)
        self._columns = ServerColumns.of(self._now)

    def tick(self, second: int) -> None:
        self._now = [live(self.traffic, row) for row in range(len(self._now))]

    def route(self, client: Client) -> Parts:
        self._columns = ServerColumns.of(self._now, self._columns)
        rtts_s = {peer_of(row): float(rtt_s) for row, rtt_s in enumerate(client.rtts_s)}
        parts = find_route(self._columns, self.whole, vantage=Vantage(rtts_s=rtts_s)).parts
        for row in (int(peer) for peer, _ in parts):
            self._now[row] = live(self.traffic, row, expecting=1)
        return parts


@dataclass(slots=True)
class Petals:
    """Servers in the order of their ends: what the best way to each end costs, whoever comes before."""

    fleet: Fleet
    whole: Span
    rng: np.random.Generator
    _servers: Sequence[LiveServer] = field(init=False)
    _pings_s: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._servers = sorted(self.fleet.servers, key=lambda server: server.span.end)
        index = {server.peer_id: row for row, server in enumerate(self._servers)}
        self._pings_s = np.full((len(index), len(index)), _UNKNOWN_S)
        for row, server in enumerate(self._servers):
            for peer, ping_s in server.heartbeat.pings_s.items():
                self._pings_s[row, index[peer]] = ping_s

    def tick(self, second: int) -> None:
        pass

    def route(self, client: Client) -> Parts:
        servers = self._servers
        pinged = set(self.rng.choice(list(client.measured_s), 2 * _PETALS_PINGED, replace=False).tolist())
        rtts_s = np.array(
            [client.measured_s[each.peer_id] if each.peer_id in pinged else _UNKNOWN_S for each in servers]
        )
        ends = np.array([server.span.end for server in servers])
        cost_s = np.full(len(servers), np.inf)
        came_by = np.full(len(servers), -1)
        for row, server in enumerate(servers):
            block_s = 1 / server.record.inference_tps
            if server.span.start == self.whole.start:
                cost_s[row] = rtts_s[row] / 2 + _PETALS_HOP_S + block_s * len(server.span)
            before = np.flatnonzero((ends >= server.span.start) & (ends < server.span.end))
            if len(before):
                step_s = self._pings_s[before, row] / 2 + _PETALS_HOP_S + block_s * (server.span.end - ends[before])
                best = int((cost_s[before] + step_s).argmin())
                if cost_s[before[best]] + step_s[best] < cost_s[row]:
                    cost_s[row], came_by[row] = cost_s[before[best]] + step_s[best], before[best]
        last = np.flatnonzero(ends == self.whole.end)
        row = int(last[(cost_s[last] + rtts_s[last] / 2).argmin()])
        parts: list[tuple[PeerId, Span]] = []
        while row >= 0:
            start = int(ends[came_by[row]]) if came_by[row] >= 0 else self.whole.start
            parts.insert(0, (servers[row].peer_id, Span(start, int(ends[row]))))
            row = int(came_by[row])
        return tuple(parts)


def live(traffic: Traffic, row: int, *, expecting: int = 0) -> LiveServer:
    """What a server says of itself now, sessions that came in this second included."""
    batch = traffic.rows[row] + traffic.joined[row] + expecting
    wait_s = float(traffic.wait_s[row])
    return traffic.fleet.loaded(row, batch=batch, step_s=float(traffic.step_s[row]) + wait_s, queue_s=wait_s)
