"""Checkpoints that are stored quantised: a span of one computes what transformers computes with the whole model."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.spans_as_one import model_of
from helpers.tiny_models import NUM_BLOCKS, save_random
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModelForCausalLM

from potluck.blocks.span.block_span import load_span
from potluck.checkpoint.ends import load_ends
from potluck.checkpoint.source import open_checkpoint
from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span

BLOCK = 32
FP8: dict[str, Any] = {"quant_method": "fp8", "weight_block_size": [BLOCK, BLOCK], "activation_scheme": "dynamic"}
MXFP4: dict[str, Any] = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}


def rewrite(folder: Path, quantization: dict[str, Any], change: Callable[[str, Tensor], dict[str, Tensor]]) -> Path:
    """One shard in place of all, each tensor replaced by what `change` makes of it."""
    tensors: dict[str, Tensor] = {}
    for shard in sorted(folder.glob("*.safetensors")):
        for name, tensor in load_file(shard).items():
            tensors |= change(name, tensor)
        shard.unlink()
    (folder / "model.safetensors.index.json").unlink(missing_ok=True)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "quantization_config": quantization}))
    return folder


def to_fp8(name: str, tensor: Tensor) -> dict[str, Tensor]:
    """As DeepSeek stores it: values up to 448, and a factor for each square of a matrix."""
    if tensor.dim() != 2 or ".layers." not in name or name.endswith(".gate.weight"):
        return {name: tensor}
    squares = tensor.reshape(tensor.shape[0] // BLOCK, BLOCK, -1, BLOCK)
    factors = squares.abs().amax(dim=(1, 3)) / 448
    values = (squares / factors[:, None, :, None]).to(torch.float8_e4m3fn).reshape(tensor.shape)
    return {name: values, f"{name}_scale_inv": factors}


def to_mxfp4(name: str, tensor: Tensor) -> dict[str, Tensor]:
    """As gpt-oss stores its experts, with arbitrary values: 32 of them share a power of two."""
    if not name.endswith(("gate_up_proj", "down_proj")):
        return {name: tensor}
    experts, columns, rows = tensor.shape
    some = torch.Generator().manual_seed(len(name))
    blocks = torch.randint(256, (experts, rows, columns // BLOCK, 16), dtype=torch.uint8, generator=some)
    scales = torch.randint(122, 126, blocks.shape[:-1], dtype=torch.uint8, generator=some)
    return {f"{name}_blocks": blocks, f"{name}_scales": scales}


@pytest.mark.parametrize(
    ("family", "quantization", "change"), [("qwen3_moe", FP8, to_fp8), ("gpt_oss", MXFP4, to_mxfp4)]
)
@torch.inference_mode()
def test_two_spans_and_the_ends_give_the_logits_of_the_whole_model(
    family: str, quantization: dict[str, Any], change: Callable[[str, Tensor], dict[str, Tensor]], tmp_path: Path
) -> None:
    folder = rewrite(save_random(family, tmp_path), quantization, change)
    whole = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    checkpoint = open_checkpoint(str(folder))
    spans = [load_span(checkpoint, Span(a, b), dtype=torch.float32) for a, b in ((0, 2), (2, NUM_BLOCKS))]
    split = model_of(checkpoint, spans)
    ids = torch.arange(1, 12)[None]
    torch.testing.assert_close(split(ids).logits, whole(ids).logits, rtol=1e-5, atol=1e-5)
    assert {parameter.dtype for span in spans for parameter in span.layers.parameters()} == {torch.float32}


def test_a_factor_that_does_not_fit_its_matrix_is_refused(tmp_path: Path) -> None:
    def change(name: str, tensor: Tensor) -> dict[str, Tensor]:
        made = to_fp8(name, tensor)
        return {key: value[:, :1].repeat(1, 3) if key.endswith("_inv") else value for key, value in made.items()}

    folder = rewrite(save_random("llama", tmp_path), FP8, change)
    with pytest.raises(CheckpointError, match=r"cannot be converted: .*layers\.0"):
        load_span(open_checkpoint(str(folder)), Span(0, 1))


def test_a_quantised_head_is_refused(tmp_path: Path) -> None:
    def change(name: str, tensor: Tensor) -> dict[str, Tensor]:
        return {name: tensor.to(torch.float8_e4m3fn)} if name.startswith("lm_head") else to_fp8(name, tensor)

    folder = rewrite(save_random("llama", tmp_path), FP8, change)
    with pytest.raises(
        CheckpointError, match=r"lm_head.weight is stored quantised, which is supported for layers alone"
    ):
        load_ends(open_checkpoint(str(folder)), nn.Identity())


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True, "dynamic": False}
    groups = {"group_0": {"targets": ["Linear"], "weights": weights}}
    compressed = {"quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": groups}
    folder = rewrite(save_random("llama", tmp_path), compressed, lambda name, tensor: {name: tensor})
    checkpoint = open_checkpoint(str(folder))
    monkeypatch.setitem(sys.modules, "compressed_tensors", None)
    monkeypatch.delitem(sys.modules, "compressed_tensors.compressors", raising=False)
    with pytest.raises(CheckpointError, match="the package that reads it is not installed") as refusal:
        load_span(checkpoint, Span(0, 1))
    assert refusal.value.hint == "install the missing package: pip install compressed-tensors"
