"""A span over two GPUs against one process. Never run so far: no machine with two GPUs was at hand."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

FAMILIES = ("llama", "mixtral", "gpt_oss")
SPAN = "2:5"


def test_two_gpus_compute_what_one_process_does(
    gpu: torch.device, family_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    from helpers.rank_pair import outcome, run_pair

    from potluck.blocks.span.block_span import load_span
    from potluck.checkpoint.source import open_checkpoint
    from potluck.protocol.blocks import Span

    folders = [family_folder(family) for family in FAMILIES]
    for folder, together in zip(folders, run_pair(folders, SPAN, tmp_path, "cuda"), strict=True):
        alone = outcome(load_span(open_checkpoint(str(folder)), Span.parse(SPAN)))
        for what, expected in alone["tensors"].items():
            assert (together["tensors"][what] - expected).norm() / expected.norm() < 1e-4, (folder, what)
