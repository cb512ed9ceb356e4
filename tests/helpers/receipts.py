"""Donors, clients and the receipts between them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from potluck_control.outbox import Booking

from potluck.membership.identity import Identity
from potluck.protocol.blocks import Span
from potluck.protocol.receipts import (
    POINT,
    Receipt,
    Signed,
    Work,
    countersign,
    delegate,
    new_tab,
    sign_receipt,
)

NOW = 1_790_000_000.0
SWARM = bytes(range(16))


@dataclass
class Session:
    """A client's session at a server, signed for step by step; `owner`: the donor for whom the client spends."""

    server: Identity
    client: Identity = field(default_factory=Identity.generate)
    owner: Identity | None = None
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

    def signed(self, points: int, *, seq: int | None = None, tokens: int = 7) -> Signed:
        return sign_receipt(self.receipt(points, seq=seq, tokens=tokens), self.client.sign)

    def booking(
        self, points: int, *, seq: int | None = None, tokens: int = 7, is_countersigned: bool = False
    ) -> Booking:
        signed = self.signed(points, seq=seq, tokens=tokens)
        data = countersign(signed, self.server.sign).data if is_countersigned else signed.data
        return Booking(data, self.delegation)

    def voucher(self, points: int) -> bytes:
        assert self.delegation is not None
        return countersign(self.signed(points), self.server.sign).data + self.delegation

    @property
    def delegation(self) -> bytes | None:
        if self.owner is None:
            return None
        return delegate(self.owner.public_key, self.client.public_key, int(self.opened) + 1000, self.owner.sign)
