"""Holds what proves to others what a server computed: a window's inputs, its outputs, and the server's signature.

Whoever has it can check that the server signed exactly this, and repeat the window. Pure: bytes only.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

from potluck.audit.choices import WINDOW_TOKENS
from potluck.audit.commitments import HASH_BYTES, Commitment, Terms, Values, chain_of, leaf


def charge_terms(terms: Terms) -> tuple[str, str, str]:
    """Return blocks, weights and format as a charge names them."""
    form = terms.format
    return f"{terms.span.start}:{terms.span.end}", terms.weights, f"{form.dtype} {form.quantization} {form.cache}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One row of one window.

    Attributes:
        leaves: all that the commitment covers.
        rows: of the session, of which this is `row`.
        pieces: tokens of each step within the window.
        inputs: [1, tokens up to the window's end, hidden_size].
        outputs: [1, WINDOW_TOKENS, hidden_size], as the server sent them.
    """

    terms: Terms
    commitment: Commitment
    leaves: tuple[bytes, ...]
    rows: int
    row: int
    window: int
    pieces: tuple[int, ...]
    inputs: Values
    outputs: Values

    @property
    def digest(self) -> bytes:
        """Return a hash of everything, for which an accusation is made."""
        found = hashlib.blake2b(b"potluck evidence 1\0", digest_size=HASH_BYTES)
        found.update(self.terms.digest)
        found.update(self.commitment.encode())
        found.update(struct.pack(">III", self.rows, self.row, self.window))
        found.update(self._leaf())
        return found.digest()

    def is_sound(self, key: bytes) -> bool:
        """Return whether the server with this public key signed that it computed these outputs from these inputs."""
        place = (self.window - self.commitment.first) * self.rows + self.row
        is_inside = 0 <= self.row < self.rows and 0 <= place < len(self.leaves)
        if not is_inside or len(self.leaves) != self.rows * self.commitment.windows or not self._is_whole():
            return False
        return self.leaves[place] == self._leaf() and self.commitment.is_signed(self.terms, self.leaves, key)

    def _is_whole(self) -> bool:
        is_window = self.inputs.tokens == (self.window + 1) * WINDOW_TOKENS and self.outputs.tokens == WINDOW_TOKENS
        return is_window and self.inputs.rows == self.outputs.rows == 1 and sum(self.pieces) == WINDOW_TOKENS

    def _leaf(self) -> bytes:
        chain = chain_of(self.inputs.data, self.window + 1)
        return leaf(chain, [self.outputs.data], self.pieces, (self.inputs.dtype, self.outputs.dtype))
