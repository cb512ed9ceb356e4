"""Fingerprints of the beginning of a session, as a client sees it: one for each page of its first tokens."""

from __future__ import annotations

from hashlib import blake2b

import torch
from torch import Tensor

from potluck.blocks.pages import PAGE_TOKENS

_VALUES = 8  # of each token's hidden states: enough to tell tokens apart, and a long prompt is read in no time
_MAX_PAGES = 64
_KEY_BYTES = 16


def fingerprints(hidden: Tensor) -> tuple[bytes, ...]:
    """A chain over the full pages of all rows together. Equal ones mean equal tokens, most probably: it is a hint.

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
