"""Weights and KV memory that leave the GPU and come back; streamed blocks; number formats; lack of memory."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from test_gpu_steps import ROUNDING, SPAN, TOLERANCE, eager, error_of, random_rows, step

from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.blocks.streaming import split_experts
from potluck.blocks.streaming.placement import Room
from potluck.checkpoint.source import open_checkpoint

FamilyFolder = Callable[[str], Path]


def load(folder: Path, device: torch.device, **settings: object) -> BlockSpan:
    return load_span(open_checkpoint(str(folder)), SPAN, device=str(device), **{"dtype": torch.float32, **settings})


def room(folder: Path, *, device_bytes: int = 1 << 40, ram_bytes: int = 1 << 40) -> Room:
    return Room(device_bytes=device_bytes, ram_bytes=ram_bytes, disk_bytes=1 << 30, folder=folder)


def test_a_session_goes_on_after_everything_left_the_gpu(
    gpu: torch.device, family_folder: FamilyFolder, tmp_path: Path
) -> None:
    folder = family_folder("llama")
    blocks = load(folder, gpu, room=room(tmp_path))
    memory = blocks.new_memory(256)
    (hidden,) = random_rows((24,), blocks.hidden_size)
    sequence = memory.new_sequence()
    outputs = step(blocks, memory, [(sequence, hidden[:20])]) + step(blocks, memory, [(sequence, hidden[20:21])])

    saved = memory.save(sequence)
    memory.free(sequence)
    before = torch.cuda.memory_allocated(gpu)
    size = sum(parameter.nbytes for parameter in blocks.layers.parameters())
    blocks.weights.free()
    assert before - torch.cuda.memory_allocated(gpu) >= size
    torch.cuda.empty_cache()
    blocks.weights.restore()
    sequence = memory.load(saved)

    for token in hidden[21:]:  # by a graph that was made anew: the weights lie elsewhere
        outputs += step(blocks, memory, [(sequence, token[None])])
    assert "no graphs" not in blocks.step_ways
    assert error_of(torch.cat(outputs), eager(folder, hidden, gpu, torch.float32)) < TOLERANCE


@pytest.mark.parametrize("ram_bytes", [1 << 40, 0], ids=["from RAM", "from disk"])
def test_streamed_blocks_compute_what_resident_ones_do(
    ram_bytes: int, gpu: torch.device, family_folder: FamilyFolder, tmp_path: Path
) -> None:
    folder = family_folder("llama")
    resident = load(folder, gpu)
    block_bytes = max(sum(p.nbytes for p in layer.parameters()) for layer in resident.layers)
    streamed = load(folder, gpu, room=room(tmp_path, device_bytes=2 * block_bytes, ram_bytes=ram_bytes))
    assert streamed.weights.placement.num_streamed == len(SPAN)
    (hidden,) = random_rows((24,), streamed.hidden_size)
    memory = streamed.new_memory(64)
    sequence = memory.new_sequence()
    outputs = step(streamed, memory, [(sequence, hidden[:20])])
    for token in hidden[20:]:
        outputs += step(streamed, memory, [(sequence, token[None])])
    assert error_of(torch.cat(outputs), eager(folder, hidden, gpu, torch.float32)) < TOLERANCE

    rows = hidden[None].to(gpu)
    inputs = [rows.clone().requires_grad_() for _ in range(2)]
    grads = [
        torch.autograd.grad(blocks.forward(leaf).square().sum(), leaf)[0]
        for blocks, leaf in zip((resident, streamed), inputs, strict=True)
    ]
    torch.testing.assert_close(grads[0], grads[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("streamed_tokens", [1 << 20, 8], ids=["in RAM", "long prompts on the device"])
def test_experts_in_ram_compute_what_experts_on_the_device_do(
    streamed_tokens: int,
    device: torch.device,
    family_folder: FamilyFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(split_experts, "_STREAMED_TOKENS", streamed_tokens)
    monkeypatch.setattr(split_experts, "_FIRST_CHOICES", 0)
    monkeypatch.setattr(split_experts, "copies_in_background", lambda device: True)
    folder = family_folder("mixtral")
    sizes = load(folder, device).weights.placement.sizes
    some = replace(room(tmp_path, device_bytes=sum(sizes) * 2 // 3), takes_experts=True)  # 2 of 4 experts have copies
    blocks = load(folder, device, room=some)
    assert len(blocks.weights.placement.split) == len(SPAN)
    (hidden,) = random_rows((24,), blocks.hidden_size)
    memory = blocks.new_memory(64)
    sequence = memory.new_sequence()
    outputs = step(blocks, memory, [(sequence, hidden[:20])])
    for token in hidden[20:]:
        outputs += step(blocks, memory, [(sequence, token[None])])
    assert blocks.step_ways == "fused, no graphs"
    assert error_of(torch.cat(outputs), eager(folder, hidden, device, torch.float32)) < TOLERANCE


@pytest.mark.parametrize("quantization", ["int8", "int4"])
@torch.inference_mode()
def test_quantised_blocks_err_in_bfloat16_little_more_than_their_restored_matrices(
    quantization: str,
    device: torch.device,
    family_folder: FamilyFolder,
    record_property: Callable[[str, object], None],
) -> None:
    """The exact result is that of the same codes in float32 on the CPU."""
    settings: dict[str, Any] = {"quantization": quantization, "dtype": torch.bfloat16}
    there, here = (load(family_folder("llama"), where, **settings) for where in (device, torch.device("cpu")))
    assert there.runner is not None
    assert here.runner is not None
    here.runner.use_plain()
    exact = BlockSpan(
        here.decoder.float(), here.layers, SPAN, here.digests, here.weights, model_config=here.model_config
    )
    rows = [hidden[None].bfloat16() for hidden in random_rows((16,) * 4, exact.hidden_size)]

    expected = torch.cat([exact.forward(row.float()) for row in rows]).double()
    assert there.runner.has_kernels
    found = torch.cat([there.forward(row.to(device)) for row in rows]).double().cpu()
    there.runner.use_plain()
    usual = torch.cat([there.forward(row.to(device)) for row in rows]).double().cpu()

    ours, theirs = error_of(found, expected), error_of(usual, expected)
    record_property("error", round(ours, 4))
    record_property("error_of_restored", round(theirs, 4))
    assert ours < ROUNDING * theirs


def test_a_step_that_finds_no_memory_fails_alone_and_the_next_one_is_right(
    gpu: torch.device, family_folder: FamilyFolder
) -> None:
    folder = family_folder("llama")
    blocks = load(folder, gpu)
    memory = blocks.new_memory(1 << 16)
    (hidden,) = random_rows((1 << 15,), blocks.hidden_size)
    sequence = memory.new_sequence()
    memory.reserve(sequence, len(hidden))
    torch.cuda.empty_cache()
    hog = torch.empty(torch.cuda.mem_get_info(gpu)[0] - (16 << 20), dtype=torch.uint8, device=gpu)
    with pytest.raises(torch.OutOfMemoryError):
        step(blocks, memory, [(sequence, hidden)])
    del hog
    torch.cuda.empty_cache()
    assert sequence.length == 0

    short = hidden[:24]
    (output,) = step(blocks, memory, [(sequence, short)])
    assert error_of(output, eager(folder, short, gpu, torch.float32)) < TOLERANCE
