"""Whatever sessions go through, their answers are those of a session alone, and nothing of them is left."""

from collections import Counter
from pathlib import Path

import pytest
from helpers.interleavings import interleave

_SHARE = 100  # of the interleavings


@pytest.mark.parametrize("first", [0, 100, 200])
async def test_interleaved_sessions_answer_as_alone_and_leave_nothing(first: int, tmp_path: Path) -> None:
    met: Counter[str] = Counter()
    for seed in range(first, first + _SHARE):
        outcome = await interleave(seed, tmp_path)
        assert not outcome.faults, f"seed {seed}"
        met += outcome.met
    assert {"spills", "returns", "shared", "offloads", "left in a step", "waits for pages", "dropped"} <= met.keys()
