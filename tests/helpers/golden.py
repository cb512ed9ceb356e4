"""What a Petals swarm of a small Llama was once asked and answered, and the checkpoint that it served."""

from __future__ import annotations

from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden" / "petals"
CHECKPOINT = GOLDEN / "checkpoint"  # 4 blocks of hidden size 64
