"""Figure `public_sybil`: what a hundred names on one machine earn in a public swarm, over what one name earns there.

All names are past their probation. Each announces the whole machine's speed, but they share it, as the machine's load
shows. Clients choose among names as they do among servers, and see all names of the machine at one address.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from msgspec.structs import replace

from benchmarks.figures import Measured, figure
from benchmarks.swarms.fleet import Client, Fleet, Floats, peer_of
from benchmarks.swarms.traffic import Session, Traffic
from benchmarks.swarms.volunteers import scenario
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer
from potluck.routing.experience import Parts
from potluck.routing.route import Vantage
from potluck.routing.search import DRAWS, MOST_ASKED, draw_routes, find_route, shortlist
from potluck.routing.servers import ServerColumns

_SERVERS, _CLIENTS, _NAMES = 60, 40, 100
_SESSIONS = (20, 120)  # sessions at a time: a swarm with time to spare, and a busy one
_MEAN_TOKENS = 256
_ADVERTS_S, _WARM_UP_S, _SECONDS = 30, 60, 120


@figure("public_sybil", unit="ratio", reach=1.05, shown=True)
def earnings(soak: bool) -> Measured:
    """What 100 names on one machine earn in a public swarm, over what one name earns there, all past probation.

    60 servers of a simulation that runs the client's routing: the mean of a swarm with time to spare and a busy
    one, ten seeds each (thirty in soak).
    """
    seeds = range(30 if soak else 10)
    gains = {sessions: [_gain(seed, sessions) for seed in seeds] for sessions in _SESSIONS}
    means = {f"{sessions}_sessions": round(float(np.mean(each)), 3) for sessions, each in gains.items()}
    return Measured(
        float(np.mean(list(means.values()))), {**means, "names": _NAMES, "servers": _SERVERS, "seeds": len(seeds)}
    )


def _gain(seed: int, sessions: int) -> float:
    """Return what names bring the machine that earns the median of those that earn anything."""
    alone = _served(seed, sessions, machine=0, names=1)
    earning = np.flatnonzero(alone)
    machine = int(earning[np.argsort(alone[earning])[len(earning) // 2]])
    return float(_served(seed, sessions, machine, _NAMES)[machine] / alone[machine])


def _served(seed: int, sessions: int, machine: int, names: int) -> Floats:
    """Return the block-tokens that each machine serves in a while, one of which has so many names."""
    fleet = Fleet.random(_SERVERS, seed)
    rng = np.random.default_rng([seed, 2])
    market = _Market(fleet, Traffic(fleet), machine, names, np.random.default_rng([seed, 3]))
    clients = Client.random(fleet, _CLIENTS, np.random.default_rng([seed, 1]))
    waiting, served = sessions, np.zeros(_SERVERS)
    for second in range(_WARM_UP_S + _SECONDS):
        for _ in range(waiting):
            client = clients[int(rng.integers(_CLIENTS))]
            tokens = rng.exponential(_MEAN_TOKENS) + 1
            market.traffic.add(Session.of(0, tokens, market.route(client), client.rtts_s))
        waiting = len(market.traffic.advance(1.0))
        market.tick(second)
        if second >= _WARM_UP_S:
            for session in market.traffic.sessions:
                np.add.at(served, session.rows, session.rate_tps * session.blocks)
    return served


@dataclass(slots=True)
class _Market:
    """What clients know of a fleet one of whose machines has many names."""

    fleet: Fleet
    traffic: Traffic
    machine: int
    names: int
    rng: np.random.Generator
    _rows: dict[PeerId, int] = field(init=False)
    _places: dict[PeerId, str] = field(init=False)
    _adverts: dict[PeerId, LiveServer] = field(init=False)
    _columns: ServerColumns = field(init=False)

    def __post_init__(self) -> None:
        self._rows = {peer_of(row): row for row in range(len(self.fleet.servers))}
        self._rows |= {PeerId(f"{self.machine:06}-{name:03}"): self.machine for name in range(1, self.names)}
        self._places = {peer: f"place {row}" for peer, row in self._rows.items()}
        self._adverts = {peer: self._named(peer, self.fleet.servers[row]) for peer, row in self._rows.items()}
        self._columns = ServerColumns.of(list(self._adverts.values()))

    def tick(self, second: int) -> None:
        for number, (peer, row) in enumerate(self._rows.items()):
            if number % _ADVERTS_S == second % _ADVERTS_S:
                self._adverts[peer] = self._named(peer, self.traffic.live(row))
        self._columns = ServerColumns.of(list(self._adverts.values()), self._columns)

    def route(self, client: Client) -> Parts:
        """Return a route by the machines' names of the fleet."""
        known_s = {peer: client.known_s[peer_of(row)] for peer, row in self._rows.items()}
        vantage = Vantage(rtts_s=known_s, places=self._places)
        whole = Span(0, scenario()["model"]["num_blocks"])
        routes = draw_routes(self._columns, whole, self.rng, draws=DRAWS, vantage=vantage)
        asked = [server.peer_id for server in shortlist(routes, MOST_ASKED)]
        quoted = [self._named(peer, self.traffic.live(self._rows[peer])) for peer in asked]
        client.note([self._rows[peer] for peer in asked])
        known_s = {peer: client.known_s[peer_of(row)] for peer, row in self._rows.items()}
        parts = find_route(ServerColumns.of(quoted, self._columns), whole, vantage=Vantage(rtts_s=known_s)).parts
        return tuple((peer_of(self._rows[peer]), span) for peer, span in parts)

    def _named(self, peer: PeerId, server: LiveServer) -> LiveServer:
        record, beat = server.record, server.heartbeat
        return LiveServer(replace(record, peer_id=peer), replace(beat, peer_id=peer))
