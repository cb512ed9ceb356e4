"""Figure `distance_error`: how well the round trip between two servers is known, from what servers announce.

Places at random points of a map are joined by an emulated internet with jitter and losses. Each pings as many others
as a server announces, over UDP. What a client knows without pinging them is compared with the links' own delays: pings
of the pair itself, bounds through landmarks, and Vivaldi's coordinates with heights, fed by the same pings. The value
is that of `between_servers`, which routes use. Needs root.

Source of the coordinates: Dabek, Cox, Kaashoek and Morris, "Vivaldi: a decentralized network coordinate system", 2004.
"""

from __future__ import annotations

import selectors
import socket
import statistics
import time
from collections.abc import Iterable, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Measured
from benchmarks.routing.fleet import Places
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import Heartbeat, LiveServer, NumberFormat, ServerRecord, ServerState
from potluck.routing.latency import between_servers
from tests.helpers.internet import SAME_CONTINENT, Internet, Link, internet

_PLACES, _SOAK_PLACES = 25, 45
_ANNOUNCED = 8  # others that each one pings: a third, so that most pairs have no ping of their own
_PINGS = 3
_SPACING_S = 0.002
_LAST_S = 1.0
_ROUNDS, _STEP, _ERROR_STEP = 200, 0.25, 0.25  # of Vivaldi, with the constants of its authors

Pair = tuple[int, int]
Floats = NDArray[np.float64]


def error(soak: bool) -> Measured:
    """The first place is the client's, the others are servers'."""
    number, rng = _SOAK_PLACES if soak else _PLACES, np.random.default_rng(19)
    places = Places.random(number, rng)
    true_s = {pair: float(places.rtts_s(places.xy[pair[0]], places.line_s[pair[0]])[pair[1]]) for pair in _all(number)}
    mean_s = {pair: rtt_s + SAME_CONTINENT.jitter_s for pair, rtt_s in true_s.items()}  # half of it each way
    names = [f"place{place}" for place in range(number)]
    links = {
        (names[one], names[other]): Link(rtt_s / 2, SAME_CONTINENT.jitter_s, loss=SAME_CONTINENT.loss)
        for (one, other), rtt_s in true_s.items()
    }
    wanted = {_pair(0, server) for server in range(1, number)}
    for server in range(1, number):
        others = [place for place in range(1, number) if place != server]
        wanted |= {_pair(server, int(other)) for other in rng.choice(others, _ANNOUNCED, replace=False)}
    with internet(names, SAME_CONTINENT, links) as world:
        measured_s = _pinged(world, sorted(wanted))
    pairs = [pair for pair in true_s if pair[0]]
    by_product = _between(measured_s, number, pairs)
    without = {
        pair: _between({p: s for p, s in measured_s.items() if p != pair}, number, [pair])[pair] for pair in pairs
    }
    coordinates = _vivaldi(measured_s, number, rng)
    seen = [pair for pair in pairs if pair in measured_s]
    guessed = [pair for pair in pairs if pair not in measured_s]
    detail = {
        "servers": number - 1,
        "pings_of_the_pair": _errors(measured_s, mean_s, seen),
        "landmarks": _errors(without, mean_s, pairs),
        "landmarks_where_nobody_pinged": _errors(by_product, mean_s, guessed),
        "vivaldi": _errors(coordinates, mean_s, pairs),
        "vivaldi_where_nobody_pinged": _errors(coordinates, mean_s, guessed),
    }
    value = statistics.median(abs(by_product[pair] / mean_s[pair] - 1) for pair in pairs)
    return Measured(value, detail)


def _errors(found_s: Mapping[Pair, float], true_s: Mapping[Pair, float], pairs: Iterable[Pair]) -> dict[str, float]:
    """The median and the 90th percentile of relative errors."""
    errors = [abs(found_s[pair] / true_s[pair] - 1) for pair in pairs]
    return {"median": round(float(np.median(errors)), 3), "p90": round(float(np.quantile(errors, 0.9)), 3)}


