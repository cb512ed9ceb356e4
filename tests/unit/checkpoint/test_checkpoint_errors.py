"""Bad checkpoints: each gets its own sentence, and none is half loaded, unpickled or run."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.tiny_models import save_random, whole_model
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import LlamaConfig, LlamaPreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from potluck.blocks.span.block_span import load_span
from potluck.checkpoint.building import Filler
from potluck.checkpoint.ends import load_ends
from potluck.checkpoint.families import SAME_LAYERS
from potluck.checkpoint.source import open_checkpoint
from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span

SHARD = "model.layers.1.mlp.up_proj.weight"


@pytest.fixture
def folder(tmp_path: Path, family_folder: Callable[[str], Path]) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(family_folder("llama"), tmp_path / "my model.v1"))


def shard_of(folder: Path, name: str = SHARD) -> Path:
    return folder / json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"][name]


def rewrite(path: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    tensors = dict(load_file(path))
    change(tensors)
    save_file(tensors, path, metadata={"format": "pt"})


def edit_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def drop_from_index(folder: Path, name: str) -> None:
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    del index["weight_map"][name]
    path.write_text(json.dumps(index))


def load(folder: Path) -> None:
    load_span(open_checkpoint(str(folder)), Span(0, 3))


def test_a_shard_that_cannot_be_read_is_named(folder: Path) -> None:
    shard = shard_of(folder)
    damages = {
        "is cut short or damaged": lambda: os.truncate(shard, shard.stat().st_size - 100),
        "is ": lambda: shard.write_bytes(b"<html>not found</html>" * 20),
        "is missing": shard.unlink,
    }
    for message, damage in damages.items():
        damage()
        with pytest.raises(CheckpointError, match=f"{shard.name} {message}"):
            load(folder)


def test_sizes_that_no_model_has_are_refused_at_once(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    many = {"num_hidden_layers": 10**9, "hidden_size": 10**12, "text_config": {"num_layers": 10**9}}
    for name, size in [*many.items(), ("num_hidden_layers", -1), ("vocab_size", 0)]:
        edit_config(folder, **{**config, name: size})
        with pytest.raises(CheckpointError, match=r"config.json is (damaged|not a valid configuration)"):
            open_checkpoint(str(folder))
        (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json"])
def test_deeply_nested_json_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_text('{"a":' * 100_000 + "1" + "}" * 100_000)
    with pytest.raises(CheckpointError, match=f"cannot read {name}"):
        load(folder)


def test_a_tensor_missing_from_its_shard_or_from_the_index_is_named(folder: Path) -> None:
    rewrite(shard_of(folder), lambda tensors: tensors.pop(SHARD))
    with pytest.raises(CheckpointError, match=r"lacks a tensor that the index lists.*up_proj"):
        load(folder)
    drop_from_index(folder, SHARD)
    with pytest.raises(CheckpointError, match=r"lacks layers\.1\.mlp\.up_proj\.weight"):
        load(folder)


def test_a_block_missing_altogether_is_told(folder: Path) -> None:
    edit_config(folder, num_hidden_layers=9)
    with pytest.raises(CheckpointError, match="lacks tensors of layers 6-9"):
        load_span(open_checkpoint(str(folder)), Span(5, 9))


def test_a_tensor_that_the_model_does_not_know_is_named(folder: Path) -> None:
    edit_config(folder, attention_bias=False, model_type="qwen3", head_dim=16)
    with pytest.raises(CheckpointError, match=r"q_norm|k_norm"):
        load(folder)


EXTRAS = {
    "llama": {"self_attn.rotary_emb.inv_freq": torch.ones(8)},
    "gpt2": {"attn.bias": torch.ones(1, 1, 9, 9, dtype=torch.bool), "attn.masked_bias": torch.tensor(-1e4)},
    "gptj": {"attn.bias": torch.ones(1, 1, 9, 9, dtype=torch.uint8), "attn.masked_bias": torch.tensor(-1e4)},
}
"""What earlier versions of Transformers stored in each block, by family."""


@pytest.mark.parametrize("family", EXTRAS)
def test_masks_and_frequencies_of_older_checkpoints_are_named_once_and_ignored(
    family: str, tmp_path: Path, family_folder: Callable[[str], Path], caplog: pytest.LogCaptureFixture
) -> None:
    plain, folder = family_folder(family), save_random(family, tmp_path, shard="1GB")
    before = "model.layers" if family == "llama" else "transformer.h"
    old = {f"{before}.{block}.{name}": tensor.clone() for block in range(6) for name, tensor in EXTRAS[family].items()}
    rewrite(folder / "model.safetensors", lambda tensors: tensors.update(old))
    with caplog.at_level("INFO", "potluck.checkpoint"):
        blocks, wanted = (load_span(open_checkpoint(str(each)), Span(0, 3)) for each in (folder, plain))
        load_ends(open_checkpoint(str(folder)), nn.Identity())
    hidden = torch.randn(1, 5, 64)
    assert torch.equal(blocks.forward(hidden), wanted.forward(hidden))
    assert blocks.weights.placement == wanted.weights.placement
    (line,) = (message for message in caplog.messages if "are ignored" in message)
    assert all(f".*.{name}" in line for name in EXTRAS[family])


class Biased(LlamaPreTrainedModel):
    """A model that has, or has not, a projection called `attn`, as masks were."""

    def __init__(self, *, bias: bool) -> None:
        super().__init__(LlamaConfig())
        self.attn = nn.Linear(2, 2, bias=bias, device="meta")


def test_a_real_bias_with_the_name_of_a_mask_is_loaded_or_refused() -> None:
    tensors = {"attn.weight": torch.ones(2, 2), "attn.bias": torch.full((2,), 3.0)}
    model = Biased(bias=True)
    Filler(model, torch.float32, "cpu").fill(tensors)
    assert model.attn.bias.tolist() == [3.0, 3.0]
    with pytest.raises(CheckpointError, match=r"has attn\.bias, which the model does not know"):
        Filler(Biased(bias=False), torch.float32, "cpu").fill(tensors)


@pytest.mark.parametrize("name", ["lm_head.bias", "model.norm.bias"])
def test_an_unknown_tensor_of_the_ends_is_refused(folder: Path, name: str) -> None:
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["weight_map"][name] = "more.safetensors"
    path.write_text(json.dumps(index))
    save_file({name: torch.ones(64)}, folder / "more.safetensors")
    with pytest.raises(CheckpointError, match=f"has {name}, which the model does not know"):
        load_ends(open_checkpoint(str(folder)), nn.Identity())


@pytest.mark.parametrize("name", SAME_LAYERS)
def test_another_name_of_a_known_family_loads_as_that_family(
    name: str, tmp_path: Path, family_folder: Callable[[str], Path]
) -> None:
    plain = family_folder(SAME_LAYERS[name])
    folder = Path(shutil.copytree(plain, tmp_path / name))
    edit_config(folder, model_type=name, auto_map={"AutoConfig": "own.Config"}, architectures=["Own"])
    (folder / "own.py").write_text("raise SystemExit")
    assert name not in CONFIG_MAPPING, "Transformers knows it now"
    blocks, wanted = (load_span(open_checkpoint(str(each)), Span(1, 4)) for each in (folder, plain))
    hidden = torch.randn(1, 5, 64)
    assert torch.equal(blocks.forward(hidden), wanted.forward(hidden))
    assert type(load_ends(open_checkpoint(str(folder)), nn.Identity())) is type(whole_model(plain))


def test_a_wrong_shape_is_told_with_both_shapes(folder: Path) -> None:
    rewrite(shard_of(folder), lambda tensors: tensors.update({SHARD: torch.zeros(96, 32)}))
    with pytest.raises(CheckpointError, match=r"up_proj.*\[96, 32\].*\[96, 64\]"):
        load(folder)


def test_a_missing_embedding_is_named(folder: Path) -> None:
    drop_from_index(folder, "model.embed_tokens.weight")
    with pytest.raises(CheckpointError, match=r"lacks .*embed_tokens"):
        load_ends(open_checkpoint(str(folder)), nn.Identity())


def test_a_buffer_that_nothing_computes_is_refused_not_served(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import LlamaModel

    monkeypatch.setattr(LlamaModel, "_init_weights", lambda self, module: None)
    with pytest.raises(CheckpointError, match=r"rotary_emb.inv_freq cannot be computed"):
        load(folder)


def test_a_damaged_index_is_refused(folder: Path) -> None:
    path = folder / "model.safetensors.index.json"
    for text in ("{", "[]", '{"weight_map": {"a": 1}}', '{"weight_map": {"a": "../../etc/x.safetensors"}}'):
        path.write_text(text)
        with pytest.raises(CheckpointError, match="index"):
            load(folder)


def test_folders_that_are_no_checkpoints_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no config.json"):
        open_checkpoint(str(tmp_path))
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(CheckpointError, match="no safetensors weights"):
        open_checkpoint(str(tmp_path))
    (tmp_path / "model.Q4_K_M.gguf").touch()
    with pytest.raises(CheckpointError, match="has its weights in GGUF") as refusal:
        open_checkpoint(str(tmp_path))
    assert refusal.value.hint == "choose the same model in safetensors, such as GPTQ or AWQ if it should be small"


def test_pickled_weights_are_refused_with_what_to_do_instead(folder: Path) -> None:
    for path in folder.glob("*.safetensors*"):
        path.unlink()
    (folder / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(CheckpointError, match="pickles") as refusal:
        open_checkpoint(str(folder))
    assert "save_pretrained()" in str(refusal.value.hint)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "llama99"}, "unknown to the installed transformers"),
        ({"model_type": "own", "auto_map": {"AutoConfig": "evil.Config"}}, "needs code from the checkpoint"),
        ({"model_type": None}, "has no model_type"),
        ({"hidden_size": "many"}, "not a valid configuration"),
    ],
)
def test_configurations_that_cannot_be_used_are_refused(folder: Path, changes: dict[str, Any], message: str) -> None:
    edit_config(folder, **changes)
    (folder / "evil.py").write_text(f"open({str(folder / 'ran')!r}, 'w')")
    with pytest.raises(CheckpointError, match=message):
        open_checkpoint(str(folder))
    assert not (folder / "ran").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "t5"}, "t5 cannot be split: .* encoder"),
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "which needs kernels of the bitsandbytes package"),
        ({"quantization_config": {"quant_method": "own"}}, "quantised .own., which is not supported"),
        ({"quantization_config": {"quant_method": "fp8", "scale_fmt": 3}}, "quantization_config is not valid"),
        *(({"model_type": family}, f"{family} cannot be split") for family in ("gemma3n_text", "zamba2")),
    ],
)
def test_families_that_cannot_be_split_are_refused_by_name(folder: Path, changes: dict[str, Any], message: str) -> None:
    path = folder / "config.json"
    kept = json.loads(path.read_text()) if "quantization_config" in changes else {}
    path.write_text(json.dumps({**kept, **changes}))
    checkpoint = open_checkpoint(str(folder))
    for attempt in (lambda: load_span(checkpoint, Span(0, 1)), lambda: load_ends(checkpoint, nn.Identity())):
        with pytest.raises(CheckpointError, match=message):
            attempt()
