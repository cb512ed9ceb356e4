"""Checks Ed25519 signatures, wherever a key and a signature come from."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def is_by(key: bytes, data: bytes, signature: bytes) -> bool:
    """Return whether `signature` over `data` is by this key; False also for what is no key."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True
