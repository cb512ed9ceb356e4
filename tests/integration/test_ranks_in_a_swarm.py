"""Servers whose blocks lie on two devices, in a real swarm: the local model's tokens, also when a device dies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psutil
import pytest
import torch
from helpers.golden import CHECKPOINT
from helpers.streamers import At
from transformers import PreTrainedModel

from benchmarks.local_swarm import LocalEngine, LocalSwarm
from potluck import AutoDistributedModelForCausalLM, ClientConfig
from potluck.protocol.blocks import Span

GREEDY = {"max_new_tokens": 24, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}


@pytest.fixture(scope="module")
def swarm() -> Iterator[LocalSwarm]:
    """One server of all blocks: whoever loses it has nowhere else to go."""
    with LocalSwarm(CHECKPOINT, [Span(0, 4)], serve_options=("--devices", "cpu,cpu")) as made:
        yield made
    assert made.leftovers() == []


@pytest.fixture(scope="module")
def model(swarm: LocalSwarm) -> Iterator[Any]:
    patient = ClientConfig(max_wait_s=120.0)
    with AutoDistributedModelForCausalLM.from_pretrained(
        str(CHECKPOINT), swarm=swarm.membership, config=patient
    ) as made:
        yield made


def prompt(batch: int = 1) -> torch.Tensor:
    return torch.randint(3, 256, (batch, 7), generator=torch.Generator().manual_seed(0))


def other_rank(engine: LocalEngine) -> psutil.Process:
    return next(process for process in engine.processes() if "potluck_engine.ranks.rank" in process.cmdline())


def test_tokens_equal_the_local_model(model: Any, local: PreTrainedModel) -> None:
    assert torch.equal(model.generate(prompt(3), **GREEDY), local.generate(prompt(3), **GREEDY))
    assert torch.equal(model.generate(prompt(), num_beams=3, **GREEDY), local.generate(prompt(), num_beams=3, **GREEDY))


def test_gradients_equal_the_local_model(model: Any, local: PreTrainedModel) -> None:
    grads = []
    for each in (model, local):
        embeddings = local.get_input_embeddings()(prompt(2)).detach().requires_grad_()
        each(inputs_embeds=embeddings).logits.square().mean().backward()
        grads.append(embeddings.grad)
    got, expected = grads
    assert (got - expected).norm() / expected.norm() < 1e-5


def test_a_device_killed_in_mid_generation_comes_back_and_the_tokens_are_the_same(
    swarm: LocalSwarm, model: Any, local: PreTrainedModel
) -> None:
    (engine,) = swarm.engines
    before = other_rank(engine)
    tokens = model.generate(prompt(), streamer=At(6, before.kill), **GREEDY)
    assert torch.equal(tokens, local.generate(prompt(), **GREEDY))
    assert engine.is_alive
    assert other_rank(engine).pid != before.pid
