"""Defines what a server signs about a window, so that others can repeat the audit and nobody can deny or forge it."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import Final

from potluck.audit.fingerprint import FINGERPRINT_BYTES, SEED_BYTES
from potluck.protocol.blocks import Span
from potluck.protocol.receipts import KEY_BYTES, SWARM_BYTES, TAB_BYTES
from potluck.protocol.records import NumberFormat

INPUTS_BYTES: Final = 32  # a SHA-256
MAX_WINDOW: Final = 1 << 24
_FOR_WINDOW: Final = b"potluck window 1\0"
_NUMBERS: Final = struct.Struct(">HHIH")
_BYTES: Final = {
    "swarm": SWARM_BYTES,
    "server": KEY_BYTES,
    "tab": TAB_BYTES,
    "inputs": INPUTS_BYTES,
    "seed": SEED_BYTES,
    "fingerprint": FINGERPRINT_BYTES,
}


@dataclass(frozen=True, slots=True)
class Commitment:
    """A server's statement about one window of one row.

    Raises ValueError for fields of another size, so that no two statements have the same bytes.

    Attributes:
        server: its public key.
        tab: which the server named for this session; see `potluck.protocol.receipts`.
        window: tokens [32 x window, 32 x window + 32) of the row.
        weights: `span_digest` of the blocks.
        inputs: SHA-256 of all inputs of the row up to the window's end, as they were decoded.
        seed: of the projections; the client tells it after it has the outputs.
    """

    swarm: bytes
    server: bytes
    tab: bytes
    span: Span
    row: int
    window: int
    weights: str
    format: NumberFormat
    inputs: bytes
    seed: bytes
    fingerprint: bytes

    def __post_init__(self) -> None:
        for name, size in _BYTES.items():
            if len(getattr(self, name)) != size:
                raise ValueError(f"{name} has {size} bytes, not {len(getattr(self, name))}")
        if not 0 <= self.window < MAX_WINDOW or not 0 <= self.row <= 0xFFFF or self.span.end > 0xFFFF:
            raise ValueError(f"no session has window {self.window} of row {self.row} in blocks {self.span}")

    def to_sign(self) -> bytes:
        """Return the bytes that the server signs with its certified key."""
        texts = (self.weights, self.format.dtype, self.format.quantization)
        form = hashlib.sha256(
            b"".join(len(text.encode()).to_bytes(4, "big") + text.encode() for text in texts)
        ).digest()
        numbers = _NUMBERS.pack(self.span.start, self.span.end, self.window, self.row)
        keys = self.swarm + self.server + self.tab
        return _FOR_WINDOW + keys + numbers + form + self.inputs + self.seed + self.fingerprint
