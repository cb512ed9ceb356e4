"""The price of joining a public swarm: memory-hard work that takes about a minute to do and milliseconds to check.

A proof is a nonce for which scrypt (RFC 7914) of the person's key has enough leading zero bits. One try takes 4 MiB
and about 10 ms, so `DEFAULT_BITS` cost about a minute on one core.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

DEFAULT_BITS = 12
_COST, _BLOCK = 4096, 8  # 128 * cost * block bytes: 4 MiB
_NONCE_BYTES = 8


def work(person: bytes, bits: int, *, is_cancelled: Callable[[], bool] = lambda: False) -> bytes | None:
    """Return a nonce that pays the price; None if cancelled. It takes 2^bits tries on average: run it in a thread."""
    while not is_cancelled():
        nonce = os.urandom(_NONCE_BYTES)
        if is_worked(person, nonce, bits):
            return nonce
    return None


def is_worked(person: bytes, nonce: bytes, bits: int) -> bool:
    """Return whether a nonce pays the price of `bits` for this person."""
    digest = hashlib.scrypt(person, salt=b"potluck enrol 1" + nonce, n=_COST, r=_BLOCK, p=1, dklen=8)
    return int.from_bytes(digest, "big") >> (64 - bits) == 0 if bits else True
