"""Which small models may draft for a large one, and opening one that leaders chose."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.hub_server import HubRepo, HubServer
from huggingface_hub import constants
from potluck_control.resources import DEMO_DRAFT, DEMO_MODEL, resource
from safetensors.torch import save_file

from potluck.checkpoint import drafts, prepared
from potluck.checkpoint.drafts import check_pair, open_draft
from potluck.checkpoint.source import Checkpoint, open_checkpoint
from potluck.draft_pairs import DRAFT_PAIRS, known_draft
from potluck.errors import CheckpointError
from potluck.model_files import make_manifest
from potluck.protocol.swarm import Draft, is_model_name

DEMO = resource(DEMO_MODEL)
TOKENS = 1536


def small_model(folder: Path, vocab_size: int = TOKENS, change: Callable[[Any], object] | None = None) -> Checkpoint:
    """A model with the demo model's tokenizer, or a changed one."""
    folder.mkdir()
    config = json.loads((DEMO / "config.json").read_text()) | {"vocab_size": vocab_size, "num_hidden_layers": 2}
    tokenizer = json.loads((DEMO / "tokenizer.json").read_text())
    if change is not None:
        change(tokenizer)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    save_file({"weight": torch.zeros(1)}, folder / "model.safetensors")
    return open_checkpoint(str(folder))


def swap(tokenizer: Any) -> None:
    """Give two tokens each other's ids."""
    vocab = tokenizer["model"]["vocab"]
    one, other = [*vocab][-2:]
    vocab[one], vocab[other] = vocab[other], vocab[one]


def add(tokenizer: Any) -> None:
    tokenizer["added_tokens"].append(
        {**tokenizer["added_tokens"][0], "id": len(tokenizer["model"]["vocab"]), "content": "<image>"}
    )


@pytest.mark.parametrize(
    ("vocab_size", "change"),
    [(TOKENS, None), (TOKENS + 64, None), (TOKENS - 1, None), (TOKENS, add)],
    ids=["same", "padded further", "without a row for the last token", "with a token that the model has no row for"],
)
def test_a_model_drafts_if_the_ids_that_both_have_mean_the_same(
    tmp_path: Path, vocab_size: int, change: Callable[[Any], object] | None
) -> None:
    check_pair(open_checkpoint(str(DEMO)), small_model(tmp_path / "small", vocab_size, change))


@pytest.mark.parametrize(
    ("vocab_size", "change", "words"),
    [
        (TOKENS, swap, "its tokenizer differs"),
        (TOKENS // 2, None, "its tokenizer differs"),
        (TOKENS, dict.clear, "no usable tokenizer.json"),
    ],
    ids=["two tokens exchanged", "half of the tokens", "damaged"],
)
def test_a_model_with_another_tokenizer_is_refused_with_advice(
    tmp_path: Path, vocab_size: int, change: Callable[[Any], object], words: str
) -> None:
    with pytest.raises(CheckpointError, match=words) as refused:
        check_pair(open_checkpoint(str(DEMO)), small_model(tmp_path / "small", vocab_size, change))
    assert refused.value.hint


@pytest.mark.skipif(not DEMO.with_name(DEMO_DRAFT).is_dir(), reason="no model drafts for the demo model yet")
def test_the_demo_models_own_drafting_model_fits() -> None:
    check_pair(open_checkpoint(str(DEMO)), open_checkpoint(str(resource(DEMO_DRAFT))))


def test_only_the_files_that_leaders_chose_are_opened(tmp_path: Path) -> None:
    place = str(small_model(tmp_path / "small").folder)
    draft = Draft("owner/small", "local", make_manifest(tmp_path / "small").digest.hex())
    assert open_draft(draft, place).num_blocks == 2
    (tmp_path / "small" / "tokenizer_config.json").write_text("{}")
    with pytest.raises(CheckpointError, match="not those that the swarm's leaders chose"):
        open_draft(draft, place)
    assert open_draft(replace(draft, weights=""), place).num_blocks == 2


def test_known_drafting_models_are_names_on_the_hub_that_need_none_themselves() -> None:
    for draft in DRAFT_PAIRS.values():
        assert is_model_name(draft)
        assert draft.count("/") == 1
        assert known_draft(draft) == ""


@pytest.mark.parametrize(
    ("model", "draft"),
    [
        ("Qwen/Qwen3-235B-A22B-GPTQ-Int4", "Qwen/Qwen3-0.6B"),
        ("/models/qwen3-32b", "Qwen/Qwen3-0.6B"),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "Qwen/Qwen3-0.6B"),
        ("Qwen/Qwen3-1.7B", ""),
        ("Qwen/Qwen2.5-Coder-32B-Instruct", "Qwen/Qwen2.5-Coder-0.5B-Instruct"),
        ("meta-llama/Llama-3.1-405B-Instruct", "unsloth/Llama-3.2-1B-Instruct"),
        ("nvidia/Llama-3.3-70B-Instruct-FP8", "unsloth/Llama-3.2-1B-Instruct"),
        ("meta-llama/Llama-3-70B", ""),
        ("google/gemma-3-27b-it", "unsloth/gemma-3-1b-it"),
        ("deepseek-ai/DeepSeek-R1", "jukofyork/DeepSeek-R1-DRAFT-0.5B-v1.0"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", ""),
        ("zai-org/GLM-4.5-Air", "jukofyork/GLM-4.5-DRAFT-0.6B-v3.0"),
        ("zai-org/GLM-4.5V", ""),
        ("openai/gpt-oss-120b", ""),
    ],
)
def test_a_family_is_known_by_how_its_names_begin(model: str, draft: str) -> None:
    assert known_draft(model) == draft


@pytest.mark.parametrize("limit", ["size", "memory", "disk"])
def test_weights_that_are_too_large_or_have_no_room_are_not_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    small_model(tmp_path / "small")
    num_bytes = (tmp_path / "small" / "model.safetensors").stat().st_size
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(drafts, "MOST_BYTES", num_bytes - (limit == "size"))
    monkeypatch.setattr(prepared, "free_bytes", lambda _: (1 << 30) + num_bytes - (limit == "disk"))
    draft, room_bytes = Draft("owner/small", "1" * 40), num_bytes - (limit == "memory")
    with HubServer({"owner/small": HubRepo(tmp_path / "small")}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.origin)
        with pytest.raises(CheckpointError, match=r"too large|memory is short|disk is full"):
            open_draft(draft, draft.model, room_bytes)
        if limit == "size":
            with pytest.raises(CheckpointError, match="too large to draft"):
                check_pair(open_checkpoint(str(DEMO)), open_checkpoint(draft.model))
        assert "model.safetensors" not in hub.fetched()
