"""How many kernels a block launches for a decode step: `launches`.

Blocks run in Triton's interpreter with weights as a card holds them. Each of Triton's kernels counts as one, and so
does each of torch's operations that is neither a view nor an allocation. That says nothing about speed.
"""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.figures import Measured, figure
from benchmarks.kernels.families import Counting, take_cpu_for_gpu
from benchmarks.kernels.interpreted import run

_GOALS = {
    "llama, none, none": 10,
    "llama, int4, none": 11,
    "llama, int4, int8": 11,
    "qwen3_moe, int4, none": 14,
}
"""Family, format of weights, format of keys and values -> kernels a block."""
_SIZES = {
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
}
_EXPERTS = {"moe_intermediate_size": 128, "num_experts": 16, "num_experts_per_tok": 4, "norm_topk_prob": True}


@figure("launches", unit="ratio", reach=1)
def worst(soak: bool) -> Measured:
    """Kernels that one block launches for a decode step of one row, over their goals: the worst of four kinds of
    blocks.

    In Triton's interpreter, torch's that are neither views nor allocations included. Goals: Llama in bfloat16 10,
    in int4 11, in int4 with keys and values in int8 11, Qwen 3 with int4 experts 14. `detail` has their names.
    """
    found = run("kernels.launches:count")
    ratios = {case: len(names) / _GOALS[case] for case, names in found.items()}
    detail = {case: {"kernels": len(names), "goal": _GOALS[case], "names": names} for case, names in found.items()}
    return Measured(max(ratios.values()), detail)


def count() -> dict[str, list[str]]:
    """Return the names of what one block of each case launches for a step of one row, in order."""
    import transformers as hf

    take_cpu_for_gpu()
    configs = {"llama": hf.LlamaConfig(**_SIZES), "qwen3_moe": hf.Qwen3MoeConfig(**_SIZES, **_EXPERTS)}
    found = {}
    for case in _GOALS:
        family, weights, cache = case.split(", ")
        found[case] = _launched(configs[family], weights, cache)
    return found


@torch.inference_mode()
def _launched(config: Any, weights: str, cache: str) -> list[str]:
    from benchmarks.kernels.recorded import blocks_on_card
    from potluck.blocks.span.step_plans import StepRow, plan_step

    blocks = blocks_on_card(config, weights)
    for parameter in blocks.layers.parameters():
        parameter.zero_()  # the interpreter multiplies other numbers in bfloat16 wrongly
    blocks.try_out(has_int8_cache=cache == "int8")
    assert blocks.step_ways.startswith("fused"), blocks.step_ways
    memory = blocks.new_memory(16)
    sequence = memory.new_sequence()
    memory.reserve(sequence, 2)
    for _ in range(2):
        counting = Counting()
        with counting, counting.watching(blocks):
            blocks.run_step(plan_step(memory, [StepRow(sequence, 1)]), torch.randn(1, 256, dtype=blocks.dtype), memory)
        memory.advance(sequence, 1)
    return counting.names
