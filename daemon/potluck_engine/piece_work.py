"""Decides which member sends which piece of a file. Pure: no clock, no I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from potluck.protocol.blocks import PeerId

_MOST_SENDERS = 2  # of one piece at the end, when somebody slow or gone has the last ones


@dataclass(slots=True)
class PieceWork:
    """The pieces of one file that are missing.

    Attributes:
        waiting: nobody sends them.
        asked: who was asked for a piece, in the order of asking.
    """

    waiting: deque[int]
    asked: dict[int, list[PeerId]] = field(default_factory=dict)

    @classmethod
    def of(cls, missing: Iterable[int]) -> PieceWork:
        return cls(deque(missing))

    @property
    def is_done(self) -> bool:
        return not self.waiting and not self.asked

    def take(self, sender: PeerId) -> int | None:
        """Return the next piece for a sender; None: it has nothing to do for now.

        When all are asked for, it gets the one that another sender has had for longest.
        """
        if self.waiting:
            piece = self.waiting.popleft()
        else:
            late = (
                piece for piece, senders in self.asked.items() if sender not in senders and len(senders) < _MOST_SENDERS
            )
            found = next(late, None)
            if found is None:
                return None
            piece = found
        self.asked.setdefault(piece, []).append(sender)
        return piece

    def is_missing(self, piece: int) -> bool:
        """Return whether nobody has sent a piece that was asked for."""
        return piece in self.asked

    def finish(self, piece: int) -> None:
        """Count a piece as here."""
        self.asked.pop(piece, None)

    def give_back(self, sender: PeerId) -> None:
        """Let others send what this sender did not."""
        for piece, senders in list(self.asked.items()):
            if sender in senders:
                senders.remove(sender)
                if not senders:
                    del self.asked[piece]
                    self.waiting.appendleft(piece)
