"""Names peers and the people they belong to, and parts of a model: contiguous ranges of transformer blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, NewType, Protocol

from msgspec import Meta

from potluck.formatting import layers

PeerId = NewType("PeerId", str)
"""A libp2p peer id in base58 text, authenticated by the transport."""

PersonId = NewType("PersonId", str)
"""A member's public key in hexadecimal text. In an open swarm each peer is a person, named by its peer id."""


class PersonOf(Protocol):
    """A function that returns whose node a peer is."""

    def __call__(self, peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
        """Return the member, or None for a stranger.

        Args:
            ticket: the pass of a node whose key is made for one run; it is remembered if it is good.
        """


def each_peer_a_person(peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
    """Return every peer as a person of its own, as in an open swarm."""
    return PersonId(peer)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Blocks [start, end) of a model, counted from 0."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"a span needs 0 <= start < end, not {self.start}:{self.end}")

    def __len__(self) -> int:
        return self.end - self.start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.end))

    def __contains__(self, block: object) -> bool:
        return isinstance(block, int) and self.start <= block < self.end

    def covers(self, other: Span) -> bool:
        return self.start <= other.start and other.end <= self.end

    def within(self, whole: Span) -> slice:
        """Return where these blocks are in a sequence that has something for each block of `whole`."""
        return slice(self.start - whole.start, self.end - whole.start)

    def __and__(self, other: Span) -> Span | None:
        """Return the blocks of both; None: there are none."""
        start, end = max(self.start, other.start), min(self.end, other.end)
        return Span(start, end) if start < end else None

    def __str__(self) -> str:
        return f"{self.start}:{self.end}"

    @property
    def layers(self) -> str:
        """Return these blocks as people count them: `1-12`."""
        return layers(self.start, self.end)

    @classmethod
    def parse(cls, text: str) -> Span:
        """Read `start:end`; raises ValueError with a readable message."""
        start, colon, end = text.partition(":")
        if not colon or not start.strip().isdecimal() or not end.strip().isdecimal():
            raise ValueError(f"expected START:END such as 0:8, not {text!r}")
        return cls(int(start), int(end))


def runs_of(blocks: Iterable[int]) -> tuple[Span, ...]:
    """Return ascending blocks as the fewest spans."""
    runs: list[Span] = []
    for block in blocks:
        if runs and runs[-1].end == block:
            runs[-1] = Span(runs[-1].start, block + 1)
        else:
            runs.append(Span(block, block + 1))
    return tuple(runs)


@dataclass(frozen=True, slots=True)
class Booking:
    """A signed receipt, and the person on the other side: who was served, or whose server it was."""

    receipt: bytes
    person: Annotated[PersonId, Meta(min_length=1, max_length=64)]
