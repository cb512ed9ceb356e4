"""How many parameters each block has: what a token through it is worth, so client and server have to agree."""

from __future__ import annotations

import torch

from potluck.checkpoint.families import decoder_class, decoder_of
from potluck.checkpoint.source import Checkpoint


def block_parameters(checkpoint: Checkpoint) -> tuple[int, ...]:
    """Of each block of the model, experts included, from the architecture alone: nothing is read or downloaded.

    Not while another thread makes a model: the default dtype of torch is everybody's.
    """
    config = checkpoint.text_config
    with torch.device("meta"):
        decoder, name = decoder_of(decoder_class(config)._from_config(config), checkpoint.num_blocks)
    return tuple(sum(parameter.numel() for parameter in layer.parameters()) for layer in getattr(decoder, name))
