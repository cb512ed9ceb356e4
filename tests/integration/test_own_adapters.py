"""LoRA in remote blocks: trained by its owner as on a local model, private, and served by anybody afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from helpers.golden import CHECKPOINT
from peft import LoraConfig, PeftModel, PrefixTuningConfig, get_peft_model
from torch import Tensor
from transformers import AutoModelForCausalLM

from benchmarks.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM, ClientConfig
from potluck.protocol.blocks import Span

GREEDY = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
IDS = torch.randint(3, 256, (6, 40), generator=torch.Generator().manual_seed(0))
LORA = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "down_proj"], task_type="CAUSAL_LM")
STEPS = 3


def join(swarm: LocalSwarm, **options: Any) -> Any:
    config = ClientConfig(max_wait_s=5.0)
    return AutoDistributedModelForCausalLM.from_pretrained(
        str(CHECKPOINT), swarm=swarm.membership, config=config, **options
    )


def local() -> Any:
    return AutoModelForCausalLM.from_pretrained(CHECKPOINT, dtype=torch.float32).eval()


def adapted(model: Any) -> Any:
    torch.manual_seed(0)
    made = get_peft_model(model, LORA)
    with torch.no_grad():
        for index, (_, parameter) in enumerate(each for each in made.named_parameters() if "lora_B" in each[0]):
            parameter.normal_(0, 0.1, generator=torch.Generator().manual_seed(index))
    return made


def train(model: Any, between: Any = None) -> dict[str, Tensor]:
    """Return the gradients of the last of some steps; `between` is called before each backward."""
    optimizer = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=0.05)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model(input_ids=IDS, labels=IDS).loss
        if between is not None:
            between(step)
        loss.backward()
        if step < STEPS - 1:
            optimizer.step()
    return {name: each.grad for name, each in model.named_parameters() if each.grad is not None}


def test_lora_trains_as_on_a_local_model_though_a_server_is_killed_and_is_then_served(tmp_path: Path) -> None:
    with LocalSwarm(CHECKPOINT, [Span(0, 2), Span(2, 4), Span(2, 4)]) as swarm:
        wanted = adapted(local())
        with join(swarm) as model:
            found = adapted(model)

            def kill_one(step: int) -> None:
                if step == 1:  # between a forward and its backward
                    swarm.engines[1].kill()

            got, want = train(found, kill_one), train(wanted)
            assert got.keys() == want.keys()
            assert len(got) == 24
            for name, gradient in want.items():
                torch.testing.assert_close(got[name], gradient, rtol=1e-5, atol=1e-6)
            tokens = wanted.generate(input_ids=IDS[:2], **GREEDY)
            assert torch.equal(found.generate(input_ids=IDS[:2], **GREEDY), tokens)
            with found.disable_adapter(), wanted.disable_adapter():
                plain = wanted.generate(input_ids=IDS[:2], **GREEDY)
                assert torch.equal(found.generate(input_ids=IDS[:2], **GREEDY), plain)
            assert not torch.equal(tokens, plain)
            found.save_pretrained(tmp_path / "mine")
        assert torch.equal(
            PeftModel.from_pretrained(local(), tmp_path / "mine").generate(input_ids=IDS[:2], **GREEDY), tokens
        )
        swarm.add_engine(Span(0, 4), options=("--adapter", str(tmp_path / "mine"))).wait_online()
        with join(swarm, adapter="mine") as served:
            assert torch.equal(served.generate(input_ids=IDS[:2], **GREEDY), tokens)
        with join(swarm) as model:
            again = PeftModel.from_pretrained(model, tmp_path / "mine")
            assert torch.equal(again.generate(input_ids=IDS[:2], **GREEDY), tokens)


def test_prefix_tuning_trains_and_generates_as_on_a_local_model() -> None:
    config = PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=5)
    mask = torch.ones_like(IDS)
    mask[1, 30:] = 0
    with LocalSwarm(CHECKPOINT, [Span(0, 2), Span(2, 4)]) as swarm, join(swarm) as model:
        found, wanted = (prefixed(each, config) for each in (model, local()))
        for each in (found, wanted):
            each(input_ids=IDS, attention_mask=mask, labels=IDS.masked_fill(mask == 0, -100)).loss.backward()
        (got,), (want,) = (
            [parameter.grad for parameter in each.parameters() if parameter.grad is not None]
            for each in (found, wanted)
        )
        assert want.abs().max() > 1e-3
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-7)
        tokens = wanted.generate(input_ids=IDS[:2, :9], **GREEDY)
        assert torch.equal(found.generate(input_ids=IDS[:2, :9], **GREEDY), tokens)
        assert not torch.equal(model.generate(input_ids=IDS[:2, :9], **GREEDY), tokens)


def prefixed(model: Any, config: PrefixTuningConfig) -> Any:
    torch.manual_seed(0)
    return get_peft_model(model, config)
