"""What a receiver accepts, known before a single byte of a peer is decoded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one model as served here."""

    hidden_size: int
    num_blocks: int  # of the whole model
    max_batch_tokens: int  # batch x tokens of one message
    max_length: int  # tokens of a session
    max_frame_bytes: int  # one message, or all parts of a split one together
