"""Clients, servers and the receipts between them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from potluck.membership.identity import Identity
from potluck.protocol.blocks import Booking, PersonId, Span
from potluck.protocol.receipts import POINT, Receipt, Work, new_tab, sign_receipt

NOW = 1_790_000_000.0
SWARM = bytes(range(16))


@dataclass
class Session:
    """A client's session at a server, signed for step by step; `person`: the side that isn't the ledger's."""

    server: Identity
    client: Identity = field(default_factory=Identity.generate)
    person: PersonId | None = None  # the client itself, as in an open swarm
    opened: float = NOW
    swarm: bytes = SWARM
    seqs: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.tab = new_tab(self.opened)

    def receipt(self, points: int, *, seq: int | None = None, tokens: int = 7) -> Receipt:
        """For this much work altogether."""
        work = Work(forward=points * POINT, tokens=tokens)
        keys = (self.swarm, self.client.public_key, self.server.public_key, self.tab)
        return Receipt(*keys, next(self.seqs) if seq is None else seq, Span(0, 4), work)

    def signed(self, points: int, *, seq: int | None = None, tokens: int = 7) -> bytes:
        return sign_receipt(self.receipt(points, seq=seq, tokens=tokens), self.client.sign)

    def booking(self, points: int, *, seq: int | None = None, tokens: int = 7) -> Booking:
        person = self.person or PersonId(self.client.peer_id)
        return Booking(self.signed(points, seq=seq, tokens=tokens), person)
