"""What a span and its cache can do: go back, reorder, take prompts; and the digests of its blocks."""

from pathlib import Path

import pytest
import torch
from helpers.spans import FolderOf, random, span_of
from helpers.tiny_models import save_random
from safetensors.torch import load_file, save_file
from torch import Tensor

from potluck.blocks.cache.session_cache import WINDOW_ROLLBACK_TOKENS
from potluck.blocks.span.block_span import BlockSpan
from potluck.errors import UsageError
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError

MIDDLE = Span(1, 4)


def blocks_of(folder: Path, span: Span = MIDDLE) -> BlockSpan:
    return span_of(folder, span)


def hidden_of(tokens: int, *, batch: int = 2, seed: int = 0) -> Tensor:
    return random(batch, tokens, 64, seed=seed)


@pytest.mark.parametrize("family", ["gemma3", "deepseek_v3", "falcon_alibi"])
@torch.inference_mode()
def test_a_rolled_back_cache_continues_like_one_that_never_went_on(family: str, family_folder: FolderOf) -> None:
    blocks = blocks_of(family_folder(family))
    straight, rolled = blocks.new_cache(), blocks.new_cache()
    for cache in (straight, rolled):
        blocks.forward(hidden_of(12), cache)
    blocks.forward(hidden_of(5, seed=7), rolled)
    blocks.forward(hidden_of(1, seed=8), rolled)
    rolled.crop(12)
    assert rolled.length == 12
    for seed in (1, 2, 3):
        tokens = hidden_of(seed, seed=seed)
        assert torch.equal(blocks.forward(tokens, straight), blocks.forward(tokens, rolled))


@torch.inference_mode()
def test_a_window_goes_back_as_far_as_promised_and_refuses_beyond(family_folder: FolderOf) -> None:
    blocks = blocks_of(family_folder("mistral_sliding"))
    straight, rolled = blocks.new_cache(), blocks.new_cache()
    tokens = hidden_of(1000, batch=1)
    blocks.forward(tokens[:, : 1000 - WINDOW_ROLLBACK_TOKENS], straight)
    for part in tokens.split([500, 100, 100, 100, 100, 50, *[1] * 50], dim=1):
        blocks.forward(part, rolled)
    with pytest.raises(RemoteError) as refusal:
        rolled.crop(1)
    assert refusal.value.code is Code.ROLLBACK
    rolled.crop(1000 - WINDOW_ROLLBACK_TOKENS)
    after = hidden_of(1, batch=1, seed=9)
    torch.testing.assert_close(blocks.forward(after, rolled), blocks.forward(after, straight), rtol=1e-4, atol=1e-5)


@torch.inference_mode()
def test_linear_attention_goes_back_to_the_start_only(family_folder: FolderOf) -> None:
    blocks = blocks_of(family_folder("qwen3_next"), Span(0, 3))  # these three have no attention layer at all
    cache = blocks.new_cache()
    first = blocks.forward(hidden_of(6), cache)
    with pytest.raises(RemoteError) as refusal:
        cache.crop(5)
    assert refusal.value.code is Code.ROLLBACK
    cache.crop(6)
    cache.crop(0)
    assert torch.equal(blocks.forward(hidden_of(6), cache), first)


@torch.inference_mode()
def test_a_cache_says_what_it_holds_and_goes_to_no_token_that_it_lacks(family_folder: FolderOf) -> None:
    blocks = blocks_of(family_folder("llama"))
    assert blocks.bytes_per_token == 3 * 2 * 2 * 16 * 4  # blocks, keys and values, heads, head_dim, bytes of float32
    cache = blocks.new_cache()
    assert blocks.forward(hidden_of(0, batch=1), cache).shape == (1, 0, 64)
    assert (cache.length, cache.nbytes) == (0, 0)
    blocks.forward(hidden_of(100, batch=1), cache)
    assert cache.nbytes >= 100 * blocks.bytes_per_token
    for length in (101, -1):
        with pytest.raises(RemoteError, match="cannot go to token"):
            cache.crop(length)


@pytest.mark.parametrize("family", ["mistral_sliding", "qwen3_next"])
@torch.inference_mode()
def test_reordered_rows_continue_as_the_rows_they_were(family: str, family_folder: FolderOf) -> None:
    blocks = blocks_of(family_folder(family))
    rows = torch.tensor([1, 1, 0])
    prompt = hidden_of(11, batch=3)
    reordered, fresh = blocks.new_cache(), blocks.new_cache()
    blocks.forward(prompt, reordered)
    reordered.reorder_cache(rows)
    blocks.forward(prompt[rows], fresh)
    for seed in (5, 6):
        then = hidden_of(1, batch=3, seed=seed)
        torch.testing.assert_close(blocks.forward(then, reordered), blocks.forward(then, fresh), rtol=1e-5, atol=1e-5)


@torch.inference_mode()
def test_prompts_are_added_to_the_input_of_each_block(family_folder: FolderOf) -> None:
    folder = family_folder("llama")
    blocks = blocks_of(folder)
    singles = [blocks_of(folder, Span(block, block + 1)) for block in blocks.span]
    hidden = hidden_of(7)
    for rows in (1, 2):
        prompts = torch.randn((3, rows, 4, 64), generator=torch.Generator().manual_seed(rows))
        wanted = hidden
        for single, prompt in zip(singles, prompts, strict=True):
            wanted = wanted.clone()
            wanted[:, :4] += prompt
            wanted = single.forward(wanted)
        assert torch.equal(blocks.forward(hidden, prompts=prompts), wanted)
        assert not torch.equal(blocks.forward(hidden), wanted)


def test_gradients_reach_prompts(family_folder: FolderOf) -> None:
    blocks = blocks_of(family_folder("llama"))
    prompts = torch.zeros((3, 1, 2, 64), requires_grad=True)
    blocks.forward(hidden_of(5), prompts=prompts).pow(2).sum().backward()
    assert prompts.grad is not None
    assert all(block.abs().max() > 0 for block in prompts.grad)


def test_a_failed_call_leaves_no_input_behind_and_no_span_goes_beyond_the_model(family_folder: FolderOf) -> None:
    blocks = blocks_of(family_folder("llama"))
    with pytest.raises(RuntimeError):
        blocks.forward(torch.zeros(1, 2, 63))
    assert blocks.forward(hidden_of(2)).shape == (2, 2, 64)
    with pytest.raises(UsageError, match="layers 1-6"):
        blocks_of(family_folder("llama"), Span(4, 7))


def test_digests_depend_neither_on_the_sharding_nor_on_the_number_format(
    tmp_path: Path, family_folder: FolderOf
) -> None:
    one = span_of(save_random("llama", tmp_path / "one", shard="1GB"), MIDDLE, dtype=torch.bfloat16)
    assert one.forward(hidden_of(3).bfloat16()).dtype is torch.bfloat16
    many = blocks_of(family_folder("llama"))
    assert one.digests == many.digests
    assert len(set(one.digests)) == 3
    assert all(len(digest) == 16 and int(digest, 16) >= 0 for digest in one.digests)


def test_one_bit_changes_the_digest_of_its_block_alone(tmp_path: Path) -> None:
    folder = save_random("llama", tmp_path, shard="1GB")
    before = blocks_of(folder).digests
    tensors = load_file(folder / "model.safetensors")
    changed = {name: tensor.clone() for name, tensor in tensors.items()}
    changed["model.layers.2.mlp.up_proj.weight"].view(torch.int32)[0, 0] ^= 1
    save_file(changed, folder / "model.safetensors", metadata={"format": "pt"})
    after = blocks_of(folder).digests
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True]
