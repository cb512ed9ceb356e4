"""The worth of places, against a slow and plain reckoning."""

import numpy as np
import pytest
from potluck_engine.placement.plan import plan_moves
from potluck_engine.placement.price import ServerTable, best_places, mean_of, soft_min, worth_of_windows

NUM_BLOCKS = 16


def random_servers(seed: int, count: int = 8) -> ServerTable:
    rng = np.random.default_rng(seed)
    window = rng.integers(1, 9, count)
    start = rng.integers(0, NUM_BLOCKS - window + 1)
    return ServerTable(start, window.copy(), window, rng.exponential(100.0, count), np.zeros((count, NUM_BLOCKS)))


def coverage_of(servers: ServerTable) -> np.ndarray:
    return servers.throughput_tps @ servers.spans


@pytest.mark.parametrize("seed", range(8))
def test_windows_are_worth_what_the_swarm_would_be(seed: int):
    servers = random_servers(seed)
    coverage = coverage_of(servers)
    mean = mean_of(coverage)
    own = servers.spans * servers.throughput_tps[:, None]
    worth, now = worth_of_windows(coverage - own, servers, mean)
    for row in range(len(servers.start)):
        assert now[row] == pytest.approx(float(soft_min(coverage, mean)), rel=1e-6)
        for block in range(NUM_BLOCKS):
            if block + servers.window[row] > NUM_BLOCKS:
                assert worth[row, block] == 0
                continue
            there = coverage - own[row]
            there[block : block + servers.window[row]] += servers.throughput_tps[row]
            assert worth[row, block] == pytest.approx(float(soft_min(there, mean)), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_place_gains_what_the_swarm_gains_whatever_the_speeds(seed: int):
    servers = random_servers(seed)
    coverage = coverage_of(servers)
    start, gain = best_places(coverage, servers)
    worth, now = worth_of_windows(
        coverage - servers.spans * servers.throughput_tps[:, None], servers, mean_of(coverage)
    )
    assert start.tolist() == worth.argmax(axis=1).tolist()
    assert gain == pytest.approx(worth.max(axis=1) - now, rel=1e-6, abs=1e-9)


def test_a_place_that_takes_the_horizon_to_fetch_is_worth_half():
    servers = random_servers(0)
    _, near = best_places(coverage_of(servers), servers, 120.0)
    fetch_s = np.full((8, NUM_BLOCKS), 120.0) / servers.window[:, None]
    far = ServerTable(servers.start, servers.length, servers.window, servers.throughput_tps, fetch_s)
    assert best_places(coverage_of(servers), far, 120.0)[1] == pytest.approx(near / 2)


def test_an_empty_block_far_away_does_not_drown_the_rest_in_rounding():
    """Whoever fills the only hole is told its true worth: prices of empty blocks are 10^217 times those of others."""
    others = np.full((1, NUM_BLOCKS), 100.0)
    others[0, 3] = 0.0
    server = ServerTable(np.array([0]), np.array([0]), np.array([2]), np.array([100.0]), np.zeros((1, NUM_BLOCKS)))
    worth, _ = worth_of_windows(others, server, 100.0)
    assert worth[0, 3] == pytest.approx(1.02, rel=0.02)
    assert worth[0, 8] < 0.05


def test_the_soft_minimum_is_near_the_minimum():
    coverage = np.array([1.0, 1.0, 0.3, 1.0])
    assert 0.3 < float(soft_min(coverage, 1.0)) < 0.36


def test_a_place_whose_files_are_there_is_preferred_among_equals():
    servers = random_servers(0, count=1)
    fetch_s = np.full((1, NUM_BLOCKS), 60.0)
    fetch_s[0, 4:13] = 0.0
    joining = ServerTable(np.array([0]), np.array([0]), servers.window, servers.throughput_tps, fetch_s)
    start, _ = best_places(np.ones(NUM_BLOCKS), joining)
    assert not fetch_s[0, start[0] : start[0] + servers.window[0]].any()


@pytest.mark.parametrize("seed", range(4))
def test_a_plan_makes_the_swarm_better_and_is_the_same_for_everybody(seed: int):
    servers = random_servers(seed, count=6)
    coverage = coverage_of(servers)
    plan = plan_moves(coverage, servers)
    again = plan_moves(coverage, servers)
    assert (plan.start == again.start).all()
    there = ServerTable(plan.start, servers.window, servers.window, servers.throughput_tps, servers.fetch_s)
    gained = float(soft_min(coverage_of(there), mean_of(coverage)) - soft_min(coverage, mean_of(coverage)))
    assert gained >= plan.gain >= 0
    assert (plan.gain > 0) == bool((plan.start != servers.start).any())


def test_a_plan_moves_nobody_who_would_have_to_download_for_long():
    servers = random_servers(1, count=6)
    far = ServerTable(
        servers.start, servers.length, servers.window, servers.throughput_tps, np.full((6, NUM_BLOCKS), 1000.0)
    )
    every_block_is_served = coverage_of(servers) + 1e-3
    assert (plan_moves(every_block_is_served, far).start == servers.start).all()
