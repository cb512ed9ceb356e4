"""Remembers which experts the blocks chose in sessions, for clients whose results are computed again elsewhere.

Nothing of it travels with steps. A session's choices are kept while it is open and for a minute after that, up to a
number of tokens, and within a bound for all sessions together: those that were not used for longest go first.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from torch import Tensor

from potluck.client.history import History
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import choice_tokens
from potluck_engine.memory.session_memory import SessionStep

_MAX_BYTES: Final = 64 << 20
_ENDED_S: Final = 60.0


@dataclass(slots=True)
class _Kept:
    """Attributes: history: [rows, tokens, layers * choices] int16; ended_s: monotonic, None while it is open."""

    history: History
    num_layers: int
    num_bytes: int = 0
    ended_s: float | None = None


class ChoiceBook:
    """The choices of one engine's sessions.

    Attributes:
        kept: by client and session id; empty as long as no step chose anything.
    """

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self.kept: OrderedDict[tuple[PeerId, str], _Kept] = OrderedDict()

    def note(self, client: PeerId, session_id: str | None, step: SessionStep) -> None:
        """Note what was chosen for the tokens of a step that was done."""
        chosen, key, num_layers = step.all_chosen(), (client, session_id or ""), len(step.memory.span)
        if session_id is None or (chosen is None and key not in self.kept):
            return
        kept = self.kept.setdefault(key, _Kept(History(), num_layers))
        kept.ended_s = None
        self.kept.move_to_end(key)
        history = kept.history
        if step.order is not None and history.length:
            history.reorder(step.order)
        history.truncate(step.start)
        num_new = 0 if chosen is None else chosen.shape[1]
        if history.length < step.start or num_new < step.tokens or step.start + num_new > choice_tokens(num_layers):
            del self.kept[key]  # a part is missing, or it is too long
        elif chosen is not None:
            history.append(chosen)
            kept.num_bytes = chosen.shape[0] * history.length * chosen.shape[2] * chosen.itemsize
            self._make_room()

    def end(self, client: PeerId, session_id: str | None) -> None:
        """Note that a session has ended."""
        kept = self.kept.get((client, session_id or ""))
        if kept is not None:
            kept.ended_s = time.monotonic()
        self._make_room()

    def of(self, client: PeerId, session_id: str, row: int, tokens: int) -> Tensor:
        """Return what was chosen for the first tokens of a row, [tokens, layers, choices] int16.

        Raises:
            RemoteError: NOT_SERVED: nothing is kept of them.
        """
        kept = self.kept.get((client, session_id))
        if kept is None or kept.history.length < tokens or row >= kept.history.batch:
            raise RemoteError(Code.NOT_SERVED, "it is not known any more which experts were chosen")
        return kept.history.between(0, tokens)[row].view(tokens, kept.num_layers, -1)

    def _make_room(self) -> None:
        over_s = time.monotonic() - _ENDED_S
        for key in [key for key, kept in self.kept.items() if kept.ended_s is not None and kept.ended_s < over_s]:
            del self.kept[key]
        num_bytes = sum(kept.num_bytes for kept in self.kept.values())
        while num_bytes > self._max_bytes:
            _, oldest = self.kept.popitem(last=False)
            num_bytes -= oldest.num_bytes
