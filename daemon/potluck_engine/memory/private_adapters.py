"""Keeps adapters that callers uploaded, each for the person who uploaded it alone. For the asyncio thread only.

Adapters are known by their digests. They are dropped when memory is short, and their owners then upload them again. One
person's adapters take at most half of the memory. An adapter in use stays until the calls and sessions end.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from potluck.blocks.adapters import PrivateAdapter
from potluck.protocol.adapters import PrivateId
from potluck.protocol.blocks import PersonId, Span
from potluck.protocol.codes import Code, RemoteError

_FULL_AGAIN_S = 5.0
_Key = tuple[PersonId, bytes]


@dataclass(slots=True)
class HeldAdapter:
    """An adapter, or the memory that is reserved for one."""

    nbytes: int
    span: Span
    adapter: PrivateAdapter | None = None  # None while it is being uploaded
    users: int = 0


class PrivateAdapters:
    """The private adapters of one engine.

    Args:
        memory_bytes: the memory for all of them together; 0: none are accepted.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._held: OrderedDict[_Key, HeldAdapter] = OrderedDict()  # least recently used first

    @property
    def largest_bytes(self) -> int:
        """The size of the largest adapter that is accepted."""
        return self._memory_bytes // 2

    @contextmanager
    def reserving(self, person: PersonId, digest: bytes, span: Span, nbytes: int) -> Iterator[HeldAdapter]:
        """Reserve memory for an adapter. The memory is free again unless the body sets `adapter`.

        Raises RemoteError TOO_LONG if the adapter can never fit, and NO_MEMORY if all others are in use.
        """
        if nbytes > self.largest_bytes:
            text = f"an adapter of {nbytes / 1e6:.0f} MB, at most {self.largest_bytes / 1e6:.0f} MB are taken here"
            raise RemoteError(Code.TOO_LONG, text)
        key = person, digest
        held = self._held.get(key)
        if held is not None and held.adapter is None:
            raise RemoteError(Code.BUSY, "this adapter is on its way already", retry_after_s=1.0)
        if held is None:
            while (full := self._who_is_full(person, nbytes)) is not None:
                self._drop_oldest(full)
            held = self._held[key] = HeldAdapter(nbytes, span)
        held.users += 1
        try:
            yield held
        finally:
            held.users -= 1
            if held.adapter is None:
                self._held.pop(key, None)

    @contextmanager
    def using(self, person: PersonId, private: PrivateId | None, span: Span) -> Iterator[PrivateAdapter | None]:
        """Keep an adapter for calls to `span` while the body runs. Raises RemoteError NO_ADAPTER if it is not here."""
        if private is None:
            yield None
            return
        held = self._held.get((person, private.digest))
        if held is None or held.adapter is None:
            raise RemoteError(Code.NO_ADAPTER, "this adapter is not here")
        if held.span != span or held.adapter.layout.num_values != private.num_values:
            raise RemoteError(Code.BAD_REQUEST, "this adapter was brought for other blocks")
        self._held.move_to_end((person, private.digest))
        held.users += 1
        try:
            yield held.adapter
        finally:
            held.users -= 1

    def forget(self) -> None:
        """Drop all adapters, because the device is given back."""
        for held in self._held.values():
            held.adapter = None
        self._held.clear()

    def _who_is_full(self, newcomer: PersonId, nbytes: int) -> PersonId | None:
        """Return the person whose adapter makes room for one of `newcomer`; None if there is room."""
        used: Counter[PersonId] = Counter()
        for (person, _), held in self._held.items():
            used[person] += held.nbytes
        if used[newcomer] + nbytes > self.largest_bytes:
            return newcomer
        if used.total() + nbytes <= self._memory_bytes:
            return None
        return max(used, key=lambda person: used[person])

    def _drop_oldest(self, person: PersonId) -> None:
        for key, held in self._held.items():
            if key[0] == person and not held.users:
                del self._held[key]
                return
        text = "the memory for adapters is in use"
        raise RemoteError(Code.NO_MEMORY, text, retry_after_s=_FULL_AGAIN_S)
