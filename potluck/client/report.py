"""Defines the reports of `model.last_route()`: the servers of a session and their speed."""

from __future__ import annotations

from dataclasses import dataclass, field

from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.records import NumberFormat

UNKNOWN_FORMAT = NumberFormat("")


@dataclass(slots=True)
class HopReport:
    """One server's part in a session. `wall_ms` is measured here, the other times by the server."""

    peer_id: PeerId
    span: Span
    public_name: str | None = None
    format: NumberFormat = UNKNOWN_FORMAT
    steps: int = 0
    tokens: int = 0  # per row
    wall_ms: float = 0.0
    queue_ms: float = 0.0
    compute_ms: float = 0.0
    pushed_steps: int = 0  # whose inputs came from the server before, not from here
    replayed_tokens: int = 0  # sent because another server was lost; included in `tokens`
    replaced_because: str | None = None  # reason for its replacement

    @property
    def mean_step_ms(self) -> float:
        return self.wall_ms / self.steps if self.steps else 0.0


@dataclass(slots=True)
class AuditReport:
    """The audits of a client, in windows of 32 tokens at one server."""

    audited: int = 0  # were recomputed by another person's server
    undecided: int = 0  # of these, the results differed and nobody could tell who is right
    nobody: int = 0  # were chosen, but nobody else serves the same blocks
    unanswered: int = 0  # were chosen, but the other server refused or failed
    withheld: int = 0  # of these, a person's servers did not say which experts they chose, again and again
    wrong: list[str] = field(default_factory=list)  # servers that computed wrongly, by name
    wrong_people: list[PersonId] = field(default_factory=list)  # whose they are, in the same order


@dataclass(slots=True)
class RouteReport:
    """The servers of a session in the order of the blocks, and those that were replaced on the way."""

    hops: list[HopReport] = field(default_factory=list)
    replaced: list[HopReport] = field(default_factory=list)
