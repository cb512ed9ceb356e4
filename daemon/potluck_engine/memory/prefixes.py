"""Keeps beginnings of sessions, so that another session with the same beginning need not compute it again.

A server knows tokens by their hidden states. The key of a page is a hash over all inputs up to its end, the span, the
adapter and the deep prompts. The outputs of the tokens are kept with the pages, because the client needs them, too.
Only full pages are kept, and they stay until a session needs their memory.

Beginnings are shared only within one client (peer), and only among those of its users whom it treats as one. Otherwise
a quick answer would tell a stranger, or another user of a gateway, what others have asked.

Source: vLLM's automatic prefix caching (a chain of hashes a page).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b

import torch
from torch import Tensor

from potluck.blocks.cache.kv_memory import KvMemory, KvSequence
from potluck.blocks.cache.pages import PAGE_TOKENS
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import RemoteError

_MAX_SHARE = 0.25  # the share of pages for beginnings; running sessions need them more
_KEY_BYTES = 16

Chain = tuple[bytes, ...]
"""The keys of the full pages of a row's input."""


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    client: PeerId
    chain: Chain
    sequence: KvSequence
    outputs: Tensor  # [tokens, hidden_size]
    chosen: Tensor | None  # [tokens, layers * choices]; None in models without experts


def chain_of(before: bytes, hidden: Tensor) -> Chain:
    """Return the keys of the full pages of one row.

    Args:
        before: the key of the page before; for the first page, a key of everything else that must be equal.

    Shapes: hidden [tokens, hidden_size].
    """
    keys = []
    key = before
    for start in range(0, hidden.shape[0] - PAGE_TOKENS + 1, PAGE_TOKENS):
        page = hidden[start : start + PAGE_TOKENS].contiguous().view(torch.uint8).numpy().data
        key = blake2b(page, key=blake2b(key, digest_size=_KEY_BYTES).digest(), digest_size=_KEY_BYTES).digest()
        keys.append(key)
    return tuple(keys)


class Prefixes:
    """The kept beginnings, the least recently used first. For the compute thread only."""

    def __init__(self, memory: KvMemory) -> None:
        self._memory = memory
        self._max_pages = int(memory.num_pages * _MAX_SHARE)
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()  # key: the last one of its chain
        self._pages: dict[bytes, tuple[_Kept, int]] = {}  # key -> beginning, and its tokens up to the page's end
        self._unused_pages: int | None = 0  # None: to be counted anew

    def __len__(self) -> int:
        return len(self._kept)

    def unused_pages(self) -> int:
        """Return the number of pages that one kept beginning alone holds. Evicting all frees at least these."""
        if self._unused_pages is None:
            tables = [table for kept in self._kept.values() for table in kept.sequence.tables.values()]
            pages = (start + i for table in tables for start, count in table.runs for i in range(count))
            self._unused_pages = sum(not self._memory.pool.is_shared(page) for page in pages)
        return self._unused_pages

    def mark_changed(self) -> None:
        """Have unused pages counted anew, because sessions took or freed pages."""
        self._unused_pages = None

    def fork(self, chains: list[Chain], *, beyond: int) -> tuple[list[KvSequence], Tensor, Tensor | None] | None:
        """Return new rows with the longest beginning that is kept of all chains; None if it has no tokens `beyond`.

        Shapes: outputs [rows, tokens, hidden_size] and chosen [rows, tokens, layers * choices] of the tokens `beyond`.
        """
        found = [self._find(chain) for chain in chains]
        tokens = min(match[1] for match in found)
        if tokens <= beyond:
            return None
        kept = [match[0] for match in found if match[0] is not None]
        rows = [self._cropped(each.sequence, tokens) for each in kept]
        sequences = [row for row in rows if row is not None]
        if len(sequences) < len(rows):
            for sequence in sequences:
                self._memory.free(sequence)
            return None
        outputs = torch.stack([each.outputs[beyond:tokens] for each in kept])
        chosen = [each.chosen[beyond:tokens] for each in kept if each.chosen is not None]
        return sequences, outputs, torch.stack(chosen) if chosen else None

    def keep(
        self,
        client: PeerId,
        chain: Chain,
        sequence: KvSequence,
        outputs: Tensor,
        start: int = 0,
        chosen: Tensor | None = None,
    ) -> None:
        """Keep the full pages of a row that has just been computed, if the pages before `start` are still kept.

        Shapes: outputs [tokens, hidden_size], of the tokens from `start` on to at least the end of the chain; chosen
        [tokens, layers * choices] likewise.
        """
        if not chain or chain[-1] in self._pages or len(chain) > self._max_pages:
            return
        tokens = len(chain) * PAGE_TOKENS
        if start:
            before = self._pages.get(chain[start // PAGE_TOKENS - 1])
            if before is None:
                return
            outputs = torch.cat([before[0].outputs[:start], outputs])
            if chosen is not None and before[0].chosen is not None:
                chosen = torch.cat([before[0].chosen[:start], chosen])
        mine = self._cropped(sequence, tokens)
        if mine is None:
            return
        experts = None if chosen is None else chosen[:tokens].clone()
        kept = _Kept(client, chain, mine, outputs[:tokens].clone(), experts)
        for key in chain[:-1]:  # the new beginning contains these
            if key in self._kept:
                self._drop(key)
        self._kept[chain[-1]] = kept
        self._index(kept)
        while sum(len(other.chain) for other in self._kept.values()) > self._max_pages:
            self.evict()

    def evict(self) -> None:
        """Drop the least recently used beginning. There must be one."""
        self._drop(next(iter(self._kept)))

    def forget(self, client: PeerId) -> None:
        """Drop the beginnings of a client that is gone. Most clients have a new key in each run and never come back."""
        for key in [key for key, kept in self._kept.items() if kept.client == client]:
            self._drop(key)

    def _find(self, chain: Chain) -> tuple[_Kept | None, int]:
        """Return the beginning that shares the most pages with the chain, and the number of their tokens."""
        for key in reversed(chain):
            if key in self._pages:
                kept, tokens = self._pages[key]
                self._kept.move_to_end(kept.chain[-1])
                return kept, tokens
        return None, 0

    def _cropped(self, sequence: KvSequence, tokens: int) -> KvSequence | None:
        """Return a copy of the first tokens, which shares their pages; None if a sliding window has dropped some."""
        copy = self._memory.fork(sequence)
        try:
            self._memory.crop(copy, tokens)
        except RemoteError:
            self._memory.free(copy)
            return None
        return copy

    def _drop(self, last_key: bytes) -> None:
        kept = self._kept.pop(last_key)
        self._unused_pages = None
        for key in kept.chain:
            if self._pages[key][0] is kept:
                del self._pages[key]
        self._memory.free(kept.sequence)
        for other in self._kept.values():  # those with the same first page share keys with it
            if other.chain[0] == kept.chain[0]:
                self._index(other)

    def _index(self, kept: _Kept) -> None:
        for index, key in enumerate(kept.chain):
            self._pages.setdefault(key, (kept, (index + 1) * PAGE_TOKENS))
