"""Writes resources/engine/block.safetensors: what one block of the demo model answers, computed by Transformers alone.

Run it from the top of the source tree after the demo model changed: `python installer/reference.py`.
"""

from __future__ import annotations

import torch
from potluck_control.resources import DEMO_MODEL, resource
from potluck_engine.self_test import BLOCK, block_input
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

TOKENS = 8


def main() -> None:
    model = AutoModelForCausalLM.from_pretrained(resource(DEMO_MODEL), dtype=torch.float32)
    heard: list[torch.Tensor] = []
    model.model.layers[BLOCK].register_forward_pre_hook(
        lambda _, args, kwargs: ((block_input(1, TOKENS, model.config.hidden_size), *args[1:]), kwargs),
        with_kwargs=True,
    )
    model.model.layers[BLOCK].register_forward_hook(
        lambda _, __, output: heard.append(output[0] if isinstance(output, tuple) else output)
    )
    with torch.inference_mode():
        model(input_ids=torch.zeros((1, TOKENS), dtype=torch.long), use_cache=False)
    save_file({"output": heard[0].contiguous()}, resource("engine") / "block.safetensors")


if __name__ == "__main__":
    main()
