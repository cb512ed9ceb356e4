"""Whatever sessions go through, their answers are those of a session alone, and nothing of them is left."""

from collections import Counter
from pathlib import Path

from helpers.interleavings import interleave

INTERLEAVINGS = 300


async def test_interleaved_sessions_answer_as_alone_and_leave_nothing(tmp_path: Path) -> None:
    met: Counter[str] = Counter()
    for seed in range(INTERLEAVINGS):
        outcome = await interleave(seed, tmp_path)
        assert not outcome.faults, f"seed {seed}"
        met += outcome.met
    rare = [kind for kind in ("spills", "returns", "shared", "offloads", "left in a step") if met[kind] < 10]
    assert not rare, f"hardly any interleaving met {rare}: {met}"
