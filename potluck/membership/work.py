"""The price of joining a public swarm: memory-hard work that takes about a minute to do and milliseconds to check.

A proof is a nonce for which scrypt (RFC 7914) of a challenge has enough leading zero bits. One try takes 4 MiB and
about 10 ms, so `DEFAULT_BITS` cost about a minute on one core. What a challenge binds is decided by `enrolling.py`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

DEFAULT_BITS = 12
NONCE_BYTES = 8
_COST, _BLOCK = 4096, 8  # 128 * cost * block bytes: 4 MiB


def work(
    challenge: bytes,
    bits: int,
    *,
    is_cancelled: Callable[[], bool] = lambda: False,
    on_try: Callable[[int], None] = lambda tries: None,
) -> bytes | None:
    """Return a nonce that pays the price; None if cancelled. It takes 2^bits tries on average: run it in a thread.

    Args:
        on_try: told after each try how many there were.
    """
    tries = 0
    while not is_cancelled():
        nonce = os.urandom(NONCE_BYTES)
        if is_worked(challenge, nonce, bits):
            return nonce
        tries += 1
        on_try(tries)
    return None


def is_worked(challenge: bytes, nonce: bytes, bits: int) -> bool:
    """Return whether a nonce pays the price of `bits` for this challenge."""
    digest = hashlib.scrypt(challenge, salt=b"potluck enrol 2" + nonce, n=_COST, r=_BLOCK, p=1, dklen=8)
    return int.from_bytes(digest, "big") >> (64 - bits) == 0 if bits else True
