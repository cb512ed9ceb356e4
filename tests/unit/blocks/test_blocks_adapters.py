"""LoRA adapters: the same as peft's own result, several in a step, with gradients, and strangers' files refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.hub_server import HubRepo, HubServer
from helpers.spans import FolderOf, error, random, span_of
from helpers.tiny_models import NUM_BLOCKS, whole_model
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from torch import Tensor

from potluck.blocks.adapters import Adapters
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.checkpoint.adapter_files import AdapterFile, open_adapter
from potluck.errors import CheckpointError
from potluck.protocol.adapters import find_adapter
from potluck.protocol.blocks import Span
from potluck.protocol.codes import RemoteError

WHOLE = Span(0, NUM_BLOCKS)
ATTENTION = ["q_proj", "v_proj"]
CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "all of a block": ("llama", {"target_modules": "all-linear", "lora_alpha": 3}),
    "a regular expression, rank stabilised": (
        "llama",
        {"target_modules": r".*\.[1-3]\.(self_attn\.[qo]|mlp\.gate)_proj", "use_rslora": True},
    ),
    "patterns in some layers": (
        "llama",
        {
            "target_modules": ["q_proj", "up_proj"],
            "layers_to_transform": [1, 2, 4],
            "rank_pattern": {"up_proj": 2, "^model.layers.2.self_attn.q_proj": 7},
            "alpha_pattern": {"layers.1.self_attn.q_proj": 32, "q_proj": 5},
        },
    ),
    "fused projections": ("phi3", {"target_modules": ["qkv_proj", "gate_up_proj"]}),
    "transposed layers": ("gpt2", {"target_modules": ["c_attn", "c_fc"], "fan_in_fan_out": True}),
}


def save_adapter(base: Path, folder: Path, seed: int = 0, **config: Any) -> Path:
    """A random adapter, saved by peft."""
    model = get_peft_model(
        whole_model(base), LoraConfig(**{"r": 4, "lora_alpha": 8, "task_type": "CAUSAL_LM", **config})
    )
    some = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.data = torch.randn(parameter.shape, generator=some) * 0.2
    model.save_pretrained(folder)
    return folder


def load(base: Path, *files: AdapterFile, span: Span = WHOLE, **options: Any) -> BlockSpan:
    memory = options.pop("memory_bytes", 1 << 20)
    adapters = Adapters(files, memory_bytes=memory)
    return span_of(base, span, dtype=torch.float32, adapters=adapters, **options)


def opened(folder: Path) -> AdapterFile:
    return open_adapter(str(folder), num_blocks=NUM_BLOCKS)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, family_folder: FolderOf) -> list[Path]:
    """Three adapters for attention of the random Llama."""
    base, made = family_folder("llama"), tmp_path_factory.mktemp("saved")
    return [save_adapter(base, made / str(seed), seed, target_modules=ATTENTION) for seed in range(3)]


@pytest.fixture
def folder(saved: list[Path], tmp_path: Path) -> Path:
    """The first of them, for a test to change."""
    return Path(shutil.copytree(saved[0], tmp_path / "adapter"))


def change_config(folder: Path, changes: dict[str, Any]) -> None:
    path = folder / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def through_peft(base: Path, adapter: Path, hidden: Tensor) -> Tensor:
    """The hidden states before the final norm, in peft's own model."""
    model = PeftModel.from_pretrained(whole_model(base), adapter)
    seen: list[Tensor] = []
    inner = model.get_base_model().base_model
    norm = inner.norm if hasattr(inner, "norm") else inner.ln_f
    norm.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    positions = {"position_ids": torch.arange(hidden.shape[1])[None]}
    if hasattr(inner, "wpe"):
        inner.wpe.weight.data.zero_()
    inner(inputs_embeds=hidden, use_cache=False, **positions)
    return seen[0]


@pytest.mark.parametrize("kind", [*CONFIGS, "all of a block, in int8"])
def test_a_span_with_an_adapter_computes_what_peft_computes_and_its_gradients(
    kind: str, tmp_path: Path, family_folder: FolderOf
) -> None:
    kind, _, quantization = kind.partition(", in ")
    family, config = CONFIGS[kind]
    base = family_folder(family)
    adapter = save_adapter(base, tmp_path / "adapter", **config)
    file = opened(adapter)
    blocks, hidden = load(base, file, quantization=quantization or "none"), random(2, 9, 64).requires_grad_()
    plain = blocks.forward(hidden)
    with blocks.adapters.using(file.id):
        found = blocks.forward(hidden)
        (found_grad,) = torch.autograd.grad(found, hidden, random(2, 9, 64, seed=1))
    wanted = through_peft(base, adapter, hidden)
    (wanted_grad,) = torch.autograd.grad(wanted, hidden, random(2, 9, 64, seed=1))
    plain, found, wanted = plain.detach(), found.detach(), wanted.detach()
    assert error(plain, wanted) > 0.01
    if quantization:
        assert error(found, wanted) < 0.1
    else:
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-4)
        torch.testing.assert_close(found_grad, wanted_grad, rtol=1e-4, atol=1e-3)
    assert torch.equal(blocks.forward(hidden), plain)


