"""The servers that the figures of audits are measured with compute what they claim to."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.equality.families import NUM_BLOCKS, save_random
from benchmarks.equality.lab import LabServer, changed_copy, random_rows, verdict
from potluck.audit.choices import WINDOW_TOKENS
from potluck.audit.limits import Limit
from potluck.audit.verdicts import Outsider, difference
from potluck.protocol.blocks import Span
from potluck.protocol.records import NumberFormat

FLOAT = NumberFormat("float32")
WHOLE = Span(0, NUM_BLOCKS)
LIMIT = Limit(2e-3, 0.0, 2.0)
NO_CHOICES = [None, None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_random("llama", tmp_path_factory.mktemp("lab") / "model")


def test_ways_to_compute_a_window_agree_and_a_skipped_block_does_not(folder: Path) -> None:
    server = LabServer(folder, FLOAT, [WHOLE])
    skips = LabServer(folder, FLOAT, [Span(0, 1), Span(2, NUM_BLOCKS)])
    rows = random_rows(server, [WINDOW_TOKENS + 5, WINDOW_TOKENS + 9], 0)
    prefill, gap = server.prefill(rows, NO_CHOICES)
    assert prefill.shape == (2, WINDOW_TOKENS, server.hidden_size)
    assert gap == 0.0
    for steps in (server.decode(rows), server.decode(rows, together=False)):
        assert steps.choices == NO_CHOICES
        assert max(difference(*pair) for pair in zip(steps.outputs, prefill, strict=True)) < 1e-4
    assert not np.allclose(prefill[0], prefill[1])
    skipped, own = skips.decode(rows).outputs, skips.prefill(rows, NO_CHOICES)[0]
    assert min(difference(*pair) for pair in zip(skipped, own, strict=True)) < 1e-4
    assert min(difference(*pair) for pair in zip(skipped, prefill, strict=True)) > 0.05


def test_choices_of_experts_are_noted_for_all_blocks_and_repeated(tmp_path: Path) -> None:
    folder = save_random("mixtral", tmp_path / "mixture")
    server = LabServer(folder, FLOAT, [WHOLE])
    skips = LabServer(folder, FLOAT, [Span(0, 1), Span(2, NUM_BLOCKS)])
    rows = random_rows(server, [WINDOW_TOKENS + 5, WINDOW_TOKENS + 9], 0)
    steps, alone = server.decode(rows), server.repeat(rows)
    for one, other, row in zip(steps.choices, alone.choices, rows, strict=True):
        assert one is not None
        assert other is not None
        assert one.shape == (len(row), NUM_BLOCKS, 2)
        assert bool((one.sort().values == other.sort().values).all())
    prefill, gap = server.prefill(rows, steps.choices)
    assert max(difference(*pair) for pair in zip(steps.outputs, prefill, strict=True)) < 1e-4
    assert gap < 1e-4
    (first, _) = skips.decode(rows).choices
    assert first is not None
    assert bool((first[:, 1] == -1).all())


def test_a_changed_copy_changes_blocks_alone(folder: Path, tmp_path: Path) -> None:
    seen: list[str] = []
    copy = changed_copy(folder, tmp_path / "copy", lambda name, tensor: (seen.append(name), 1.1 * tensor)[1])
    assert seen
    assert not [name for name in seen if "embed" in name or "lm_head" in name]
    honest, liar = LabServer(folder, FLOAT, [WHOLE]), LabServer(copy, FLOAT, [WHOLE])
    rows = random_rows(honest, [WINDOW_TOKENS + 5], 0)
    none = NO_CHOICES[:1]
    steps, prefill = honest.decode(rows).outputs[0], honest.prefill(rows, none)[0][0]
    apart, lies = difference(steps, prefill), liar.prefill(rows, none)[0][0]
    assert verdict(liar.decode(rows).outputs[0], prefill, prefill, steps, apart, LIMIT) is Outsider.AUDITED
    assert verdict(steps, lies, prefill, steps, apart, LIMIT) is Outsider.AUDITOR
    assert verdict(steps, prefill, prefill, steps, apart, LIMIT) is None
