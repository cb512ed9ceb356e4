"""The output head alone, as an engine loads it for a gateway."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from potluck.checkpoint.ends import load_ends, load_output_head
from potluck.checkpoint.source import open_checkpoint


@pytest.mark.parametrize("family", ["llama", "llama_tied", "gptj", "gpt2", "gemma2", "mamba"])
def test_the_head_alone_is_that_of_the_whole_model(family: str, family_folder: Callable[[str], Path]) -> None:
    checkpoint = open_checkpoint(str(family_folder(family)))
    alone, whole = load_output_head(checkpoint), load_ends(checkpoint, nn.Identity()).get_output_embeddings()
    assert torch.equal(alone.weight, whole.weight)
    assert (alone.bias is None) is (whole.bias is None)
    assert alone.bias is None or torch.equal(alone.bias, whole.bias)
