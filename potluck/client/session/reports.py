"""Defines the reports of `model.last_route()`: the servers of a session and their speed.

Tells the caller for which blocks his generations are waiting, because nobody serves them now.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from potluck.protocol.blocks import PeerId, PersonId, Span, runs_of
from potluck.protocol.records import NumberFormat
from potluck.sentences import Sentence, sentence

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


_log = logging.getLogger(__name__)

OnWait = Callable[[tuple[Span, ...]], None]
"""Called in the client's thread with the missing blocks whenever they change; without any, the generation goes on. What
it raises ends the generation."""


class Outages:
    """The blocks that are missing for any session of one client. Lives in the client's event loop."""

    def __init__(self) -> None:
        self.on_wait: OnWait = log_wait
        self._missing: dict[object, tuple[Span, ...]] = {}  # for whom -> which blocks
        self._told: tuple[Span, ...] = ()

    def note(self, whom: object, missing: tuple[Span, ...]) -> None:
        """Note what `whom` waits for now; nothing ends the wait."""
        if missing:
            self._missing[whom] = missing
        else:
            self._missing.pop(whom, None)
        together = runs_of(sorted({block for spans in self._missing.values() for span in spans for block in span}))
        if together != self._told:
            self._told = together
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
