"""Real engines on loopback get the model's files from each other, and refuse files of another version."""

import shutil
from pathlib import Path

import pytest
from helpers.damage import flip_bit
from helpers.golden import CHECKPOINT

from benchmarks.setup.local_swarm import LocalSwarm
from potluck.errors import PotluckError
from potluck.protocol.blocks import Span

FILES = ("model.safetensors", "config.json")


def test_an_engine_fetches_the_model_from_members_and_one_with_other_weights_of_its_name_is_refused(
    tmp_path: Path,
) -> None:
    with LocalSwarm(CHECKPOINT, [Span(0, 2), Span(2, 4)], pins_files=True) as swarm:
        swarm.join("ben")
        swarm.add_engine_of("ben", Span(0, 4), has_files=False).wait_online()
        for name in FILES:
            (fetched,) = (swarm.folder / "ben" / "hub").glob(f"models--*/snapshots/*/{name}")
            assert fetched.read_bytes() == (CHECKPOINT / name).read_bytes()
        swarm.checkpoint = Path(shutil.copytree(CHECKPOINT, tmp_path / CHECKPOINT.name))
        flip_bit(swarm.checkpoint / FILES[0], -1)
        with pytest.raises(PotluckError, match=f"{FILES[0]} is missing or differs from the file of"):
            swarm.add_engine(Span(0, 4)).wait_online()
