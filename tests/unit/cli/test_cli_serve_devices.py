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


@pytest.mark.parametrize(
    ("options", "device", "devices", "threads"),
    [
        ("--devices cuda:1,cuda:0 --threads 4", "cuda:1", ("cuda:1", "cuda:0"), 4),  # the first is the engine's own
        ("--devices cpu,cpu --threads 4", "cpu", ("cpu", "cpu"), 2),  # ranks share the threads of the processor
        ("--devices cpu,cpu --threads 1", "cpu", ("cpu", "cpu"), 1),
        ("--device cpu --threads 4", "cpu", (), 4),
    ],
)
def test_devices_and_threads_are_those_of_the_ranks(
    options: str, device: str, devices: tuple[str, ...], threads: int
) -> None:
    spec = spec_of(*options.split())
    assert (spec.device, spec.devices, spec.threads) == (device, devices, threads)


def test_devices_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(UsageError, match="cpu and cuda:0"):
        spec_of("--devices", "cpu, cuda:0")
