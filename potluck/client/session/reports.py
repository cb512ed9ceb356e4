"""Reports to a client's caller: the servers of a session, its audits, and the blocks that nobody serves."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from potluck.protocol.blocks import PeerId, PersonId, Span, runs_of
from potluck.protocol.records import NumberFormat
from potluck.sentences import Sentence, sentence

OnWait = Callable[[tuple[Span, ...]], None]
"""Called in the client's thread with the missing blocks whenever they change; with none, the generation goes on. An
exception of it ends the generation."""

UNKNOWN_FORMAT = NumberFormat("")

_log = logging.getLogger(__name__)


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
    pushed_steps: int = 0  # steps whose inputs came from the server before, not from here
    replayed_tokens: int = 0  # sent because another server was lost; included in `tokens`
    replaced_because: str | None = None  # reason for its replacement

    @property
    def mean_step_ms(self) -> float:
        return self.wall_ms / self.steps if self.steps else 0.0


@dataclass(slots=True)
class AuditReport:
    """The audits of a client, in windows of 32 tokens at one server."""

    audited: int = 0  # were recomputed by another person's server
    undecided: int = 0  # recomputed with another result, and no third server could decide
    nobody: int = 0  # were chosen, but no other person serves the same blocks
    unanswered: int = 0  # were chosen, but the other server refused or failed
    withheld: int = 0  # unanswered because a person's servers kept not saying which experts they chose
    wrong: list[str] = field(default_factory=list)  # servers that computed wrongly, by name
    wrong_people: list[PersonId] = field(default_factory=list)  # their owners, in the same order


@dataclass(slots=True)
class RouteReport:
    """The servers of a session in the order of the blocks, and those that were replaced on the way."""

    hops: list[HopReport] = field(default_factory=list)
    replaced: list[HopReport] = field(default_factory=list)


class Outages:
    """The blocks that are missing for any session of one client. Lives in the client's event loop."""

    def __init__(self) -> None:
        self.on_wait: OnWait = log_wait
        self._missing: dict[object, tuple[Span, ...]] = {}  # waiter -> missing blocks
        self._reported: tuple[Span, ...] = ()

    def update(self, waiter: object, missing: tuple[Span, ...]) -> None:
        """Note the blocks that `waiter` waits for now; none ends the wait."""
        if missing:
            self._missing[waiter] = missing
        else:
            self._missing.pop(waiter, None)
        together = runs_of(sorted({block for spans in self._missing.values() for span in spans for block in span}))
        if together != self._reported:
            self._reported = together
            self.on_wait(together)


def wait_text(missing: tuple[Span, ...]) -> Sentence:
    """Return what people read while blocks are missing; they count layers from 1."""
    named = [span.layers for span in missing]
    if sum(map(len, missing)) == 1:
        return sentence("Layer {number} is gone. Waiting for a server.", number=named[0])
    *others, last = named
    if not others:
        return sentence("Layers {number} are gone. Waiting for a server.", number=last)
    return sentence("Layers {number} and {last} are gone. Waiting for a server.", number=", ".join(others), last=last)


def log_wait(missing: tuple[Span, ...]) -> None:
    """Log the wait as a warning."""
    if missing:
        _log.warning("%s", wait_text(missing))
