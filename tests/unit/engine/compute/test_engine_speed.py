"""Speeds that real steps keep true."""

import pytest
from helpers.server_records import record_of
from potluck_engine.compute.speed import Speed, speed_of_steps
from potluck_engine.compute.steps import CostMeter

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
