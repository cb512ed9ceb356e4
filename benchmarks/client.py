"""A client in a process of its own, for figures that must not have torch in theirs."""

from __future__ import annotations

import torch
from potluck_gateway.answers.completion import Options, complete, silence_transformers

from potluck.client import AutoDistributedModelForCausalLM

NUM_TOKENS = 16


def use(invite: str, folder: str) -> None:
    """Generate a few tokens through the swarm."""
    silence_transformers()
    torch.set_num_threads(1)
    with AutoDistributedModelForCausalLM.from_pretrained(folder, swarm=invite) as model:
        prompt = torch.arange(1, 17).unsqueeze(0)
        complete(model, prompt, Options(NUM_TOKENS, min_new_tokens=NUM_TOKENS), lambda _: None)
