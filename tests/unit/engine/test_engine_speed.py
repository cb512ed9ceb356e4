"""Speeds that are known from before, and kept true by real steps."""

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.block_server import make_swarm
from potluck_control.launch_spec import LaunchSpec
from potluck_engine.compute.steps import CostMeter
from potluck_engine.measure import Speed, is_news, refreshed
from potluck_engine.speed_cache import SpeedCache, speed_key

from potluck.membership.membership import Membership

SPEED = Speed(inference_tps=100.0, forward_tps=5000.0)


def test_a_speed_is_known_again_by_its_key_only(tmp_path: Path) -> None:
    cache = SpeedCache(tmp_path / "speeds.json")
    assert cache.find("one") is None
    cache.remember("one", SPEED)
    assert SpeedCache(tmp_path / "speeds.json").find("one") == SPEED
    assert cache.find("other") is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"one": 1}', '{"one": [1]}', '{"one": [1, "2"]}', '{"one": [NaN, 1]}']
)
def test_what_does_not_read_well_is_as_if_it_were_not_there(tmp_path: Path, text: str) -> None:
    path = tmp_path / "speeds.json"
    path.write_text(text)
    assert SpeedCache(path).find("one") is None
    SpeedCache(path).remember("two", SPEED)
    assert SpeedCache(path).find("two") == SPEED


def test_a_full_disk_costs_nothing_but_a_measurement(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    SpeedCache(tmp_path / "file" / "speeds.json").remember("one", SPEED)


def test_the_oldest_go_first(tmp_path: Path) -> None:
    cache = SpeedCache(tmp_path / "speeds.json")
    for index in range(70):
        cache.remember(f"key {index}", SPEED)
    assert cache.find("key 0") is None
    assert cache.find("key 69") == SPEED


def test_number_formats_threads_and_model_have_speeds_of_their_own() -> None:
    swarm = make_swarm(4)
    config = LaunchSpec(Membership(swarm), "folder", Path("/tmp"))
    others = [
        replace(config, dtype="bfloat16"),
        replace(config, quantization="int8"),
        replace(config, cache_quantization="int8"),
        replace(config, threads=7),
        replace(config, membership=Membership(replace(swarm, model="another"))),
    ]
    keys = [speed_key(each) for each in (config, *others)]
    assert len(set(keys)) == len(keys)
    assert speed_key(replace(config, device="cuda:0")) != keys[0]  # also where there is none


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
