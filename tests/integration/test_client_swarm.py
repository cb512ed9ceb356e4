"""The client against real engines on loopback: the local model's tokens and gradients, also when engines die."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from helpers.golden import CHECKPOINT
from helpers.streamers import At
from transformers import PreTrainedModel

from benchmarks.local_swarm import LocalEngine, LocalSwarm
from potluck import AutoDistributedModelForCausalLM, ClientConfig, SwarmError
from potluck.protocol.blocks import Span
from potluck.protocol.messages import BackwardRequest, ForwardRequest, TensorReply
from potluck.protocol.records import ServerRecord
from potluck.wire.calls import CallRequest

ROOT = Path(__file__).parents[2]
GREEDY = {"max_new_tokens": 16, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
SPANS = (Span(0, 2), Span(2, 4), Span(2, 4))


@pytest.fixture(scope="module")
def swarm() -> Iterator[LocalSwarm]:
    with LocalSwarm(CHECKPOINT, SPANS) as made:
        yield made


@pytest.fixture(scope="module")
def model(swarm: LocalSwarm) -> Iterator[Any]:
    with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=swarm.membership) as made:
        yield made


def prompt(batch: int = 1, tokens: int = 7) -> torch.Tensor:
    return torch.randint(3, 256, (batch, tokens), generator=torch.Generator().manual_seed(0))


def engine_of(swarm: LocalSwarm, model: Any, block: int) -> LocalEngine:
    """Who serves `block` in the latest session."""
    (route,) = model.last_route()
    peer = next(hop.peer_id for hop in route.hops if block in hop.span)
    return next(engine for engine in swarm.engines if engine.peer_id == peer)


def test_greedy_tokens_equal_the_local_model_and_the_route_is_told(model: Any, local: PreTrainedModel) -> None:
    assert torch.equal(model.generate(prompt(), **GREEDY), local.generate(prompt(), **GREEDY))
    (route,) = model.last_route()
    assert [hop.span for hop in route.hops] == [Span(0, 2), Span(2, 4)]
    assert [hop.steps for hop in route.hops] == [16, 16]
    # Together: the second server may compute before the client has the first one's answer.
    assert 0 < sum(hop.compute_ms for hop in route.hops) < sum(hop.wall_ms for hop in route.hops)


def test_gradients_equal_the_local_model(model: Any, local: PreTrainedModel) -> None:
    gradients = []
    for each in (model, local):
        embeddings = each.get_input_embeddings()(prompt(batch=2)).detach().requires_grad_()
        loss = each(inputs_embeds=embeddings, labels=prompt(batch=2)).loss
        gradients.append(torch.autograd.grad(loss, embeddings)[0])
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-6)


def test_an_adapter_between_blocks_learns_from_a_long_row_as_in_the_local_model(
    model: Any, local: PreTrainedModel
) -> None:
    ids = prompt(tokens=2500)  # more than a step of several rows may have
    embedded = local.get_input_embeddings()(ids).detach()
    rotary = local.model.rotary_emb(embedded, torch.arange(ids.shape[1])[None])

    def of_the_local(first: int, end: int, hidden: torch.Tensor) -> torch.Tensor:
        for layer in local.model.layers[first:end]:
            hidden = layer(hidden, position_embeddings=rotary)
        return hidden

    gradients = []
    for run in (lambda first, end, hidden: model.blocks[first:end](hidden), of_the_local):
        scale = torch.ones(embedded.shape[-1], requires_grad=True)
        run(1, 4, run(0, 1, embedded) * scale).square().mean().backward()
        assert scale.grad is not None
        gradients.append(scale.grad)
    assert torch.equal(*gradients)


def test_a_server_killed_amid_a_pipeline_is_replaced_and_the_gradient_is_the_same(local: PreTrainedModel) -> None:
    ids = prompt(batch=8, tokens=160)  # eight micro-batches
    embedded = local.get_input_embeddings()(ids).detach()

    def gradient(each: Any) -> torch.Tensor:
        leaf = embedded.clone().requires_grad_()
        return torch.autograd.grad(each(inputs_embeds=leaf, labels=ids).loss, leaf)[0]

    with (
        LocalSwarm(CHECKPOINT, (*SPANS, Span(2, 4))) as swarm,
        AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=swarm.membership) as model,
    ):
        calls = model.blocks.client.calls
        compute, answered = calls.compute, Counter[type]()

        async def compute_and_kill(record: ServerRecord, request: CallRequest, adapter: None) -> TensorReply:
            reply = await compute(record, request, adapter)
            kind = type(request)
            answered[kind] += record.span.start == 2
            if answered[kind] == 3 and kind not in killed:
                killed[kind] = record.peer_id
                next(engine for engine in swarm.engines if engine.peer_id == record.peer_id).kill()
            return reply

        killed: dict[type, str] = {}
        calls.compute = compute_and_kill
        torch.testing.assert_close(gradient(model), gradient(local), rtol=1e-4, atol=1e-6)
        assert len(set(killed.values())) == 2  # one in the forward pass, another one in the backward pass
        assert answered[ForwardRequest] >= 8 <= answered[BackwardRequest]


def run_script(swarm: LocalSwarm, *arguments: str) -> str:
    """Output of a Python process that must end by itself, well, and leave no process behind."""
    mark = uuid.uuid4().hex
    environment = {**swarm.environment(), "POTLUCK_TEST_MARK": mark}
    run = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=250, check=True, env=environment
    )
    left = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # gone, or somebody else's
            if process.environ().get("POTLUCK_TEST_MARK") == mark:
                left.append(process)
    assert psutil.wait_procs(left, timeout=60)[1] == []  # what is on its way out may go
    return run.stdout


def test_the_prompt_tuning_example_lowers_its_loss(swarm: LocalSwarm) -> None:
    script = ROOT / "docs" / "examples" / "prompt_tuning.py"
    options = ("--invite-file", str(swarm.invite_file), "--model", str(CHECKPOINT), "--steps", "8", "--deep")
    losses = [float(loss) for loss in re.findall(r"loss ([0-9.]+)", run_script(swarm, str(script), *options))]
    assert len(losses) == 8
    assert losses[-1] < 0.8 * losses[0]


def test_a_script_that_never_closes_its_model_ends_by_itself(swarm: LocalSwarm) -> None:
    script = (
        "import sys, torch; from potluck import AutoDistributedModelForCausalLM as Auto;"
        "model = Auto.from_pretrained(sys.argv[1], swarm=sys.argv[2]);"
        "print(model.generate(torch.tensor([[5, 6, 7]]), max_new_tokens=2, eos_token_id=None, pad_token_id=0).shape)"
    )
    assert "[1, 5]" in run_script(swarm, "-c", script, str(CHECKPOINT), swarm.invite)


def test_a_frozen_engine_is_replaced_in_mid_generation(swarm: LocalSwarm, model: Any, local: PreTrainedModel) -> None:
    frozen: list[LocalEngine] = []

    def freeze() -> None:
        frozen.append(engine_of(swarm, model, 3))
        frozen[0].freeze()

    try:
        got = model.generate(prompt(), streamer=At(6, freeze), **GREEDY)
        assert engine_of(swarm, model, 3) is not frozen[0]
    finally:
        frozen[0].thaw()
    assert torch.equal(got, local.generate(prompt(), **GREEDY))
    (route,) = model.last_route()
    assert [hop.peer_id for hop in route.replaced] == [frozen[0].peer_id]


def test_killed_engines_are_replaced_until_nobody_is_left(local: PreTrainedModel) -> None:
    config = ClientConfig(max_wait_s=3.0)
    with (
        LocalSwarm(CHECKPOINT, SPANS) as swarm,
        AutoDistributedModelForCausalLM.from_pretrained(
            str(CHECKPOINT), swarm=swarm.membership, config=config
        ) as model,
    ):
        kill = At(6, lambda: engine_of(swarm, model, 3).kill())
        assert torch.equal(model.generate(prompt(), streamer=kill, **GREEDY), local.generate(prompt(), **GREEDY))
        (route,) = model.last_route()
        assert len(route.replaced) == 1
        kill = At(6, lambda: engine_of(swarm, model, 3).kill())
        with pytest.raises(SwarmError, match="2:4"):
            model.generate(prompt(), streamer=kill, **GREEDY)
    assert swarm.leftovers() == []
