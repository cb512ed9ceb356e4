"""Experts that a CPU computes one after another, as exactly as the family's own loop does."""

from typing import Any

import pytest
import torch
import transformers as hf
from torch import Tensor
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssExperts
from transformers.models.mixtral.modeling_mixtral import MixtralExperts
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeExperts

from potluck.blocks.formats.layers import quantize_block
from potluck.blocks.span import implementations as native_experts
from potluck.blocks.span import implementations as switching
from potluck.blocks.span.implementations import can_take_turns, experts_in_turn

NUM_EXPERTS, SHARE, HIDDEN = 6, 2, 64
CONFIGS: dict[Any, hf.PretrainedConfig] = {
    Qwen3MoeExperts: hf.Qwen3MoeConfig(hidden_size=HIDDEN, moe_intermediate_size=64, num_experts=NUM_EXPERTS),
    MixtralExperts: hf.MixtralConfig(hidden_size=HIDDEN, intermediate_size=64, num_local_experts=NUM_EXPERTS),
}


def made(kind: Any, config: hf.PretrainedConfig, dtype: torch.dtype = torch.bfloat16) -> Any:
    torch.manual_seed(0)
    config._experts_implementation = "eager"
    experts = kind(config)
    for parameter in experts.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return torch.nn.Sequential(experts.to(dtype).requires_grad_(False))


def asked(tokens: int, dtype: torch.dtype = torch.bfloat16) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden states, chosen experts, of which one is never chosen, and their weights."""
    generator = torch.Generator().manual_seed(tokens)
    hidden = torch.randn((tokens, HIDDEN), generator=generator)
    chosen = torch.stack([torch.randperm(NUM_EXPERTS - 1, generator=generator)[:SHARE] for _ in range(tokens)])
    return hidden.to(dtype), chosen, torch.rand((tokens, SHARE), generator=generator).to(dtype)


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize("quantization", ["none", "int8", "int4"])
@pytest.mark.parametrize("tokens", [1, 7, 70])
@torch.inference_mode()
def test_experts_in_turn_compute_what_the_family_s_loop_computes(kind: Any, quantization: str, tokens: int) -> None:
    block = made(kind, CONFIGS[kind])
    if quantization != "none":
        quantize_block(block, quantization)
    experts, (hidden, chosen, weights) = block[0], asked(tokens)
    assert can_take_turns(experts, hidden)
    found = experts_in_turn(experts, hidden, chosen, weights)
    wanted = switching._own(experts, hidden, chosen, weights)
    assert found.dtype is wanted.dtype
    assert float((found.float() - wanted.float()).norm() / wanted.float().norm()) < 2e-2


@torch.inference_mode()
def test_a_token_s_experts_do_not_depend_on_the_tokens_beside_it() -> None:
    experts, (hidden, chosen, weights) = made(Qwen3MoeExperts, CONFIGS[Qwen3MoeExperts])[0], asked(5)
    alone = [experts_in_turn(experts, *(each[at : at + 1] for each in (hidden, chosen, weights))) for at in range(5)]
    assert torch.equal(torch.cat(alone), experts_in_turn(experts, hidden, chosen, weights))


def test_what_is_not_rewritten_runs_in_the_family_s_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[object] = []
    monkeypatch.setattr(switching, "experts_in_turn", lambda experts, *given: used.append(experts) or given[0])
    block = made(Qwen3MoeExperts, CONFIGS[Qwen3MoeExperts])
    hidden, chosen, weights = asked(3)
    config = hf.GptOssConfig(hidden_size=HIDDEN, intermediate_size=64, num_local_experts=NUM_EXPERTS)
    transposed = made(GptOssExperts, config)[0]
    with torch.enable_grad():
        switching._in_turn_or_own(block[0], hidden.clone().requires_grad_(), chosen, weights)
    switching._in_turn_or_own(block[0].float(), *asked(3, torch.float32)[:1], chosen, weights.float())
    switching._in_turn_or_own(transposed, hidden, chosen, weights)
    assert used == []
    assert native_experts.can_take_turns(made(Qwen3MoeExperts, CONFIGS[Qwen3MoeExperts])[0], hidden)
