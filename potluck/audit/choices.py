"""Chooses which windows are audited and by whom, and says when clean audits end somebody's probation.

Nobody who knows neither the generator nor the seed can foresee the choice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from potluck.protocol.blocks import PeerId, PersonId

if TYPE_CHECKING:
    import numpy as np


WINDOW_TOKENS: Final = 32  # the longest window; the last one of a session may be shorter
CLEAN_AUDITS: Final = 10  # clean audits that end a person's probation
_NEW_CHANCE: Final = 1 / 5  # chance of each window of a person on probation
_KNOWN_SHARE: Final = 0.003  # share of the traffic of steps that may go to audits of people with a record


def audit_chance(clean_audits: int, window: range) -> float:
    """Return the chance with which a window of a person's servers is audited.

    An audit sends all tokens up to the window's end and returns the window's, so later windows cost more.

    Args:
        clean_audits: without a disagreement, since the last one that went against this person.
        window: the tokens [start, stop) of the session.
    """
    if clean_audits < CLEAN_AUDITS:
        return _NEW_CHANCE
    return min(_NEW_CHANCE, _KNOWN_SHARE * 2 * len(window) / (window.stop + len(window)))


def choose_window(finished: Sequence[range], chances: Sequence[float], rng: np.random.Generator) -> range | None:
    """Return one of the windows that were just finished, or None; each counts with its chance."""
    drawn = [
        window for window, lot, chance in zip(finished, rng.random(len(finished)), chances, strict=True) if lot < chance
    ]
    return drawn[int(rng.integers(len(drawn)))] if drawn else None


def choose_auditor(
    candidates: Iterable[tuple[PeerId, PersonId]], unwanted: Collection[PersonId | None], seed: bytes
) -> PeerId | None:
    """Return the server that recomputes a window, or None. A person has one lot, however many servers they have."""
    allowed = [(peer, person) for peer, person in candidates if person not in unwanted]
    if not allowed:
        return None
    return min(allowed, key=lambda pair: (_lot(seed, pair[1]), _lot(seed, pair[0])))[0]


def _lot(seed: bytes, name: str) -> bytes:
    return hashlib.sha256(b"potluck auditor 1\0" + seed + name.encode()).digest()


def has_record(clean: int) -> bool:
    """Return whether so many clean audits, as auditor or audited, end somebody's probation.

    A client counts its own audits only, because a ring could make up what others say.
    """
    return clean >= CLEAN_AUDITS
