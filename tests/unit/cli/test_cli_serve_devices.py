"""What `potluck serve` makes of its devices."""

from __future__ import annotations

import argparse

import pytest
from helpers.engine_peers import CHECKPOINT, SWARM
from potluck_cli.serve import add_arguments, engine_config
from potluck_engine.config import EngineConfig

from potluck.errors import UsageError
from potluck.protocol.invite import encode_invite


def config_of(*options: str) -> EngineConfig:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return engine_config(parser.parse_args([str(CHECKPOINT), "--swarm", encode_invite(SWARM), *options]))


def test_the_first_of_several_devices_is_the_engines_own() -> None:
    config = config_of("--devices", "cuda:1,cuda:0", "--threads", "4")
    assert (config.device, config.devices, config.threads) == ("cuda:1", ("cuda:1", "cuda:0"), 4)


def test_ranks_on_the_cpu_share_its_threads() -> None:
    assert config_of("--devices", "cpu, cpu", "--threads", "4").threads == 2
    assert config_of("--devices", "cpu,cpu", "--threads", "1").threads == 1


def test_one_device_is_no_list() -> None:
    assert config_of("--device", "cpu").devices == ()


def test_devices_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(UsageError, match="cpu and cuda:0"):
        config_of("--devices", "cpu,cuda:0")
