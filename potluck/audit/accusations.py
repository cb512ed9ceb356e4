"""Decides accusations: somebody says that a server answered wrongly, and other people repeat what it computed.

Everybody who knows the same accusation and the same findings comes to the same verdict, in whatever order they arrived.
Voices are counted by person, never by server. Pure: no clock, no network, no signatures.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Final

from potluck.protocol.blocks import PersonId

CONFIRMATIONS: Final = 2  # by people other than the accuser and the accused
JURY_SHARE: Final = 1 / 3
"""Of the people who could judge, who have to agree: a ring with fewer of them can't exclude an honest server."""

LAPSES_S: Final = 7 * 86_400.0  # after which an accusation that nobody decided is forgotten
HEARINGS_A_DAY: Final = 8  # that one server does for one accuser; each is a prefill and a window of steps
MAX_OPEN: Final = 3  # accusations of one person that are not decided yet
_DAY_S: Final = 86_400.0


class Finding(StrEnum):
    """What somebody found who repeated what the accused server computed."""

    WRONG = "wrong"  # the accused server's answer differs from the repetition by more than honest rounding
    RIGHT = "right"  # it does not, so the accusation is false


class Verdict(Enum):
    OPEN = auto()
    PROVEN = auto()
    REFUTED = auto()
    LAPSED = auto()  # nobody is blamed


@dataclass(frozen=True, slots=True)
class Accusation:
    """Somebody says that one of the accused person's servers signed a wrong window.

    Attributes:
        id: tells it from all others; it covers the accused server's signature.
        server: of the accused person, named in any unique way.
        at_s: Unix seconds.
    """

    id: bytes
    accuser: PersonId
    accused: PersonId
    server: bytes
    at_s: float


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one person's server found about an accusation."""

    accusation: bytes
    person: PersonId
    finding: Finding


def may_accuse(person: PersonId, accused: PersonId, open_accusations: int, *, is_trusted: bool) -> bool:
    """Return whether an accusation is heard at all.

    Args:
        open_accusations: of this person, not decided yet.
        is_trusted: neither on probation nor silenced, see `consequences.Standing`.
    """
    return is_trusted and person != accused and open_accusations < MAX_OPEN


def may_judge(person: PersonId, accusation: Accusation, *, serves: bool, is_trusted: bool) -> bool:
    """Return whether this person's finding counts.

    Args:
        serves: whether they have a server with the accused server's blocks and weights.
        is_trusted: neither on probation, nor silenced, nor excluded.
    """
    return serves and is_trusted and person not in (accusation.accuser, accusation.accused)


def order_jurors(accusation: bytes, people: Iterable[PersonId]) -> list[PersonId]:
    """Return in which order people are asked to repeat a window. Nobody chooses it, because the id is a hash."""
    return sorted(
        people, key=lambda person: hashlib.sha256(b"potluck juror 1\0" + accusation + person.encode()).digest()
    )


def may_hear(heard_at_s: Sequence[float], now_s: float) -> bool:
    """Return whether a server repeats one more window for an accuser, for whom it did so at these times."""
    return sum(1 for at_s in heard_at_s if now_s - at_s < _DAY_S) < HEARINGS_A_DAY


def quorum(num_jurors: int) -> int:
    """Return how many people have to agree, of `num_jurors` who could judge: two at least, and a third of them."""
    return max(CONFIRMATIONS, math.ceil(num_jurors * JURY_SHARE))


def count(wrong: int, right: int, num_jurors: int) -> Verdict:
    """Return what so many findings mean: a quorum, and more than say otherwise; OPEN if neither side has that."""
    needed = quorum(num_jurors)
    if wrong >= needed and wrong > right:
        return Verdict.PROVEN
    return Verdict.REFUTED if right >= needed and right > wrong else Verdict.OPEN


def decide(accusation: Accusation, opinions: Collection[Opinion], num_jurors: int, now_s: float) -> Verdict:
    """Return what became of an accusation.

    It is proven when a quorum found the window wrong, and more people than found it right. It is refuted the other way
    round. Later findings may turn a verdict. A person who says both counts for nothing.

    Args:
        opinions: of people who `may_judge`; those about other accusations don't count.
        num_jurors: people who could judge now, those who gave their opinion included.
    """
    said: dict[PersonId, set[Finding]] = {}
    for opinion in opinions:
        if opinion.accusation == accusation.id and opinion.person not in (accusation.accuser, accusation.accused):
            said.setdefault(opinion.person, set()).add(opinion.finding)
    wrong = sum(1 for found in said.values() if found == {Finding.WRONG})
    right = sum(1 for found in said.values() if found == {Finding.RIGHT})
    verdict = count(wrong, right, max(num_jurors, len(said)))
    is_old = now_s - accusation.at_s > LAPSES_S
    return Verdict.LAPSED if verdict is Verdict.OPEN and is_old else verdict
