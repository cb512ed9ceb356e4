"""The parts of the demo that need no network."""

from pathlib import Path

import pytest
from helpers.golden import CHECKPOINT
from helpers.tiny_models import FAMILIES, NUM_BLOCKS
from potluck_daemon.swarms.new_model import num_blocks_of
from transformers import AutoConfig

from benchmarks.demo import require_room, spans_of
from benchmarks.setup.local_swarm import LocalSwarm
from potluck.errors import PotluckError, UsageError
from potluck.protocol.blocks import Span


def test_three_spans_cover_every_block_and_the_middle_one_is_there_twice() -> None:
    for num_blocks in range(3, 40):
        first, middle, again, last = spans_of(num_blocks)
        assert middle == again
        assert [*first, *middle, *last] == list(range(num_blocks))
    with pytest.raises(UsageError, match="at least 3"):
        spans_of(2)


def test_a_model_is_measured_without_transformers(tmp_path: Path) -> None:
    assert num_blocks_of(CHECKPOINT) == 4
    configs = {name: make() for name, make in FAMILIES.items()}
    configs["longcat_flash"] = AutoConfig.for_model("longcat_flash", num_layers=NUM_BLOCKS)
    for name, config in configs.items():
        config.save_pretrained(tmp_path / name)
        assert num_blocks_of(tmp_path / name) == NUM_BLOCKS, name


def test_a_folder_that_is_no_checkpoint_is_named(tmp_path: Path) -> None:
    with pytest.raises(PotluckError, match=tmp_path.name):
        num_blocks_of(tmp_path)


def test_prompt_and_completion_must_fit_the_model() -> None:
    config = AutoConfig.from_pretrained(CHECKPOINT)  # 512 positions
    require_room(config, 512)
    with pytest.raises(UsageError, match="513 tokens"):
        require_room(config, 513)


def test_files_left_behind_are_noticed(tmp_path: Path) -> None:
    swarm = LocalSwarm(CHECKPOINT, [Span(0, 4)])
    swarm.folder = tmp_path / "swarm"
    assert swarm.leftovers() == []
    swarm.folder.mkdir()
    (swarm.folder / "forgotten").touch()
    assert swarm.leftovers() == [f"file {swarm.folder}", f"file {swarm.folder / 'forgotten'}"]