@torch.inference_mode()
def test_rows_of_one_step_go_through_their_own_adapters(saved: list[Path], family_folder: FolderOf) -> None:
    base, files = family_folder("llama"), [opened(each) for each in saved[1:]]
    blocks = load(base, *files)
    assert blocks.is_ragged
    memory = blocks.new_memory(512)
    asked = [(files[0].id, 3), (None, 4), (files[1].id, 1), (files[0].id, 5)]
    rows, inputs, wanted = [], [], []
    for seed, (adapter, tokens) in enumerate(asked):
        sequence = memory.new_sequence(blocks.span)
        memory.reserve(sequence, tokens)
        rows.append(StepRow(sequence, tokens, adapter))
        inputs.append(random(1, tokens, 64, seed=seed))
        with blocks.adapters.using(adapter):
            wanted.append(blocks.forward(inputs[-1])[0])
    found = blocks.run_step(plan_step(memory, rows), torch.cat(inputs, dim=1)[0], memory)
    torch.testing.assert_close(found, torch.cat(wanted), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("target", "shares"), [("o_proj", True), ("kv_b_proj", False)])
def test_an_adapter_that_changes_how_latents_expand_keeps_sessions_apart(
    target: str, shares: bool, tmp_path: Path, family_folder: FolderOf
) -> None:
    base = family_folder("deepseek_v3")
    assert load(base, opened(save_adapter(base, tmp_path, target_modules=[target]))).is_ragged == shares


@torch.inference_mode()
def test_the_least_recently_used_adapter_goes_when_memory_is_short(saved: list[Path], family_folder: FolderOf) -> None:
    base, files = family_folder("llama"), [opened(each) for each in saved]
    hidden, span = random(1, 3, 64), Span(1, 3)
    one = 4 * 4 * 2 * ((64 + 64) + (64 + 32))  # bytes, rank, blocks, features of q and v
    blocks = load(base, *files, span=span, memory_bytes=2 * one)
    first = {}
    for file in files:
        with blocks.adapters.using(file.id):
            first[file.id] = blocks.forward(hidden)
    assert list(blocks.adapters._loaded) == [files[1].id, files[2].id]
    assert blocks.adapters._used_bytes() == 2 * one
    for file in files:
        with blocks.adapters.using(file.id):
            assert torch.equal(blocks.forward(hidden), first[file.id])
    with pytest.raises(CheckpointError, match="needs more than the 0 MB"):
        load(base, files[0], span=span, memory_bytes=one - 1)


def test_an_adapter_is_found_by_name_hash_or_both(saved: list[Path], tmp_path: Path) -> None:
    copies = [Path(shutil.copytree(saved[0], tmp_path / name)) for name in ("my adapter", "copy", "scaled")]
    change_config(copies[2], {"lora_alpha": 9})
    file, same, scaled, other = map(opened, (*copies, saved[1]))
    name, _, content = file.id.partition("@")
    assert name == "my-adapter"
    assert same.id == f"copy@{content}"
    assert len({content, other.id.partition("@")[2], scaled.id.partition("@")[2]}) == 3
    ids = Adapters([file, other]).ids
    assert [find_adapter(ids, wanted) for wanted in ("my-adapter", content, file.id)] == [file.id] * 3
    assert find_adapter(ids, f"my-adapter@{'0' * 16}") is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"peft_type": "LOHA"}, "adapters of the kind 'LOHA'"),
        ({"peft_type": None}, "adapters of the kind None"),
        ({"use_dora": True}, "uses use_dora"),
        ({"bias": "all"}, "changes biases"),
        ({"modules_to_save": ["lm_head"]}, "uses modules_to_save"),
        ({"target_parameters": ["mlp.experts.gate_up_proj"]}, "uses target_parameters"),
        ({"layer_replication": [[0, 4], [2, 5]]}, "uses layer_replication"),
        ({"init_lora_weights": "pissa"}, "changes the model's own weights"),
        ({"something_new": 1}, "uses something_new"),
        ({"rank_pattern": {"(a+)+$": 4}}, "rank_pattern has a regular expression"),
        ({"r": 100_000}, "<= 1024"),
        ({"r": 4.0}, "`int`, got `float`"),
        ({"r": True}, "`int`, got `bool`"),
        ({"r": 5}, "does not contain two matrices of rank 5"),
        ({"lora_alpha": float("nan")}, "JSON is malformed"),
        ({"lora_alpha": "8"}, "`float`, got `str`.*lora_alpha"),
        ({"rank_pattern": [1]}, "got `array`.*rank_pattern"),
        ({"target_modules": [1]}, "`str`, got `int`.*target_modules"),
        ({"target_modules": ["k_proj"]}, "which its configuration or the model does not have"),
        ({"layers_to_transform": [0]}, "which its configuration or the model does not have"),
        ({"layers_to_transform": "all"}, "got `str`.*layers_to_transform"),
    ],
)
def test_more_or_less_than_plain_lora_is_refused_by_name(changes: dict[str, Any], message: str, folder: Path) -> None:
    change_config(folder, changes)
    with pytest.raises(CheckpointError, match=message):
        opened(folder)


