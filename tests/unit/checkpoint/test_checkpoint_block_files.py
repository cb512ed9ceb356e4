"""Which files of a checkpoint hold blocks, and which ones clients need besides."""

import json
from pathlib import Path

from helpers.golden import CHECKPOINT
from transformers import AutoConfig

from potluck.checkpoint.block_files import BlockFiles
from potluck.checkpoint.source import INDEX_FILE, Checkpoint


def test_files_beside_the_blocks_are_those_with_embeddings_and_head(tmp_path: Path) -> None:
    blocks = {f"model.layers.{block}.mlp.weight": f"block-{block}.safetensors" for block in range(4)}
    others = {"model.embed_tokens.weight": "ends.safetensors", "model.norm.weight": "block-3.safetensors"}
    (tmp_path / INDEX_FILE).write_text(json.dumps({"weight_map": blocks | others}))
    checkpoint = Checkpoint("model", "local", tmp_path, AutoConfig.from_pretrained(CHECKPOINT))
    files = BlockFiles.of(checkpoint, "layers")
    assert files.files[1] == {"block-1.safetensors"}
    assert files.beside == {"ends.safetensors", "block-3.safetensors"}
