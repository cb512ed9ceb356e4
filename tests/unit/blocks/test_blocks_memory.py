"""Loading a span needs little more memory than the span."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from helpers.load_peak import measure_load_peak, measure_rank_peaks
from helpers.tiny_models import save_llama


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Blocks of 8 MiB in bfloat16, eight of them, so that a span of six is 48 MiB, or 96 MiB in float32."""
    return save_llama(tmp_path_factory.mktemp("memory"), 8, 2048, dtype=torch.bfloat16)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("dtype", "limit"), [("bfloat16", 1.1), ("float32", 1.25)])
def test_peak_memory_while_loading_stays_near_the_spans_size(folder: Path, dtype: str, limit: float) -> None:
    peak = measure_load_peak(folder, "1:7", dtype)
    assert peak.span_bytes > 45 * 2**20
    assert peak.ratio <= limit, peak


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_of_blocks_that_are_quantised_one_at_a_time_is_held_in_full(folder: Path) -> None:
    peak = measure_load_peak(folder, "1:7", "float32", "int8")
    assert peak.span_bytes < 25 * 2**20
    assert peak.peak_bytes < peak.span_bytes + 64 * 2**20, peak  # one in full has 16, six have 96


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_each_of_two_ranks_loads_its_half_and_nothing_more(folder: Path, tmp_path: Path) -> None:
    whole = measure_load_peak(folder, "1:7", "float32")
    for peak in measure_rank_peaks(folder, "1:7", "float32", tmp_path / "meeting"):
        assert peak.span_bytes < 0.51 * whole.span_bytes
        assert peak.ratio <= 1.4, peak  # of six blocks one is converted and moved at a time; all of a block would be 2
