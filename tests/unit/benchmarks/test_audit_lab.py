"""The servers that the figures of audits are measured with compute what they claim to."""

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.audit_lab import LabServer, changed_copy, random_rows, verdict
from benchmarks.families import NUM_BLOCKS, save_random
from potluck.audit import WINDOW_TOKENS, Apart, Outsider, difference
from potluck.protocol.blocks import Span
from potluck.protocol.records import NumberFormat

FLOAT = NumberFormat("float32")
WHOLE = Span(0, NUM_BLOCKS)
LIMIT = Apart(2e-3, math.inf)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_random("llama", tmp_path_factory.mktemp("lab") / "model")


def test_ways_to_compute_a_window_agree_and_a_skipped_block_does_not(folder: Path) -> None:
    server = LabServer(folder, FLOAT, [WHOLE])
    skips = LabServer(folder, FLOAT, [Span(0, 1), Span(2, NUM_BLOCKS)])
    rows = random_rows(server, [WINDOW_TOKENS + 5, WINDOW_TOKENS + 9], 0)
    prefill = server.prefill(rows)
    assert prefill.shape == (2, WINDOW_TOKENS, server.hidden_size)
    for steps in (server.decode(rows), server.decode(rows, together=False)):
        assert max(difference(*pair).most for pair in zip(steps, prefill, strict=True)) < 1e-4
    assert not np.allclose(prefill[0], prefill[1])
    assert min(difference(*pair).most for pair in zip(skips.decode(rows), skips.prefill(rows), strict=True)) < 1e-4
    assert min(difference(*pair).most for pair in zip(skips.decode(rows), prefill, strict=True)) > 0.05


def test_a_changed_copy_changes_blocks_alone(folder: Path, tmp_path: Path) -> None:
    seen: list[str] = []
    copy = changed_copy(folder, tmp_path / "copy", lambda name, tensor: (seen.append(name), 1.1 * tensor)[1])
    assert seen
    assert not [name for name in seen if "embed" in name or "lm_head" in name]
    honest, liar = LabServer(folder, FLOAT, [WHOLE]), LabServer(copy, FLOAT, [WHOLE])
    rows = random_rows(honest, [WINDOW_TOKENS + 5], 0)
    steps, prefill = honest.decode(rows)[0], honest.prefill(rows)[0]
    assert verdict(liar.decode(rows)[0], prefill, prefill, steps, LIMIT) is Outsider.AUDITED
    assert verdict(steps, liar.prefill(rows)[0], prefill, steps, LIMIT) is Outsider.AUDITOR
    assert verdict(steps, prefill, prefill, steps, LIMIT) is None
