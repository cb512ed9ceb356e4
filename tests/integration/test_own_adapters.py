"""LoRA in remote blocks: trained by its owner as on a local model, private, and served by anybody afterwards."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from helpers.golden import CHECKPOINT
from peft import LoraConfig, PeftModel, get_peft_model
from torch import Tensor
from transformers import AutoModelForCausalLM

from benchmarks.setup.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.protocol.blocks import Span

GREEDY = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
IDS = torch.randint(3, 256, (6, 40), generator=torch.Generator().manual_seed(0))
LORA = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "down_proj"], task_type="CAUSAL_LM")
STEPS = 3


def join(swarm: LocalSwarm, **options: Any) -> Any:
    return AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=swarm.membership, **options)


def local() -> Any:
    return AutoModelForCausalLM.from_pretrained(CHECKPOINT, dtype=torch.float32).eval()


def adapted(model: Any) -> Any:
    torch.manual_seed(0)
    made = get_peft_model(model, LORA)
    with torch.no_grad():
        for index, (_, parameter) in enumerate(each for each in made.named_parameters() if "lora_B" in each[0]):
            parameter.normal_(0, 0.1, generator=torch.Generator().manual_seed(index))
    return made


def generated(model: Any) -> Tensor:
    return model.generate(input_ids=IDS[:2], **GREEDY)


def train(model: Any, amid_second: Callable[[], object] = lambda: None) -> dict[str, Tensor]:
    """Return the gradients of the last of some steps; `amid_second` is called before the second backward."""
    optimizer = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=0.05)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model(input_ids=IDS, labels=IDS).loss
        if step == 1:
            amid_second()
        loss.backward()
        if step < STEPS - 1:
            optimizer.step()
    return {name: each.grad for name, each in model.named_parameters() if each.grad is not None}


def test_lora_trains_as_on_a_local_model_though_a_server_is_killed_and_is_then_served(tmp_path: Path) -> None:
    with LocalSwarm(CHECKPOINT, [Span(0, 2), Span(2, 4), Span(2, 4)]) as swarm:
        wanted = adapted(local())
        with join(swarm) as model:
            found = adapted(model)
            got, want = train(found, swarm.engines[1].kill), train(wanted)
            assert got.keys() == want.keys()
            assert len(got) == 24
            for name, gradient in want.items():
                torch.testing.assert_close(got[name], gradient, rtol=1e-5, atol=1e-6)
            tokens = generated(wanted)
            assert torch.equal(generated(found), tokens)
            with found.disable_adapter(), wanted.disable_adapter():
                plain = generated(wanted)
                assert torch.equal(generated(found), plain)
            assert not torch.equal(tokens, plain)
            found.save_pretrained(tmp_path / "mine")
        assert torch.equal(generated(PeftModel.from_pretrained(local(), tmp_path / "mine")), tokens)
        swarm.add_engine(Span(0, 4), options=("--adapter", str(tmp_path / "mine"))).wait_online()
        with join(swarm, adapter="mine") as served:
            assert torch.equal(generated(served), tokens)
        with join(swarm) as model:
            assert torch.equal(generated(model), plain)
            assert torch.equal(generated(PeftModel.from_pretrained(model, tmp_path / "mine")), tokens)
