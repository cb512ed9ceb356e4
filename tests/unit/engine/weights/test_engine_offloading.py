"""What a token costs on one machine and through a swarm, and where both cost the same."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers.server_records import server_of
from potluck_engine.weights import offloading
from potluck_engine.weights.offloading import (
    HopCost,
    MachineRates,
    Mixture,
    SwarmCost,
    break_even_round_trip_s,
    measure_offloading,
    offloaded_step_s,
    swarm_step,
)

from potluck.blocks.streaming.placement import BlockSize, Placement, Room, place
from potluck.errors import UsageError
from potluck.protocol.blocks import PeerId, Span
from potluck.routing.route import Route, RouteHop

RATES = MachineRates(resident_bps=1000.0, ram_bps=100.0, disk_bps=10.0)


def placed(device_bytes: int, ram_bytes: int) -> Placement:
    return place([BlockSize(10)] * 8, Room(device_bytes, ram_bytes, 0, Path("/nowhere")))


@pytest.mark.parametrize(
    ("placement", "expected_s"),
    [
        pytest.param(placed(80, 0), 0.08, id="everything fits"),
        pytest.param(placed(40, 0), 6.0, id="six blocks from disk, two and two slots on the device"),
        pytest.param(placed(40, 20), 4.2, id="two of them from RAM"),
        pytest.param(placed(40, 60), 0.6, id="all of them from RAM"),
    ],
)
def test_a_machine_alone_waits_for_what_it_fetches(placement: Placement, expected_s: float) -> None:
    assert offloaded_step_s(placement, RATES) == pytest.approx(expected_s)


def test_computing_hides_a_fetch_that_is_faster() -> None:
    slow = MachineRates(resident_bps=1.0, ram_bps=100.0, disk_bps=10.0)
    assert offloaded_step_s(placed(40, 0), slow) == pytest.approx(80.0)


@pytest.mark.parametrize(("rows", "active"), [(1, 0.25), (2, 0.4375)])
def test_experts_that_work_for_a_step_are_computed_where_they_are(rows: int, active: float) -> None:
    """Of eight blocks of 10 bytes with 8 of experts, three quarters of which are in RAM alone."""
    room = Room(8 * (2 + 2), 80, 0, Path("/nowhere"), takes_experts=True)
    mixture, rates = Mixture(8 * 8, num_experts=4, num_chosen=1), replace(RATES, processor_bps=200.0)
    split = place([BlockSize(10, 8)] * 8, room)
    assert (split.ram_experts, split.hot_bytes) == (64, 16)
    expected_s = (16 + 16 * active) / 1000 + 48 * active / 200
    assert offloaded_step_s(split, rates, mixture, rows) == pytest.approx(expected_s)
    assert offloaded_step_s(placed(80, 0), rates, mixture, rows) == pytest.approx((16 + 64 * active) / 1000)
    assert mixture.rows_each(rows) == 1
    assert mixture.rows_each(16) == 4


def test_a_step_through_the_swarm_is_the_way_around_its_ring() -> None:
    speeds = {"inference_tps": 100.0, "forward_tps": 1000.0, "network_tps": 500.0}
    one = server_of("a", 0, 4, beat={"pings_s": {PeerId("b"): 0.04}}, **speeds)
    other = server_of("b", 4, 8, beat={"pings_s": {PeerId("a"): 0.04}}, **speeds)
    route = Route((RouteHop(one, Span(0, 4)), RouteHop(other, Span(4, 8))))
    rtts_s = {PeerId("a"): 0.02, PeerId("b"): 0.06}
    cost = swarm_step(route, rtts_s, rows=1)
    assert [hop.delay_s for hop in cost.hops] == pytest.approx([0.01, 0.02])
    assert cost.back_s == pytest.approx(0.03)
    assert (cost.transfer_s, cost.compute_s) == pytest.approx((2 / 500, 8 / 100))
    many = swarm_step(route, rtts_s, rows=11)
    assert (many.transfer_s, many.compute_s) == pytest.approx((22 / 500, 8 * (0.01 + 10 / 1000)))
    assert many.delay_s == cost.delay_s


def test_the_break_even_point_makes_both_equal() -> None:
    hops = (HopCost(0.01, 0.005, 0.02),) * 3
    even_s = break_even_round_trip_s(0.5, SwarmCost(hops, 0.01))
    far = SwarmCost((HopCost(even_s / 2, 0.005, 0.02),) * 3, even_s / 2)
    assert far.step_s == pytest.approx(0.5)
    assert break_even_round_trip_s(0.07, SwarmCost(hops, 0.01)) is None


def test_the_probe_runs_the_engine_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offloading, "_HIDDEN_SIZE", 128)
    monkeypatch.setattr(offloading, "_MIN_S", 0.0)
    found = measure_offloading(tmp_path, device="cpu", dtype=torch.float32, quantization="none", rows=2, expert_rows=1)
    assert min(found.resident_bps, found.ram_bps, found.disk_bps, found.processor_bps) > 0
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        measure_offloading(blocked / "folder", device="cpu", dtype=torch.float32, quantization="none", rows=1)


@pytest.mark.parametrize(("share", "is_real"), [(None, False), (0.5, False), (0.95, True)])
def test_a_disk_that_was_not_read_does_not_count_as_measured(share: float | None, is_real: bool) -> None:
    assert replace(RATES, read_share=share).is_disk_real is is_real
