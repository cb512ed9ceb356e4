"""What an engine serves when nobody said."""

from __future__ import annotations

import pytest
import transformers as hf
from potluck_daemon.engine.config import Limits
from potluck_daemon.engine.fitting import choose_dtype, num_blocks_that_fit

from potluck.checkpoint import Checkpoint, open_checkpoint

MIB = 1 << 20


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """32 blocks of 12.6 MB in bfloat16; only the configuration is real, because nothing else is read."""
    folder = tmp_path_factory.mktemp("model")
    sizes = {"hidden_size": 512, "intermediate_size": 3424, "num_hidden_layers": 32, "num_attention_heads": 8}
    hf.LlamaConfig(**sizes, num_key_value_heads=8, vocab_size=64).save_pretrained(folder)
    (folder / "model.safetensors").touch()
    return open_checkpoint(str(folder))


def test_more_blocks_fit_when_weights_take_fewer_bits(checkpoint: Checkpoint) -> None:
    limits = Limits(cache_tokens=64)
    fits = {
        quantization: num_blocks_that_fit(checkpoint, "bfloat16", 100 * MIB, limits, quantization=quantization)
        for quantization in ("none", "int8", "int4")
    }
    assert fits == {"none": 7, "int8": 14, "int4": 23}


def test_at_least_one_block_and_at_most_all(checkpoint: Checkpoint) -> None:
    assert num_blocks_that_fit(checkpoint, "bfloat16", 1, Limits()) == 1
    assert num_blocks_that_fit(checkpoint, "bfloat16", 1 << 40, Limits(), quantization="int8") == 32


@pytest.mark.parametrize(
    ("wanted", "device", "quantization", "chosen"),
    [
        ("auto", "cpu", "none", "float32"),
        ("auto", "cpu", "int8", "bfloat16"),
        ("auto", "cuda", "none", "bfloat16"),
        ("float16", "cpu", "int4", "float16"),
    ],
)
def test_quantised_weights_are_computed_in_bfloat16_unless_told_otherwise(
    wanted: str, device: str, quantization: str, chosen: str
) -> None:
    assert choose_dtype(wanted, device, quantization) == chosen