def renamed(folder: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> Path:
    path = folder / "adapter_model.safetensors"
    save_file(change(load_file(path)), path)
    return folder


Q = "base_model.model.model.layers.1.self_attn.q_proj"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensors: {}, "changes no layer"),
        (lambda tensors: {"base_model.model.lm_head.lora_A.weight": torch.zeros(4, 64)}, "does not belong to a layer"),
        (lambda tensors: {**tensors, f"{Q}.lora_magnitude_vector": torch.zeros(64)}, "does not belong to a layer"),
        (lambda tensors: {**tensors, "../../evil.lora_A.weight": torch.zeros(4, 64)}, "does not belong to a layer"),
        (lambda tensors: {**tensors, f"{Q}.lora_A.weight": torch.zeros(64)}, "does not belong to a layer"),
        (lambda tensors: {key.replace(".1.", ".99."): value for key, value in tensors.items()}, "does not have"),
        (lambda tensors: {key: value for key, value in tensors.items() if key != f"{Q}.lora_B.weight"}, "two matrices"),
        (lambda tensors: {**tensors, f"{Q}.lora_A.weight": torch.zeros(900, 64)}, "two matrices of rank 4"),
        (
            lambda tensors: {**tensors, **{key.replace(".model.l", ".l"): tensors[key] + 0 for key in tensors}},
            "changes one twice",
        ),
    ],
)
def test_tensors_that_do_not_belong_are_refused(
    change: Callable[[dict[str, Tensor]], dict[str, Tensor]], message: str, folder: Path
) -> None:
    with pytest.raises(CheckpointError, match=message):
        opened(renamed(folder, change))


def test_another_model_s_adapter_is_refused_when_the_blocks_are_loaded(
    folder: Path, tmp_path: Path, family_folder: FolderOf
) -> None:
    base = family_folder("llama")
    file = opened(save_adapter(family_folder("phi3"), tmp_path / "phi3", target_modules=["qkv_proj"]))
    with pytest.raises(CheckpointError, match=r"changes self_attn.qkv_proj of layer \d, which is no linear layer"):
        load(base, file)
    renamed(folder, lambda tensors: {k: v.repeat(1, 2) if "lora_A" in k else v for k, v in tensors.items()})
    with pytest.raises(CheckpointError, match=r"q_proj of layer \d, which is \[64, 64\] here, not \[64, 128\]"):
        load(base, opened(folder))


def test_pickles_and_damaged_files_are_refused(folder: Path) -> None:
    weights = folder / "adapter_model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[: len(content) // 2])
    with pytest.raises(CheckpointError, match="cut short or damaged"):
        opened(folder)
    config = (folder / "adapter_config.json").read_bytes()
    (folder / "adapter_config.json").write_text("[" * 100_000)
    with pytest.raises(CheckpointError, match="is damaged"):
        opened(folder)
    (folder / "adapter_config.json").write_bytes(config)
    weights.rename(folder / "adapter_model.bin")
    with pytest.raises(CheckpointError, match=r"it has no adapter_model\.safetensors") as refusal:
        opened(folder)
    assert "pickles" in (refusal.value.hint or "")


@torch.inference_mode()
def test_numbers_that_are_not_finite_are_refused_when_they_are_read(folder: Path, family_folder: FolderOf) -> None:
    renamed(folder, lambda tensors: {key: value * float("inf") for key, value in tensors.items()})
    file = opened(folder)
    blocks = load(family_folder("llama"), file, span=Span(0, 1))
    with pytest.raises(RemoteError, match="not finite"), blocks.adapters.using(file.id):
        pass


def test_an_adapter_comes_from_the_hub_by_its_name(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "README.md").write_text("not fetched")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    with HubServer({"someone/poet": HubRepo(folder)}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.origin)
        file = open_adapter("someone/poet", num_blocks=NUM_BLOCKS)
        assert hub.fetched() == {"adapter_config.json", "adapter_model.safetensors"}
        with pytest.raises(CheckpointError, match="no model someone/else"):
            open_adapter("someone/else", num_blocks=NUM_BLOCKS)
    assert file.id == f"someone/poet@{opened(folder).id.partition('@')[2]}"
    with pytest.raises(CheckpointError, match="neither a folder nor a hub name"):
        open_adapter("../not/there", num_blocks=NUM_BLOCKS)
