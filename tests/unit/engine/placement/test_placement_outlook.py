"""What people are told of the swarm."""

from __future__ import annotations

import pytest
from placement_swarms import own, server, swarm_map
from potluck_engine.placement.outlook import outlook

from potluck.protocol.blocks import Span
from potluck.protocol.records import ServerState


def test_the_thinnest_blocks_set_the_speed_and_one_more_server_helps_there():
    seen = outlook(swarm_map(server("a", 0, 12, tps=2.0), server("b", 0, 9, tps=3.0), me=own(3, tps=2.5)))
    assert seen.tokens_per_s == pytest.approx(2.0)
    assert seen.bottlenecks == (Span(9, 12),)
    assert seen.one_more_span == Span(9, 12)
    assert seen.one_more_tokens_per_s == pytest.approx(4.5)


def test_a_hole_means_that_nothing_passes():
    seen = outlook(swarm_map(server("a", 0, 4), server("b", 8, 12), me=own(4, tps=1.0)))
    assert seen.tokens_per_s == 0
    assert seen.bottlenecks == (Span(4, 8),)
    assert seen.one_more_tokens_per_s == pytest.approx(1.0)


def test_what_is_only_promised_does_not_count_as_speed():
    loading = server("a", 0, 12, state=ServerState.JOINING)
    assert outlook(swarm_map(loading, me=own(4))).tokens_per_s == 0


def test_one_more_server_may_not_be_enough():
    seen = outlook(swarm_map(me=own(4, tps=5.0)))
    assert seen.one_more_tokens_per_s == 0
