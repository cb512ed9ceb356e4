"""GPTQ, AWQ and compressed-tensors: every layout is read to the last bit and computes what the whole model does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.packed_files import Layout, change_tensors, pack_checkpoint
from helpers.spans_as_one import model_of
from helpers.tiny_models import NUM_BLOCKS, save_random
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModelForCausalLM

from potluck.blocks import load_span
from potluck.checkpoint import load_ends, open_checkpoint
from potluck.checkpoint.packed import Packing
from potluck.checkpoint.stored import stored_format
from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span

GOLDEN = Path(__file__).parents[2] / "golden" / "packed" / "matrices.safetensors"
LAYOUTS = {
    "4 bits, groups of 32": Layout(),
    "4 bits, groups of 64, symmetric": Layout(group=64, is_symmetric=True),
    "4 bits, groups of 128": Layout(group=128),
    "4 bits, one group": Layout(group=0),
    "4 bits, act-order": Layout(acts_in_order=True),
    "8 bits": Layout(bits=8),
    "8 bits, one group, symmetric": Layout(bits=8, group=0, is_symmetric=True),
    "8 bits, act-order": Layout(bits=8, group=128, acts_in_order=True),
    "2 bits": Layout(bits=2),
    "second version": Layout(version="gptq_v2"),
    "awq": Layout("awq", group=128),
    "awq, one group": Layout("awq", group=0),
    "compressed": Layout("compressed-tensors", group=128),
    "compressed, symmetric": Layout("compressed-tensors", is_symmetric=True),
    "compressed, act-order": Layout("compressed-tensors", acts_in_order=True),
    "compressed, 8 bits, one group": Layout("compressed-tensors", bits=8, group=0),
}


def packed(layout: Layout, tmp_path: Path, family: str = "llama") -> tuple[Path, Path]:
    folder, whole = save_random(family, tmp_path / "packed"), tmp_path / "whole"
    pack_checkpoint(folder, layout, whole=whole)
    return folder, whole


@pytest.mark.parametrize("kind", ["gptq 4 bits", "gptq 4 bits, zero points", "gptq 4 bits, act-order", "gptq 8 bits"])
def test_what_autogptq_packed_is_read_to_the_last_bit(kind: str) -> None:
    check_golden(kind, packing(Layout()))


@pytest.mark.parametrize("kind", ["awq", "awq, one group"])
def test_what_autoawq_packed_is_read_to_the_last_bit(kind: str) -> None:
    check_golden(kind, packing(Layout("awq")))


@pytest.mark.parametrize("kind", ["compressed 4 bits", "compressed 4 bits, zero points", "compressed 8 bits"])
def test_what_compressed_tensors_packed_is_read_to_the_last_bit(kind: str) -> None:
    check_golden(kind, packing(Layout("compressed-tensors")))


def packing(layout: Layout) -> Packing:
    found = Packing.of(layout.config)
    assert found is not None
    return found


def check_golden(kind: str, packing: Packing) -> None:
    tensors = load_file(GOLDEN)
    assert torch.equal(packing.matrix(kind, tensors).numbers(torch.float32), tensors[f"{kind}.expected"])


@pytest.mark.parametrize("kind", LAYOUTS)
def test_every_layout_is_read_to_the_last_bit(kind: str) -> None:
    layout = LAYOUTS[kind]
    tensors, numbers = layout.pack(1056, 256)
    matrix = packing(layout).matrix("a", {f"a.{part}": each for part, each in tensors.items()})
    assert torch.equal(matrix.numbers(torch.float32), numbers)
    assert torch.equal(matrix.numbers(torch.bfloat16), numbers.bfloat16())


@pytest.mark.parametrize("family", ["llama", "qwen3_moe"])
@pytest.mark.parametrize(
    "layout",
    [Layout(acts_in_order=True), Layout("awq"), Layout("compressed-tensors")],
    ids=["gptq", "awq", "compressed"],
)
@torch.inference_mode()
def test_two_spans_and_the_ends_give_the_logits_of_the_whole_model(family: str, layout: Layout, tmp_path: Path) -> None:
    folder, plain = packed(layout, tmp_path, family)
    whole = AutoModelForCausalLM.from_pretrained(plain, dtype=torch.float32).eval()
    checkpoint = open_checkpoint(str(folder))
    spans = [load_span(checkpoint, Span(a, b), dtype=torch.float32) for a, b in ((0, 2), (2, NUM_BLOCKS))]
    split = model_of(checkpoint, spans)
    ids = torch.arange(1, 12)[None]
    torch.testing.assert_close(split(ids).logits, whole(ids).logits, rtol=1e-5, atol=1e-5)


def test_biases_of_zeros_that_the_model_lacks_are_left_out(tmp_path: Path) -> None:
    folder, _ = packed(Layout(), tmp_path)

    def add_bias(value: float) -> Callable[[str, Tensor], Tensor]:
        return lambda name, tensor: tensor if not name.endswith("up_proj.bias") else torch.full_like(tensor, value)

    tensors = load_file(folder / "model.safetensors")
    extra = {"model.layers.0.mlp.up_proj.bias": torch.zeros(96)}
    save_file(tensors | extra, folder / "model.safetensors", metadata={"format": "pt"})
    for quantization in ("none", "int4"):
        load_span(open_checkpoint(str(folder)), Span(0, 1), quantization=quantization)
    change_tensors(folder, add_bias(0.5))
    with pytest.raises(CheckpointError, match=r"the checkpoint has .*up_proj\.bias, which the model does not know"):
        load_span(open_checkpoint(str(folder)), Span(0, 1))


PART = "model.layers.0.mlp.up_proj."
BAD: dict[str, tuple[Callable[[str, Tensor], Tensor | None], str]] = {
    "no zero points": (lambda part, tensor: None if part == "qzeros" else tensor, r"lacks .*up_proj\.qzeros"),
    "words of 64 bits": (
        lambda part, tensor: tensor.long() if part == "qweight" else tensor,
        "is not packed into words of 32 bits",
    ),
    "too few words": (
        lambda part, tensor: tensor[:-1].clone() if part == "qweight" else tensor,
        "has an odd g_idx",
    ),
    "words of other rows": (
        lambda part, tensor: tensor[:, 8:].contiguous() if part == "qweight" else tensor,
        "has tensors that don't fit each other",
    ),
    "codes of 1 bit": (
        lambda part, tensor: tensor[:, :3].contiguous() if part == "qzeros" else tensor,
        "has codes of 1 bits; 2, 4, 8 are supported",
    ),
    "scales without end": (
        lambda part, tensor: tensor / 0 if part == "scales" else tensor,
        "has scales that are no numbers",
    ),
    "scales that are codes": (
        lambda part, tensor: tensor.to(torch.uint8) if part == "scales" else tensor,
        "has scales that are no numbers",
    ),
    "a group that isn't there": (
        lambda part, tensor: tensor + 1 if part == "g_idx" else tensor,
        "has columns of groups that don't exist",
    ),
    "a negative group": (
        lambda part, tensor: tensor - 1 if part == "g_idx" else tensor,
        "has columns of groups that don't exist",
    ),
    "groups as numbers": (lambda part, tensor: tensor.float() if part == "g_idx" else tensor, "has an odd g_idx"),
    "a vector": (lambda part, tensor: tensor[0].clone() if part == "scales" else tensor, "has tensors of odd shapes"),
}


@pytest.mark.parametrize("quantization", ["none", "int4"])
@pytest.mark.parametrize("kind", BAD)
def test_a_damaged_matrix_is_refused_by_name(kind: str, quantization: str, tmp_path: Path) -> None:
    change, problem = BAD[kind]
    folder, _ = packed(Layout(), tmp_path)
    change_tensors(folder, lambda name, x: change(name.removeprefix(PART), x) if name.startswith(PART) else x)
    with pytest.raises(CheckpointError, match=problem):
        load_span(open_checkpoint(str(folder)), Span(0, 1), quantization=quantization)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"a.weight_shape": torch.tensor([64, 90])}, "has tensors that don't fit each other"),
        ({"a.weight_shape": torch.tensor([65, 96])}, "has tensors that don't fit each other"),
        ({"a.weight_shape": torch.tensor([64, -96])}, "has tensors that don't fit each other"),
        ({"a.weight_shape": torch.tensor([64.0, 96.0])}, "has no shape"),
        ({"a.weight_zero_point": torch.zeros(7, 3, dtype=torch.int32)}, "has tensors that don't fit each other"),
        ({"a.weight_scale": torch.full((64, 3), torch.nan)}, "has scales that are no numbers"),
    ],
)
def test_what_compressed_tensors_never_stores_is_refused(change: dict[str, Tensor], problem: str) -> None:
    layout = Layout("compressed-tensors")
    tensors = {f"a.{part}": each for part, each in layout.pack(64, 96)[0].items()}
    with pytest.raises(CheckpointError, match=problem):
        packing(layout).matrix("a", tensors | change)


def test_a_matrix_of_other_sizes_than_the_model_says_is_refused(tmp_path: Path) -> None:
    folder, _ = packed(Layout(), tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 128}))
    for quantization in ("none", "int4"):
        with pytest.raises(CheckpointError, match="but the configuration says"):
            load_span(open_checkpoint(str(folder)), Span(0, 1), quantization=quantization)


@pytest.mark.parametrize(
    "said",
    [
        {"quant_method": "awq", "version": "gemv"},
        {"quant_method": "gptq", "checkpoint_format": "marlin"},
        {"quant_method": "gptq", "is_marlin_format": True},
    ],
)
def test_layouts_that_are_not_known_are_refused_by_name(said: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError, match=r"in the layout '(gemv|marlin)', which is not supported"):
        Packing.of(said)


def test_a_packed_head_is_refused(tmp_path: Path) -> None:
    folder, _ = packed(Layout(), tmp_path)
    tensors, _ = Layout().pack(128, 64)
    whole = load_file(folder / "model.safetensors")
    del whole["lm_head.weight"]
    head = {f"lm_head.{part}": each for part, each in tensors.items()}
    save_file(whole | head, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(CheckpointError, match=r"lm_head.qweight is stored quantised, which is supported for blocks"):
        load_ends(open_checkpoint(str(folder)), nn.Identity())


def test_a_configuration_that_names_gptq_needs_no_package(tmp_path: Path) -> None:
    folder, _ = packed(Layout("awq", group=0), tmp_path)
    assert stored_format(open_checkpoint(str(folder)).config) == Packing("gemm")
