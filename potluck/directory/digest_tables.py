"""Digests of blocks, sent once for all servers that hold the same blocks instead of with each record.

A record signs one digest of its blocks' digests, so whoever passes it on may put those together from anywhere: what
does not fit is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from potluck.directory.fields import DIGEST_BYTES, digests_of
from potluck.protocol.blocks import Span
from potluck.protocol.records import span_digest

MAX_TABLES = 64
_UNKNOWN = bytes(DIGEST_BYTES)


class DigestTables:
    """Digests of all blocks of a model, one table for each of the checkpoints and formats that servers have."""

    def __init__(self, num_blocks: int) -> None:
        self._num_blocks = num_blocks
        self.tables: list[bytearray] = []

    def add(self, span: Span, digests: bytes) -> bool:
        """Whether a table has them now; False if there are too many different ones."""
        place = slice(span.start * DIGEST_BYTES, span.end * DIGEST_BYTES)
        for table in self.tables:
            if table[place] == digests:
                return True
        for table in self.tables:
            if _agree(table[place], digests):
                table[place] = digests
                return True
        if len(self.tables) >= MAX_TABLES:
            return False
        table = bytearray(self._num_blocks * DIGEST_BYTES)
        table[place] = digests
        self.tables.append(table)
        return True


def find_digests(tables: Iterable[bytes], span: Span, digest: bytes) -> bytes | None:
    """The digests of the blocks of `span` that together have the digest `digest`."""
    for table in tables:
        part = bytes(table[span.start * DIGEST_BYTES : span.end * DIGEST_BYTES])
        if span_digest(digests_of(part)) == digest.hex():
            return part
    return None


def _agree(one: Sequence[int], other: bytes) -> bool:
    """Whether they differ only where one of them knows nothing."""
    pieces = range(0, len(other), DIGEST_BYTES)
    parts = ((bytes(one[start : start + DIGEST_BYTES]), other[start : start + DIGEST_BYTES]) for start in pieces)
    return all(a == b or _UNKNOWN in (a, b) for a, b in parts)
