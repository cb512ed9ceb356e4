"""A real server that computes wrongly is found by other people's servers, named, and left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from helpers import lying_engine
from helpers.golden import CHECKPOINT
from transformers import PreTrainedModel

from benchmarks.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM, ClientConfig
from potluck.protocol.blocks import Span

GREEDY = {"max_new_tokens": 40, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
PROMPT = torch.randint(3, 256, (1, 7), generator=torch.Generator().manual_seed(0))
WHOLE = Span(0, 4)
ANSWERS = 12  # the auditor is drawn, so a few may pass before the liar is asked


@pytest.fixture
def swarm() -> Iterator[LocalSwarm]:
    """A swarm of three people with a server each, of whom Eve lies."""
    with LocalSwarm(CHECKPOINT, (WHOLE,)) as made:
        for person in ("Bob", "Eve"):
            made.join(person)
        bob = made.add_engine_of("Bob", WHOLE)
        eve = made.add_engine_of("Eve", WHOLE, before=(sys.executable, str(Path(lying_engine.__file__))))
        bob.wait_online()
        eve.wait_online()
        yield made


def test_a_server_that_computes_wrongly_is_found_named_and_left(
    swarm: LocalSwarm, local: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck.client.audits.audit_chance", lambda clean: 1.0)
    said: list[str] = []
    config = ClientConfig(on_wrong=said.append)
    with AutoDistributedModelForCausalLM.from_pretrained(
        str(CHECKPOINT), swarm=swarm.membership, config=config
    ) as model:
        for _ in range(ANSWERS):
            model.generate(PROMPT, **GREEDY)
            model._client.run(model._client.audits._background.wait())
            if said:
                break
        assert model.audits().wrong == ["Eve"]
        assert "computed blocks 0:4 wrongly" in said[0]
        assert torch.equal(model.generate(PROMPT, **GREEDY), local.generate(PROMPT, **GREEDY))
