"""Counts the parameters of each block, which decide what a token is worth, so client and server must agree."""

from __future__ import annotations

import torch

from potluck.checkpoint.families import decoder_class, decoder_of
from potluck.checkpoint.source import Checkpoint


def block_parameters(checkpoint: Checkpoint) -> tuple[int, ...]:
    """Return the number of parameters of each block, experts included. Nothing is read or downloaded.

    Don't call it while another thread builds a model, because torch's default dtype is global.
    """
    config = checkpoint.text_config
    with torch.device("meta"):
        decoder, name = decoder_of(decoder_class(config)._from_config(config), checkpoint.num_blocks)
    return tuple(sum(parameter.numel() for parameter in layer.parameters()) for layer in getattr(decoder, name))
