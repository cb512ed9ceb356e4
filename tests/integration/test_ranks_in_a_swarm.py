"""A server whose blocks lie on two devices, in a real swarm: the local model's tokens, also when a device dies."""

import psutil
import torch
from helpers.golden import CHECKPOINT
from helpers.streamers import At
from transformers import PreTrainedModel

from benchmarks.local_swarm import LocalEngine, LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.protocol.blocks import Span

GREEDY = {"max_new_tokens": 24, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
PROMPT = torch.randint(3, 256, (1, 7), generator=torch.Generator().manual_seed(0))


def other_rank(engine: LocalEngine) -> psutil.Process:
    return next(process for process in engine.processes() if "potluck_engine.ranks.rank" in process.cmdline())


def test_a_device_killed_in_mid_generation_comes_back_and_the_tokens_are_the_same(local: PreTrainedModel) -> None:
    """Nobody else serves the blocks, so the session waits for the server to have both devices again."""
    with LocalSwarm(CHECKPOINT, [Span(0, 4)], serve_options=("--devices", "cpu,cpu")) as swarm:
        (engine,) = swarm.engines
        before = other_rank(engine)
        with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=swarm.membership) as model:
            tokens = model.generate(PROMPT, streamer=At(6, before.kill), **GREEDY)
        assert torch.equal(tokens, local.generate(PROMPT, **GREEDY))
        assert engine.is_alive
        assert other_rank(engine).pid != before.pid
    assert swarm.leftovers() == []
