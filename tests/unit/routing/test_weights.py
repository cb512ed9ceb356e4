"""Servers with other weights of the same name are found and left out, with a reason."""

from __future__ import annotations

import pytest
from helpers.server_records import server_of

from potluck.protocol.blocks import Span
from potluck.routing import NoRouteError, Vantage, find_route
from potluck.routing.servers import ServerColumns
from potluck.routing.weights import with_other_weights

RIGHT = "ab" * 32
OTHER_BLOCKS = tuple(f"{block:015x}f" for block in range(4))


def test_nobody_is_compared_in_a_swarm_that_pins_no_files() -> None:
    servers = [server_of("a", 0, 4), server_of("b", 0, 4, block_digests=OTHER_BLOCKS)]
    assert with_other_weights(servers, "") == frozenset()


def test_an_older_server_counts_unless_its_blocks_differ_from_checked_ones() -> None:
    servers = [
        server_of("checked", 0, 4, weights=RIGHT),
        server_of("older", 2, 6),
        server_of("elsewhere", 4, 6),
        server_of("demo of another version", 0, 4, block_digests=OTHER_BLOCKS),
    ]
    assert with_other_weights(servers, RIGHT) == {"demo of another version"}


def test_a_server_that_checked_its_files_by_another_manifest_is_left_out() -> None:
    assert with_other_weights([server_of("a", 0, 4, weights="cd" * 32)], RIGHT) == {"a"}


def test_people_read_why_such_a_server_is_not_used() -> None:
    stray = server_of("a", 0, 4, weights="cd" * 32)
    vantage = Vantage(banned={stray.peer_id}, strays={stray.peer_id})
    with pytest.raises(NoRouteError) as error:
        find_route(ServerColumns.of([stray]), Span(0, 4), vantage=vantage)
    assert error.value.excluded == {stray.peer_id: "holds other weights than the swarm's model"}
