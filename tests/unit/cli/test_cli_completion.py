"""Generation as commands run it, on a small local model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers.golden import CHECKPOINT
from potluck_gateway.completion import Completion, Options, Text, complete
from transformers import AutoModelForCausalLM

from potluck.errors import CheckpointError


@pytest.fixture(scope="module")
def model() -> object:
    return AutoModelForCausalLM.from_pretrained(CHECKPOINT, dtype=torch.float32).eval()


PROMPT = torch.tensor([[5, 6, 7]])


def test_greedy_is_what_generate_returns_without_the_prompt_and_each_token_is_told(model: object) -> None:
    seen: list[int] = []
    completion = complete(model, PROMPT, Options(6, min_new_tokens=6), lambda so_far: seen.append(so_far.tokens[-1]))
    whole = model.generate(PROMPT, max_new_tokens=6, min_new_tokens=6, do_sample=False)  # type: ignore[attr-defined]
    assert completion.tokens == seen == whole[0, 3:].tolist()
    assert completion.times_s == sorted(completion.times_s)


def test_a_seed_gives_the_same_samples_again(model: object) -> None:
    options = Options(8, min_new_tokens=8, temperature=2.0, seed=3)
    first = complete(model, PROMPT, options, lambda _: None)
    assert complete(model, PROMPT, options, lambda _: None).tokens == first.tokens


def test_speed_leaves_the_prefill_out_and_the_longest_wait_is_between_tokens() -> None:
    assert Completion([1, 2, 3], [10.0, 10.5, 11.0]).tokens_per_s == 2.0
    assert Completion([1], [10.0]).tokens_per_s == 0.0
    assert Completion([1, 2, 3], [10.0, 10.5, 12.5]).longest_wait_s == 2.0


def test_a_checkpoint_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no usable tokenizer"):
        Text(tmp_path)
