"""Computes fingerprints of the beginning of a session, one for each page of its first tokens."""

from __future__ import annotations

from hashlib import blake2b

import torch
from torch import Tensor

from potluck.blocks.pages import PAGE_TOKENS

_VALUES = 8  # of each token's hidden states; enough to tell tokens apart, and fast for long prompts
_MAX_PAGES = 64
_KEY_BYTES = 16


def fingerprints(hidden: Tensor) -> tuple[bytes, ...]:
    """Return a chain of fingerprints over the full pages of all rows. Equal ones mean equal tokens most probably.

    Shapes: hidden [rows, tokens, hidden_size], the first of a session.
    """
    few = hidden[:, :, :_VALUES]
    chain: list[bytes] = []
    key = b""
    for start in range(0, min(few.shape[1] - PAGE_TOKENS + 1, _MAX_PAGES * PAGE_TOKENS), PAGE_TOKENS):
        page = few[:, start : start + PAGE_TOKENS]
        data = page.contiguous().view(torch.uint8).numpy().data
        key = blake2b(data, key=key, digest_size=_KEY_BYTES).digest()
        chain.append(key)
    return tuple(chain)
