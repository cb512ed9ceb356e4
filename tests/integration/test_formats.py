"""Servers of different number formats in one swarm: a client gets what it demands."""

from typing import Any

import pytest
import torch
from helpers.golden import CHECKPOINT
from helpers.streamers import At
from transformers import PreTrainedModel

from benchmarks.setup.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM, SwarmError
from potluck.protocol.blocks import Span
from potluck.protocol.records import NumberFormat

GREEDY = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
PROMPT = torch.randint(3, 256, (1, 7), generator=torch.Generator().manual_seed(0))
WHOLE = Span(0, 4)
PLAIN, PACKED = NumberFormat("float32"), NumberFormat("bfloat16", "int8")


def join(swarm: LocalSwarm, **demands: Any) -> Any:
    return AutoDistributedModelForCausalLM.from_pretrained(str(swarm.checkpoint), swarm=swarm.membership, **demands)


def formats_of(model: Any) -> list[NumberFormat]:
    (route,) = model.last_route()
    return [hop.format for hop in route.hops]


def test_a_client_chooses_the_format_and_a_session_never_changes_it(local: PreTrainedModel) -> None:
    with LocalSwarm(CHECKPOINT, [WHOLE]) as swarm:
        swarm.add_engine(WHOLE, options=("--quantization", "int8")).wait_online()
        with join(swarm, quantization="int8") as packed:
            packed.generate(PROMPT, **GREEDY)
            assert formats_of(packed) == [PACKED]
        with join(swarm, quantization="none", compute_dtype=torch.float32) as plain:
            assert torch.equal(plain.generate(PROMPT, **GREEDY), local.generate(PROMPT, **GREEDY))
            assert formats_of(plain) == [PLAIN]
        with join(swarm) as anything:
            anything.generate(PROMPT, **GREEDY)
            (chosen,) = formats_of(anything)
            (route,) = anything.last_route()
            kill = At(4, next(engine for engine in swarm.engines if engine.peer_id == route.hops[0].peer_id).kill)
            with (
                anything.session(max_length=32, max_wait_s=1.0) as session,
                pytest.raises(SwarmError, match="other weights or number formats"),
            ):
                anything.generate(PROMPT, session=session, streamer=kill, **GREEDY)
            anything.generate(PROMPT, **GREEDY)  # a session that begins may take what is left
            assert formats_of(anything) == [PACKED if chosen == PLAIN else PLAIN]
