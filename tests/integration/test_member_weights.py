"""Real engines on loopback get the model's files from each other, and refuse files of another version."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from helpers.golden import CHECKPOINT

from benchmarks.local_swarm import LocalSwarm
from benchmarks.models import checkpoint
from potluck.errors import PotluckError
from potluck.protocol.blocks import Span

WHOLE = Span(0, 4)
FILE = "model.safetensors"


def test_an_engine_fetches_from_two_others_and_one_of_them_is_killed(tmp_path: Path) -> None:
    folder = checkpoint(512, 4)
    size = (folder / FILE).stat().st_size
    with LocalSwarm(folder, [Span(0, 2), Span(2, 4)], pins_files=True) as swarm:
        swarm.join("ben")
        newcomer = swarm.add_engine_of("ben", WHOLE, has_files=False)
        partial = _wait_for_partial(swarm.folder / "ben" / "hub", newcomer.is_alive)
        swarm.engines[0].kill()
        newcomer.wait_online()
        assert partial.with_name(FILE).read_bytes() == (folder / FILE).read_bytes()
        assert partial.with_name(FILE).stat().st_size == size
        assert json.loads((partial.parent / "config.json").read_bytes()) == json.loads(
            (folder / "config.json").read_bytes()
        )


def _wait_for_partial(hub: Path, is_alive: bool, timeout_s: float = 90.0) -> Path:
    """Return the partial file as soon as bytes are in it."""
    assert is_alive
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        for path in hub.glob(f"models--*/snapshots/*/{FILE}.partial"):
            try:
                if path.stat().st_blocks:
                    return path
            except FileNotFoundError:
                continue
        time.sleep(0.002)
    raise AssertionError("nothing was fetched")


def test_a_server_with_other_weights_of_the_same_name_is_refused(tmp_path: Path) -> None:
    other = Path(shutil.copytree(CHECKPOINT, tmp_path / CHECKPOINT.name))
    data = bytearray((other / FILE).read_bytes())
    data[-1] ^= 1
    (other / FILE).write_bytes(data)
    with LocalSwarm(CHECKPOINT, [WHOLE], pins_files=True) as swarm:
        swarm.checkpoint = other
        with pytest.raises(PotluckError, match=f"{FILE} differs from the file of"):
            swarm.add_engine(WHOLE).wait_online()
