"""Tells the caller for which blocks his generations are waiting, because nobody serves them now."""

from __future__ import annotations

import logging
from collections.abc import Callable

from potluck.protocol.blocks import Span, runs_of

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


def wait_text(missing: tuple[Span, ...]) -> str:
    """Return what people read while blocks are missing; they count layers from 1."""
    named = [f"{span.start + 1}-{span.end}" if len(span) > 1 else str(span.end) for span in missing]
    if sum(map(len, missing)) == 1:
        return f"Layer {named[0]} is gone. Waiting for a server."
    return f"Layers {_listed(named)} are gone. Waiting for a server."


def log_wait(missing: tuple[Span, ...]) -> None:
    """Log the wait as a warning."""
    if missing:
        _log.warning(wait_text(missing))


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
