"""What a Petals swarm of a small Llama was once asked and answered, and the checkpoint that it served."""

from pathlib import Path

from potluck.petals.envelopes import read_fields

GOLDEN = Path(__file__).parents[1] / "golden" / "petals"
CHECKPOINT = GOLDEN / "checkpoint"  # 4 blocks of hidden size 64


def payload_of(info: bytes) -> bytes:
    """Field 1 of a message ExpertInfo."""
    ((_, _, start, end),) = read_fields(info, 0, len(info))
    return info[start:end]
