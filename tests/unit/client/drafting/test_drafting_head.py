"""The head for further tokens that some checkpoints have: its published layout, its guesses, and what they change."""

import json
from pathlib import Path

import pytest
import torch
from helpers.client_world import local_model, world
from helpers.tiny_models import NUM_BLOCKS, save_random
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoTokenizer
from transformers.cache_utils import DynamicCache

from potluck.checkpoint.source import open_checkpoint
from potluck.client.drafting.head import Head, HeadText, load_head
from potluck.client.drafting.payoff import DraftCost, StepTimes
from potluck.errors import CheckpointError

DEMO = Path(__file__).parents[4] / "resources" / "demo-model"
TEXT = torch.tensor([[5, 6, 7, 8, 9, 5, 6, 7]])


def with_head(folder: Path, family: str) -> tuple[Path, dict[str, Tensor]]:
    """Write a random model whose last block comes again as the block after it, as DeepSeek and GLM publish theirs."""
    save_random(family, folder)
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    stored = {
        name: tensor for file in set(index["weight_map"].values()) for name, tensor in load_file(folder / file).items()
    }
    last, own = f"model.layers.{NUM_BLOCKS - 1}.", f"model.layers.{NUM_BLOCKS}."
    size = stored["model.embed_tokens.weight"].shape[1]
    torch.manual_seed(4)
    head = {
        **{name.removeprefix(last): tensor.clone() for name, tensor in stored.items() if name.startswith(last)},
        "eh_proj.weight": torch.randn(size, 2 * size) * 0.2,
        **{f"{name}.weight": torch.rand(size) + 0.5 for name in ("enorm", "hnorm", "shared_head.norm")},
        "embed_tokens.weight": stored["model.embed_tokens.weight"].clone(),
        "shared_head.head.weight": stored["model.embed_tokens.weight"].clone(),
    }
    save_file({own + name: tensor for name, tensor in head.items()}, folder / "model-head.safetensors")
    index["weight_map"] |= {own + name: "model-head.safetensors" for name in head}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder, head


@pytest.mark.parametrize("family", ["llama", "deepseek_v3"])
def test_a_head_computes_as_the_published_layout_says(tmp_path: Path, family: str) -> None:
    folder, tensors = with_head(tmp_path, family)
    checkpoint = open_checkpoint(str(folder))
    head = load_head(checkpoint, torch.float32)
    assert head is not None
    torch.manual_seed(1)
    embeddings, hidden = torch.randn(2, 1, 5, checkpoint.hidden_size).unbind(0)
    with torch.inference_mode():
        got = head.before_logits(head.run(embeddings, hidden, DynamicCache()))

    def normed(x: Tensor, name: str) -> Tensor:
        return nn.functional.rms_norm(x, x.shape[-1:], tensors[f"{name}.weight"], 1e-6)

    joined = torch.cat([normed(embeddings, "enorm"), normed(hidden, "hnorm")], dim=-1) @ tensors["eh_proj.weight"].T
    model = local_model(folder).model  # its last block has the same weights as the head's
    del model.layers[:-1]
    model.layers[0].self_attn.layer_idx = 0
    model.config.num_hidden_layers = 1
    model.norm = nn.Identity()
    with torch.inference_mode():
        want = normed(model(inputs_embeds=joined, use_cache=False).last_hidden_state, "shared_head.norm")
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


def test_guesses_are_the_same_however_the_text_came_and_whatever_was_drafted(tmp_path: Path) -> None:
    folder, _ = with_head(tmp_path, "llama")
    model = local_model(folder)
    head = load_head(open_checkpoint(str(folder)), torch.float32)
    assert head is not None
    ids = [3, 9, 27, 81, 15, 45]
    with torch.inference_mode():
        hidden = model.model(torch.tensor([ids])).last_hidden_state[:, :-1]

        def text() -> HeadText:
            assert head is not None
            return HeadText(head, model, nn.Identity())

        whole, parts = text(), text()
        whole.record(hidden)
        whole.begin(ids)
        parts.record(hidden[:, :2])
        parts.begin(ids[:3])
        parts.follow(parts.guess()[0])
        parts.follow(99)
        parts.record(hidden[:, 2:])
        parts.begin(ids)
        for token in (4, 44):
            (one, probability), (other, probability_too) = whole.guess(), parts.guess()
            assert one == other
            assert probability == pytest.approx(probability_too, rel=1e-4)
            whole.follow(token)
            parts.follow(token)
    assert not text().is_ready, "it has seen nothing"


def test_a_bad_head_changes_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepTimes, "estimate", lambda _: DraftCost(1.0, 0.0, 0.001))
    folder, _ = with_head(tmp_path, "llama")
    local = local_model(folder)
    options = {"max_new_tokens": 24, "do_sample": False, "eos_token_id": None}
    with world("0:3", "3:6", folder=folder, num_blocks=NUM_BLOCKS) as there:
        got = there.model.generate(TEXT, **options, prompt_lookup_num_tokens=8)
        assert there.model._head is not None
        assert not any(isinstance(part, Head) for part in there.model.modules())
    assert torch.equal(got, local.generate(TEXT, **options))


def test_a_damaged_head_is_named(tmp_path: Path) -> None:
    folder, head = with_head(tmp_path, "llama")
    own = f"model.layers.{NUM_BLOCKS}."
    save_file({own + name: tensor[:3] for name, tensor in head.items()}, folder / "model-head.safetensors")
    with pytest.raises(CheckpointError, match="head"):
        load_head(open_checkpoint(str(folder)), torch.float32)


def test_the_demo_models_head_saves_most_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepTimes, "estimate", lambda _: DraftCost(1.0, 0.0, 0.001))  # as far apart as drafts pay best
    tokenizer = AutoTokenizer.from_pretrained(DEMO)
    prompt = tokenizer("Count from 7 to 18:", return_tensors="pt").input_ids
    with world("0:6", "6:12", folder=DEMO, num_blocks=12) as there:
        done = there.model.generate(prompt, max_new_tokens=48, prompt_lookup_num_tokens=16)
        new, steps = done.shape[1] - prompt.shape[1], len(there.servers[0].steps)
    assert new > 20
    assert steps < new / 3
