"""Under which names an open swarm's blocks are known to Petals."""

import pytest

from potluck.petals.names import default_prefix


@pytest.mark.parametrize(
    ("name", "model_type", "prefix"),
    [
        ("meta-llama/Meta-Llama-3.1-405B-Instruct", "llama", "Meta-Llama-3-1-405B-Instruct-hf"),
        ("someone/llama-hf", "llama", "llama-hf"),
        ("tiiuae/falcon-180B-chat", "falcon", "falcon-180B-chat"),
        ("bigscience/bloom", "bloom", "bigscience/bloom-petals"),
        ("bigscience/bloom-petals", "bloom", "bigscience/bloom-petals"),
        ("mistralai/Mixtral-8x22B-Instruct-v0.1", "mixtral", "mistralai/Mixtral-8x22B-Instruct-v0-1"),
        ("Qwen/Qwen3-0.6B", "qwen3", "Qwen3-0-6B"),
        ("my model.v1", "qwen3", "mymodel-v1"),
        ("tiny", "llama", "tiny-hf"),
    ],
)
def test_default_prefixes_are_the_stock_ones(name: str, model_type: str, prefix: str) -> None:
    assert default_prefix(name, model_type) == prefix
