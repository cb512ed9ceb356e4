"""A model whose blocks are spans in this process, between the ends of its checkpoint."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from potluck.blocks.span.block_span import BlockSpan
from potluck.checkpoint.ends import load_ends
from potluck.checkpoint.source import Checkpoint


def model_of(checkpoint: Checkpoint, spans: Sequence[BlockSpan]) -> Any:
    """Return the whole model in float32."""

    class Chain(nn.Module):
        def forward(self, hidden: Tensor, past_key_values: object = None) -> Tensor:
            for span in spans:
                hidden = span.forward(hidden)
            return hidden

    return load_ends(checkpoint, Chain(), dtype=torch.float32)
