"""What a receiver accepts, known before a single byte of a peer is decoded."""

from __future__ import annotations

from dataclasses import dataclass

from potluck.protocol.blocks import Span
from potluck.wire.errors import WireError


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one model as served here."""

    hidden_size: int
    num_blocks: int  # of the whole model
    max_batch_tokens: int  # batch x tokens of one message
    max_length: int  # tokens of a session
    max_frame_bytes: int  # one message, or all parts of a split one together

    @property
    def max_values(self) -> int:
        """Return how many values the hidden states of one message have at most."""
        return self.max_batch_tokens * self.hidden_size

    def check_span(self, span: Span) -> None:
        """Raise WireError for blocks that the model does not have."""
        if span.end > self.num_blocks:
            raise WireError(f"blocks {span} of a model of {self.num_blocks}")
