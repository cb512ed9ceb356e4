"""How far long work of the daemon is, such as a set-up or an update, and why it failed."""

from __future__ import annotations

from msgspec import Struct

from potluck.sentences import NOTHING, Sentence


class WorkProgress(Struct, frozen=True):
    """The present step. `done` and `total` are bytes, 0 if nothing is fetched."""

    text: Sentence
    done: int = 0
    total: int = 0


class Problem(Struct, frozen=True):
    """One plain sentence, and what to do about it."""

    text: Sentence
    hint: Sentence = NOTHING
