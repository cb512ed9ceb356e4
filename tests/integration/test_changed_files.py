"""Files of a checkpoint change while real engines on loopback serve them: no token is ever wrong, and nobody dies."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from helpers.damage import DAMAGES, cut
from helpers.golden import CHECKPOINT
from helpers.streamers import At
from transformers import PreTrainedModel

from benchmarks.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.protocol.blocks import Span

FILE = "model.safetensors"
WHOLE = Span(0, 4)
SMALL = ("--max-memory", "cpu=900KiB")  # half of it for sessions, and two of the four blocks
GREEDY = {"max_new_tokens": 16, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
PROMPT = torch.randint(3, 256, (1, 7), generator=torch.Generator().manual_seed(0))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the checkpoint that tests may damage."""
    return Path(shutil.copytree(CHECKPOINT, tmp_path / "checkpoint"))


def generated(swarm: LocalSwarm, deed: Callable[[], object]) -> torch.Tensor:
    """Generate with ends from the swarm's own checkpoint, and do something when the fourth token comes."""
    with AutoDistributedModelForCausalLM.from_pretrained(str(swarm.checkpoint), swarm=swarm.membership) as model:
        return model.generate(PROMPT, streamer=At(4, deed), **GREEDY)


def test_tokens_are_right_when_the_file_of_server_and_client_changes(folder: Path, local: PreTrainedModel) -> None:
    with LocalSwarm(folder, [WHOLE]) as swarm:
        for damage in ("cut short", "rsync --inplace"):  # a killer of processes, and wrong numbers
            tokens = generated(swarm, lambda: DAMAGES[damage](folder / FILE))  # noqa: B023 (called at once)
            assert torch.equal(tokens, local.generate(PROMPT, **GREEDY)), damage
            assert swarm.engines[0].is_alive, damage
            shutil.copyfile(CHECKPOINT / FILE, folder / FILE)


def test_a_session_leaves_blocks_that_stream_from_a_file_that_was_cut(folder: Path, local: PreTrainedModel) -> None:
    with LocalSwarm(folder, []) as swarm:
        streaming = swarm.add_engine(WHOLE, options=SMALL)
        streaming.wait_online()

        def deed() -> None:
            swarm.checkpoint = CHECKPOINT
            swarm.add_engine(WHOLE).wait_online()
            cut(folder / FILE)

        assert torch.equal(generated(swarm, deed), local.generate(PROMPT, **GREEDY))
        assert streaming.is_alive
