"""GPTQ, AWQ and compressed-tensors: every layout is read to the last bit and computes what the whole model does."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.packed_files import Layout, change_tensors, pack_checkpoint
from helpers.spans_as_one import model_of
from helpers.tiny_models import NUM_BLOCKS, save_random
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM

from potluck.blocks.span.block_span import load_span
from potluck.checkpoint.packed import Packing
from potluck.checkpoint.source import open_checkpoint
from potluck.checkpoint.stored import refuse_packed_ends
from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span

GOLDEN = Path(__file__).parents[2] / "golden" / "packed" / "matrices.safetensors"
PART = "model.layers.0.mlp.up_proj."
LAYOUTS = {
    "8 bits, one group, symmetric": Layout(bits=8, group=0, is_symmetric=True),
    "8 bits, act-order": Layout(bits=8, group=128, acts_in_order=True),
    "2 bits": Layout(bits=2),
    "second version": Layout(version="gptq_v2"),
    "awq": Layout("awq", group=128),
    "compressed, act-order": Layout("compressed-tensors", acts_in_order=True),
    "compressed, 8 bits, one group": Layout("compressed-tensors", bits=8, group=0),
}


def packed(layout: Layout, tmp_path: Path, family: str = "llama") -> tuple[Path, Path]:
    folder, whole = save_random(family, tmp_path / "packed"), tmp_path / "whole"
    pack_checkpoint(folder, layout, whole=whole)
    return folder, whole


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(Layout(), tmp_path_factory.mktemp("saved"))[0]


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A Llama in GPTQ, for a test to change."""
    return Path(shutil.copytree(saved, tmp_path / "gptq"))


def packing(layout: Layout) -> Packing:
    found = Packing.of(layout.config)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        *(("gptq", f"gptq {kind}") for kind in ("4 bits", "4 bits, zero points", "4 bits, act-order", "8 bits")),
        *(("awq", kind) for kind in ("awq", "awq, one group")),
        *(("compressed-tensors", f"compressed {kind}") for kind in ("4 bits", "4 bits, zero points", "8 bits")),
    ],
)
def test_what_the_packages_themselves_packed_is_read_to_the_last_bit(method: str, kind: str) -> None:
    tensors = load_file(GOLDEN)
    numbers = packing(Layout(method)).matrix(kind, tensors).numbers(torch.float32)
    assert torch.equal(numbers, tensors[f"{kind}.expected"])


@pytest.mark.parametrize("kind", LAYOUTS)
def test_every_layout_is_read_to_the_last_bit(kind: str) -> None:
    layout = LAYOUTS[kind]
    tensors, numbers = layout.pack(1056, 256)
    matrix = packing(layout).matrix("a", {f"a.{part}": each for part, each in tensors.items()})
    assert torch.equal(matrix.numbers(torch.float32), numbers)
    assert torch.equal(matrix.numbers(torch.bfloat16), numbers.bfloat16())


@pytest.mark.parametrize(
    ("family", "layout"),
    [("qwen3_moe", Layout("awq")), ("llama", Layout("compressed-tensors"))],
    ids=["awq", "compressed"],
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


def test_biases_of_zeros_that_the_model_lacks_are_left_out(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    bias = {f"{PART}bias": torch.zeros(96)}
    save_file(tensors | bias, folder / "model.safetensors", metadata={"format": "pt"})
    for quantization in ("none", "int4"):
        load_span(open_checkpoint(str(folder)), Span(0, 1), quantization=quantization)
    change_tensors(folder, lambda name, tensor: tensor + 0.5 if name in bias else tensor)
    with pytest.raises(CheckpointError, match=r"the checkpoint has .*up_proj\.bias, which the model does not know"):
        load_span(open_checkpoint(str(folder)), Span(0, 1))


@pytest.mark.parametrize(
    ("part", "change", "problem"),
    [
        ("qzeros", lambda tensor: None, r"lacks a\.qzeros"),
        ("qweight", lambda tensor: tensor.long(), "is not packed into words of 32 bits"),
        ("qweight", lambda tensor: tensor[:-1].clone(), "has an odd g_idx"),
        ("qweight", lambda tensor: tensor[:, 8:].contiguous(), "has tensors that don't fit each other"),
        ("qzeros", lambda tensor: tensor[:, :2].contiguous(), "has codes of 1 bits; 2, 4, 8 are supported"),
        ("scales", lambda tensor: tensor / 0, "has scales that are no numbers"),
        ("scales", lambda tensor: tensor.to(torch.uint8), "has scales that are no numbers"),
        ("scales", lambda tensor: tensor[0].clone(), "has tensors of odd shapes"),
        ("g_idx", lambda tensor: torch.arange(96) // 32 + 1, "has columns of groups that don't exist"),
        ("g_idx", lambda tensor: torch.arange(96) // 32 - 1, "has columns of groups that don't exist"),
        ("g_idx", lambda tensor: torch.arange(96) / 32, "has an odd g_idx"),
        ("weight_shape", lambda tensor: torch.tensor([64, 90]), "has tensors that don't fit each other"),
        ("weight_shape", lambda tensor: torch.tensor([65, 96]), "has tensors that don't fit each other"),
        ("weight_shape", lambda tensor: torch.tensor([64, -96]), "has tensors that don't fit each other"),
        ("weight_shape", lambda tensor: torch.tensor([64.0, 96.0]), "has no shape"),
        ("weight_zero_point", lambda tensor: torch.zeros((7, 3), dtype=torch.int32), "don't fit each other"),
        ("weight_scale", lambda tensor: torch.full((64, 3), torch.nan), "has scales that are no numbers"),
    ],
)
def test_a_damaged_matrix_is_refused_by_name(
    part: str, change: Callable[[Tensor | None], Tensor | None], problem: str
) -> None:
    layout = Layout("compressed-tensors" if part.startswith("weight") else "gptq")
    tensors: dict[str, Any] = {f"a.{name}": each for name, each in layout.pack(64, 96)[0].items()}
    tensors[f"a.{part}"] = change(tensors.get(f"a.{part}"))
    with pytest.raises(CheckpointError, match=problem):
        packing(layout).matrix("a", tensors)


def test_a_matrix_of_other_sizes_than_the_model_says_is_refused(folder: Path) -> None:
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


def test_a_packed_head_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"lm_head.qweight is stored quantised, which is supported for layers"):
        refuse_packed_ends({"lm_head.qweight": torch.zeros((8, 8), dtype=torch.int32)})
