"""What `potluck serve` makes of its devices."""

from __future__ import annotations

import argparse

import pytest
from helpers.engine_peers import CHECKPOINT, SWARM
from potluck_cli.serve import add_arguments, launch_spec
from potluck_control.launch_spec import LaunchSpec
from potluck_engine.fitting import resolved

from potluck.errors import UsageError
from potluck.membership.invite import Invite, encode_invite


def spec_of(*options: str) -> LaunchSpec:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return resolved(
        launch_spec(parser.parse_args([str(CHECKPOINT), "--swarm", encode_invite(Invite(SWARM)), *options]))
    )


def test_the_first_of_several_devices_is_the_engines_own() -> None:
    spec = spec_of("--devices", "cuda:1,cuda:0", "--threads", "4")
    assert (spec.device, spec.devices, spec.threads) == ("cuda:1", ("cuda:1", "cuda:0"), 4)


def test_ranks_on_the_cpu_share_its_threads() -> None:
    assert spec_of("--devices", "cpu, cpu", "--threads", "4").threads == 2
    assert spec_of("--devices", "cpu,cpu", "--threads", "1").threads == 1


def test_one_device_is_no_list() -> None:
    assert spec_of("--device", "cpu").devices == ()


def test_devices_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(UsageError, match="cpu and cuda:0"):
        spec_of("--devices", "cpu,cuda:0")
