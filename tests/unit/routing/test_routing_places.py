"""Tests that many names at one place of the network win no more often than one."""

from __future__ import annotations

import numpy as np
from helpers.server_records import server_of

from potluck.protocol.blocks import PeerId, Span
from potluck.routing import ServerColumns, Vantage, draw_routes

ALL = Span(0, 8)
NAMES = [f"name {number}" for number in range(30)]


def share_of_names(places: dict[PeerId, str]) -> float:
    """Return how often a single draw chooses one of thirty names rather than one honest server."""
    columns = ServerColumns.of([server_of("honest", 0, 8), *(server_of(name, 0, 8) for name in NAMES)])
    rng = np.random.default_rng(0)
    draws = [
        draw_routes(columns, ALL, rng, draws=1, vantage=Vantage(places=places))[0].hops[0].peer_id for _ in range(300)
    ]
    return sum(peer != "honest" for peer in draws) / len(draws)


def test_names_at_one_place_share_their_luck() -> None:
    assert 0.4 < share_of_names({PeerId(name): "192.0.2.0/24" for name in NAMES}) < 0.6


def test_servers_at_different_places_have_their_own() -> None:
    assert share_of_names({}) > 0.9
