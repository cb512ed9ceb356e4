"""A publisher of updates: a key, and what it signs."""

import base64
import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FIELDS: dict[str, Any] = {
    "product": "potluck",
    "version": "0.2.0",
    "issued_at": 1_800_000_000,
    "expires_at": 1_810_000_000,
    "changes": ["faster", "kinder"],
    "files": {"run": {"name": "potluck-0.2.0.run", "sha256": "a" * 64, "bytes": 1000}},
}


class Publisher:
    """`key`: its public one, as users set it."""

    def __init__(self) -> None:
        self._private = Ed25519PrivateKey.generate()
        self.key = base64.b64encode(self._private.public_key().public_bytes_raw()).decode()

    def signature(self, content: bytes) -> bytes:
        return base64.b64encode(self._private.sign(content))

    def signed(self, fields: object) -> tuple[bytes, bytes]:
        """A description and its signature."""
        content = json.dumps(fields).encode()
        return content, self.signature(content)
