"""Chooses which windows are audited and by whom. Whoever knows neither the generator nor the seed cannot foresee it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from potluck.protocol.blocks import PeerId, PersonId

if TYPE_CHECKING:
    import numpy as np

WINDOW_TOKENS: Final = 32
CLEAN_AUDITS: Final = 10  # after which a person has a record
_NEW_CHANCE: Final = 1 / 5  # of each window
_KNOWN_CHANCE: Final = 1 / 100


def audit_chance(clean_audits: int) -> float:
    """Return the chance with which each window of a person's servers is audited.

    Args:
        clean_audits: without a disagreement, since the last one that went against this person.
    """
    return _KNOWN_CHANCE if clean_audits >= CLEAN_AUDITS else _NEW_CHANCE


def choose_window(finished: Sequence[int], chance: float, rng: np.random.Generator) -> int | None:
    """Return one of the windows that were just finished, or None; each counts with `chance`."""
    if not finished or rng.random() >= 1 - (1 - chance) ** len(finished):
        return None
    return finished[int(rng.integers(len(finished)))]


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
