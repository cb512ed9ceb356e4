"""A swarm that heals itself: real engines, one of which nobody told what to serve."""

from collections.abc import Iterator

import pytest
import torch
from helpers.golden import CHECKPOINT
from helpers.streamers import At
from transformers import AutoModelForCausalLM

from benchmarks.setup.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM, ClientConfig
from potluck.protocol.blocks import Span

GREEDY = {"max_new_tokens": 16, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
PATIENT = ClientConfig(max_wait_s=120.0)


@pytest.fixture
def swarm() -> Iterator[LocalSwarm]:
    """Blocks 2:4 are served once; who may hold two blocks and was told nothing has found its place elsewhere."""
    with LocalSwarm(CHECKPOINT, (Span(0, 2), Span(2, 4))) as made:
        made.add_engine(None, options=("--num-blocks", "2")).wait_online()
        yield made


def test_a_server_without_orders_takes_the_place_of_one_that_died_and_the_tokens_stay_the_same(
    swarm: LocalSwarm,
) -> None:
    prompt = torch.randint(3, 256, (1, 7), generator=torch.Generator().manual_seed(0))
    local = AutoModelForCausalLM.from_pretrained(CHECKPOINT, dtype=torch.float32).eval()
    with AutoDistributedModelForCausalLM.from_pretrained(
        str(CHECKPOINT), swarm=swarm.membership, config=PATIENT
    ) as model:
        text = model.generate(prompt, **GREEDY, streamer=At(6, swarm.engines[1].kill))
        (route,) = model.last_route()
    assert torch.equal(text, local.generate(prompt, **GREEDY))
    assert swarm.engines[2].peer_id in {hop.peer_id for hop in route.hops if 3 in hop.span}
