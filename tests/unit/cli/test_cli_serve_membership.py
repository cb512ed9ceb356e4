"""What `potluck serve` gives its node to show."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from helpers.engine_peers import CHECKPOINT
from potluck_cli.serve import add_arguments, launch_spec

from potluck.membership.joined import JoinedSwarms
from potluck.protocol.swarm import new_swarm


@pytest.mark.parametrize("options", [[], ["--identity", "node.key"]], ids=["a new key", "a kept key"])
def test_a_served_node_can_show_whose_it_is(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    JoinedSwarms().create(new_swarm("friends", CHECKPOINT.name, 4, "local"))
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    membership = launch_spec(parser.parse_args([str(CHECKPOINT), *options])).membership
    assert membership.signing_key is not None
    assert membership.founder_seed is None
