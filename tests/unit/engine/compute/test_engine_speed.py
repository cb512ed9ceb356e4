"""How fast an engine is, how busy it is, and how long it rests."""

import pytest
from helpers.server_records import record_of
from potluck_engine.compute.speed import LoadMeter, Speed, link_wait_s, speed_of_steps
from potluck_engine.compute.steps import CostMeter
from potluck_engine.compute.threads import rest_s

from potluck.directory.announcer import is_worth_telling

SPEED = Speed(inference_tps=100.0, forward_tps=5000.0)


def test_real_steps_show_the_speed_of_one_block() -> None:
    meter = CostMeter()
    assert speed_of_steps(SPEED, meter.cost(), 4) == SPEED
    meter.add(1, 0.02)
    meter.add(256, 0.5)
    now = speed_of_steps(SPEED, meter.cost(), 4)
    assert now.inference_tps == pytest.approx(200)
    assert now.forward_tps == pytest.approx(2048)


def test_a_slower_machine_is_news_after_a_few_steps() -> None:
    meter = CostMeter()
    meter.add(1, 0.01)
    before = speed_of_steps(SPEED, meter.cost(), 1)
    meter.add(1, 0.02)
    assert not is_told(before, speed_of_steps(before, meter.cost(), 1))
    for _ in range(3):
        meter.add(1, 0.02)
    assert is_told(before, speed_of_steps(before, meter.cost(), 1))


def is_told(before: Speed, now: Speed) -> bool:
    old, new = (record_of("me", 0, 1, inference_tps=speed.inference_tps) for speed in (before, now))
    return is_worth_telling(old, new)


def test_load_is_the_median_of_recent_steps_and_forgotten_when_they_are_old() -> None:
    meter = LoadMeter()
    for number in range(9):
        meter.steps.append((number / 10, 10.0 + number, number))
    load = meter.load(1.0, rows=2.6)
    assert (load.batch, load.step_ms, load.queue_ms) == (3, 14.0, 4.0)
    assert meter.load(60.0, rows=2.6).batch == 0
    assert meter.load(60.0, rows=2.6).step_ms == 0.0


def test_a_busy_link_adds_to_the_wait() -> None:
    meter = LoadMeter()
    meter.network_tps = 20.0
    for number in range(10):
        meter.steps.append((number / 10, 5.0, 0.0))
    assert meter.load(1.0, rows=1).queue_ms == pytest.approx(1000 * link_wait_s(10, 20.0))
    assert link_wait_s(10, 20.0) == pytest.approx(0.05)
    assert link_wait_s(1000, 20.0) < 1.0, "a formula for what cannot go on is cut"


@pytest.mark.parametrize(
    ("duty", "worked_s", "rests_s"), [(1.0, 5.0, 0.0), (0.5, 0.1, 0.1), (0.25, 0.1, 0.3), (0.1, 60.0, 1.0)]
)
def test_rest_keeps_the_share_of_work_and_is_never_long(duty: float, worked_s: float, rests_s: float) -> None:
    assert rest_s(duty, worked_s) == pytest.approx(rests_s)
