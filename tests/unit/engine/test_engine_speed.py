"""Speeds that real steps keep true."""

import pytest
from potluck_engine.compute.steps import CostMeter
from potluck_engine.measure import Speed, is_news, refreshed

SPEED = Speed(inference_tps=100.0, forward_tps=5000.0)


def test_real_steps_show_the_speed_of_one_block() -> None:
    meter = CostMeter()
    assert refreshed(SPEED, meter.cost(), 4) == SPEED
    meter.add(1, 0.02)
    meter.add(256, 0.5)
    now = refreshed(SPEED, meter.cost(), 4)
    assert now.inference_tps == pytest.approx(200)
    assert now.forward_tps == pytest.approx(2048)


def test_a_slower_machine_is_news_after_a_few_steps() -> None:
    meter = CostMeter()
    meter.add(1, 0.01)
    before = refreshed(SPEED, meter.cost(), 1)
    meter.add(1, 0.02)
    assert not is_news(before.inference_tps, refreshed(before, meter.cost(), 1).inference_tps)
    for _ in range(3):
        meter.add(1, 0.02)
    assert is_news(before.inference_tps, refreshed(before, meter.cost(), 1).inference_tps)
