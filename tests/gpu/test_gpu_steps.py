"""Steps of packed rows on a GPU against Hugging Face's eager code, row by row: families, windows, sinks, graphs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from potluck.blocks import BlockSpan, load_span
from potluck.blocks.kv import KvMemory, KvSequence
from potluck.blocks.plans import StepRow, plan_step
from potluck.checkpoint import open_checkpoint
from potluck.protocol.blocks import Span

SPAN = Span(0, 5)  # not the last block: what comes out of it is not normalised yet
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 3e-2}
FUSED = ["llama", "mistral_sliding", "qwen2", "qwen3", "qwen3_moe", "mixtral", "phi3", "smollm3", "granite", "gemma"]
FUSED += ["gemma2", "gemma3", "olmo2", "olmo3", "glm4", "gpt_oss"]

FamilyFolder = Callable[[str], Path]


@torch.inference_mode()
def eager(folder: Path, hidden: Tensor, device: torch.device, dtype: torch.dtype) -> Tensor:
    """What the family's own code makes of one row, hidden [tokens, hidden_size], after the blocks of `SPAN`."""
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager")
    decoder = model.to(device).eval().model
    made = decoder(inputs_embeds=hidden[None].to(device, dtype), output_hidden_states=True, use_cache=False)
    output: Tensor = made.hidden_states[SPAN.end][0]
    return output.double().cpu()


def step(blocks: BlockSpan, memory: KvMemory, rows: Sequence[tuple[KvSequence, Tensor]]) -> list[Tensor]:
    """New hidden states [tokens, hidden_size] of each row through the blocks; the same of each."""
    for sequence, hidden in rows:
        memory.reserve(sequence, sequence.length + len(hidden))
    plan = plan_step(memory, [StepRow(sequence, len(hidden)) for sequence, hidden in rows])
    packed = torch.cat([hidden for _, hidden in rows]).to(blocks.device, blocks.dtype)
    output = blocks.run_step(plan, packed, memory).double().cpu()
    for sequence, hidden in rows:
        memory.advance(sequence, len(hidden))
    return list(output.split([len(hidden) for _, hidden in rows]))


def error_of(output: Tensor, expected: Tensor) -> float:
    return float((output - expected).norm() / expected.norm())


def random_rows(lengths: Sequence[int], width: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(length, width, generator=generator) for length in lengths]


@pytest.mark.parametrize("family", ["qwen3", "gemma3"])
def test_steps_over_int8_pages_equal_those_of_plain_torch(
    family: str, device: torch.device, family_folder: FamilyFolder
) -> None:
    checkpoint = open_checkpoint(str(family_folder(family)))
    blocks = load_span(checkpoint, SPAN, dtype=torch.float32, device=str(device), cache_quantization="int8")
    assert blocks.step_ways.startswith("fused"), blocks.step_ways
    runner = blocks.runner
    assert runner is not None
    outputs = []
    for _ in range(2):
        memory = blocks.new_memory(256)
        long, short = random_rows((37, 20), blocks.hidden_size)
        first, second = memory.new_sequence(), memory.new_sequence()
        made = step(blocks, memory, [(first, long[:30])])
        made += step(blocks, memory, [(first, long[30:36]), (second, short[:19])])
        made += step(blocks, memory, [(first, long[36:]), (second, short[19:])])
        outputs.append(torch.cat(made))
        runner.use_plain()
    assert error_of(*outputs) < 3e-2  # plain torch attends to a step's own keys before they are rounded


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("family", FUSED)
def test_a_step_of_decode_rows_and_prefill_chunks_equals_each_row_in_eager_code(
    family: str, dtype: torch.dtype, device: torch.device, family_folder: FamilyFolder
) -> None:
    if device.type == "cpu" and dtype is torch.bfloat16:
        pytest.skip("the interpreter cannot multiply bfloat16")
    folder = family_folder(family)
    blocks = load_span(open_checkpoint(str(folder)), SPAN, dtype=dtype, device=str(device))
    assert blocks.step_ways.startswith("fused"), blocks.step_ways
    memory = blocks.new_memory(256)
    long, short = random_rows((37, 20), blocks.hidden_size)
    first, second = memory.new_sequence(), memory.new_sequence()

    outputs: dict[int, list[Tensor]] = {0: [], 1: []}
    outputs[0] += step(blocks, memory, [(first, long[:30])])
    for begin, end, new in ((30, 31, short[:17]), (31, 35, short[17:18]), (35, 36, short[18:19]), (36, 37, short[19:])):
        one, other = step(blocks, memory, [(first, long[begin:end]), (second, new)])
        outputs[0].append(one)
        outputs[1].append(other)

    for row, hidden in enumerate((long, short)):
        expected = eager(folder, hidden, device, dtype)
        assert error_of(torch.cat(outputs[row]), expected) < TOLERANCE[dtype]


@pytest.mark.parametrize("num_rows", [1, 2, 3, 8])
def test_decode_by_graphs_equals_eager_code_and_no_filler_shows(
    num_rows: int, gpu: torch.device, family_folder: FamilyFolder
) -> None:
    folder = family_folder("llama")
    blocks = load_span(open_checkpoint(str(folder)), SPAN, dtype=torch.float32, device=str(gpu))
    memory = blocks.new_memory(64 * num_rows + 64)
    hidden = random_rows([20 + row for row in range(num_rows)], blocks.hidden_size)
    sequences = [memory.new_sequence() for _ in hidden]
    outputs = [step(blocks, memory, [(sequence, row[:-8])]) for sequence, row in zip(sequences, hidden, strict=True)]
    for back in range(8, 0, -1):
        rows = [
            (sequence, row[len(row) - back : len(row) - back + 1])
            for sequence, row in zip(sequences, hidden, strict=True)
        ]
        for found, output in zip(outputs, step(blocks, memory, rows), strict=True):
            found.append(output)

    assert blocks.step_ways == "fused, graphs"
    for row, found in zip(hidden, outputs, strict=True):
        assert error_of(torch.cat(found), eager(folder, row, gpu, torch.float32)) < TOLERANCE[torch.float32]
