"""Tells the caller for which blocks his generations are waiting, because nobody serves them now."""

from __future__ import annotations

import logging
from collections.abc import Callable

from potluck.protocol.blocks import Span, runs_of
from potluck.sentences import Sentence, sentence

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
