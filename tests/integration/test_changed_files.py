"""Files of a checkpoint change while real engines on loopback serve them: no token is ever wrong, and nobody dies."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from helpers.damage import DAMAGES, cut
from helpers.golden import CHECKPOINT
from helpers.streamers import At
from transformers import AutoModelForCausalLM

from benchmarks.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.protocol.blocks import Span

FILE = "model.safetensors"
WHOLE = Span(0, 4)
SMALL = ("--max-memory", "cpu=900KiB")  # half of it for sessions, and two of the four blocks
GREEDY = {"max_new_tokens": 16, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}


def prompt() -> torch.Tensor:
    return torch.randint(3, 256, (1, 7), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def expected() -> torch.Tensor:
    return AutoModelForCausalLM.from_pretrained(CHECKPOINT, dtype=torch.float32).eval().generate(prompt(), **GREEDY)


@pytest.fixture(scope="module")
def swarm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSwarm]:
    """One engine, on a copy of the checkpoint that tests may damage."""
    folder = Path(shutil.copytree(CHECKPOINT, tmp_path_factory.mktemp("copy") / "checkpoint"))
    with LocalSwarm(folder, [WHOLE]) as made:
        yield made


def generated(swarm: LocalSwarm, deed: Callable[[], object]) -> torch.Tensor:
    """Generate with ends from the swarm's own checkpoint, and do something when the fourth token comes."""
    with AutoDistributedModelForCausalLM.from_pretrained(str(swarm.checkpoint), swarm=swarm.membership) as model:
        return model.generate(prompt(), streamer=At(4, deed), **GREEDY)


@pytest.mark.parametrize("damage", DAMAGES)
def test_tokens_are_right_when_the_file_of_server_and_client_changes(
    damage: str, swarm: LocalSwarm, expected: torch.Tensor
) -> None:
    file = swarm.checkpoint / FILE
    tokens = generated(swarm, lambda: DAMAGES[damage](file))
    shutil.copyfile(CHECKPOINT / FILE, file)
    assert torch.equal(tokens, expected)
    assert swarm.engines[0].is_alive


def test_a_session_leaves_blocks_that_stream_from_a_file_that_was_cut(tmp_path: Path, expected: torch.Tensor) -> None:
    folder = Path(shutil.copytree(CHECKPOINT, tmp_path / "checkpoint"))
    with LocalSwarm(folder, []) as swarm:
        streaming = swarm.add_engine(WHOLE, options=SMALL)
        streaming.wait_online()

        def deed() -> None:
            swarm.checkpoint = CHECKPOINT
            swarm.add_engine(WHOLE).wait_online()
            cut(folder / FILE)

        assert torch.equal(generated(swarm, deed), expected)
        assert streaming.is_alive