def _between(measured_s: Mapping[Pair, float], number: int, pairs: list[Pair]) -> dict[Pair, float]:
    """What a client at place 0 finds."""
    servers = [_server(place, measured_s) for place in range(1, number)]
    rtts_s = np.array([measured_s.get((0, place), 0.15) for place in range(1, number)])
    ones, others = np.array(pairs).T - 1
    return dict(zip(pairs, between_servers(servers, rtts_s, ones, others).tolist(), strict=True))


def _server(place: int, measured_s: Mapping[Pair, float]) -> LiveServer:
    peer = PeerId(str(place))
    record = ServerRecord(
        peer, Span(0, 1), "main", NumberFormat("float32"), ("0" * 16,), 1024, 2048, 100.0, 100.0, 100.0, 100.0, "1"
    )
    pings_s = {
        PeerId(str(one if other == place else other)): rtt_s
        for (one, other), rtt_s in measured_s.items()
        if place in (one, other) and one
    }
    return LiveServer(record, Heartbeat(peer, ServerState.ONLINE, 1000, pings_s=pings_s))


def _vivaldi(measured_s: Mapping[Pair, float], number: int, rng: np.random.Generator) -> dict[Pair, float]:
    """Return the distance of each pair by coordinates of two dimensions and a height, after many rounds of pings."""
    xy, height = rng.normal(0, 0.001, (number, 2)), np.full(number, 0.001)
    doubt = np.ones(number)
    samples = [
        each for (one, other), rtt_s in measured_s.items() for each in ((one, other, rtt_s), (other, one, rtt_s))
    ]
    for _ in range(_ROUNDS):
        for sample in rng.permutation(len(samples)):
            one, other, rtt_s = samples[sample]
            apart = xy[one] - xy[other]
            length = float(np.hypot(*apart)) or 1e-9
            found_s = length + height[one] + height[other]
            weight = doubt[one] / (doubt[one] + doubt[other])
            off = abs(found_s - rtt_s) / rtt_s
            doubt[one] = off * _ERROR_STEP * weight + doubt[one] * (1 - _ERROR_STEP * weight)
            force = _STEP * weight * (rtt_s - found_s)
            xy[one] += force * apart / length
            height[one] = max(height[one] + force * (height[one] + height[other]) / found_s, 1e-6)
    return {(i, j): float(np.hypot(*(xy[i] - xy[j]))) + height[i] + height[j] for i, j in _all(number)}


def _pinged(world: Internet, pairs: list[Pair]) -> dict[Pair, float]:
    """Return the median round trip of each pair whose pings came back."""
    sockets = {place: world.udp_socket(name) for place, name in enumerate(world.places)}
    ports = {place: each.getsockname() for place, each in sockets.items()}
    times: dict[Pair, list[float]] = {}
    with selectors.DefaultSelector() as waiting:
        for each in sockets.values():
            each.setblocking(False)
            waiting.register(each, selectors.EVENT_READ)

        def receive(until_s: float) -> None:
            while (left_s := until_s - time.perf_counter()) > 0:
                for key, _ in waiting.select(left_s):
                    assert isinstance(key.fileobj, socket.socket)
                    data, sender = key.fileobj.recvfrom(64)
                    kind, one, other, sent_s = data.decode().split()
                    if kind == "ask":
                        key.fileobj.sendto(f"answer {one} {other} {sent_s}".encode(), sender)
                    else:
                        times.setdefault((int(one), int(other)), []).append(time.perf_counter() - float(sent_s))

        for one, other in pairs * _PINGS:
            sockets[one].sendto(f"ask {one} {other} {time.perf_counter()!r}".encode(), ports[other])
            receive(time.perf_counter() + _SPACING_S)
        receive(time.perf_counter() + _LAST_S)
    for each in sockets.values():
        each.close()
    return {pair: statistics.median(each) for pair, each in times.items()}


def _all(number: int) -> list[Pair]:
    return list(combinations(range(number), 2))


def _pair(one: int, other: int) -> Pair:
    return (min(one, other), max(one, other))
