"""Has small models draft for the loaded ones, where the swarm names one and as long as memory lasts. Imports torch.

    apart -> loading:     there is room, and the daemon allows it; answers go on meanwhile
    loading -> drafting:  it is read; its files are fetched first, as the ends of the large model are
    loading -> apart:     it can't be had, or has no room: it is tried again later
    drafting -> apart:    memory is short, or a game has started

What drafts is the first to go: it leaves half as much again free as an engine does.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from potluck_control.processes.gateway_messages import GatewaySwarm
from potluck_control.resources import bundled_checkpoint

from potluck.allowance import spare_bytes
from potluck.checkpoint.drafts import open_draft, weight_sizes
from potluck.client.drafting.draft_model import DraftModel, load_draft
from potluck.errors import PotluckError
from potluck.protocol.swarm import Draft, Swarm

log = logging.getLogger(__name__)

_LOOK_S = 5.0
_AGAIN_S = 300.0  # after memory was short, or it couldn't be had
_RESERVE = 1.5  # times what others are left


@dataclass(slots=True, eq=False)
class _Place:
    """A loaded model for which another one may draft."""

    model: Any
    swarm: Swarm  # its identity
    draft: Draft | None
    drafting: DraftModel | None = None
    not_before_s: float = 0.0  # monotonic
    problem: str = ""  # that was logged


class DraftModels:
    """The models that draft. Any thread may call; one of its own loads them and gives them back."""

    def __init__(self, *, reserve_bytes: int, is_allowed: bool, spare: Callable[[int], int] = spare_bytes) -> None:
        """Store the settings.

        Args:
            reserve_bytes: what the user wants to stay free for others.
            spare: returns what is available beyond so many bytes.
        """
        self._reserve_bytes = int(_RESERVE * reserve_bytes)
        self._is_allowed = is_allowed
        self._spare = spare
        self._places: list[_Place] = []
        self._lock = threading.Lock()  # held to change any of these, not to load
        self._changed = threading.Event()

    def start(self) -> None:
        """Look from now on, in a thread."""
        threading.Thread(target=self._run, daemon=True).start()

    def add(self, model: Any, offered: GatewaySwarm) -> None:
        """Have what the swarm names draft for its loaded model, as soon as that is loaded itself."""
        with self._lock:
            self._places.append(_Place(model, offered.identity, offered.membership.swarm.draft))
        self._changed.set()

    def offer(self, swarms: Sequence[GatewaySwarm]) -> None:
        """Draft with what these swarms name from now on."""
        named = {each.identity: each.membership.swarm.draft for each in swarms}
        with self._lock:
            for place in self._places:
                if place.draft != (draft := named.get(place.swarm)):
                    self._give_back(place)
                    place.draft, place.not_before_s = draft, 0.0
        self._changed.set()

    def remove(self, model: Any) -> None:
        """Draft no longer for a model that is about to be closed."""
        with self._lock:
            for place in [place for place in self._places if place.model is model]:
                self._places.remove(place)
                self._give_back(place)

    def allow(self, is_allowed: bool) -> None:
        """Draft, or give all memory back because something else needs it."""
        with self._lock:
            self._is_allowed = is_allowed
            for place in () if is_allowed else self._places:
                self._give_back(place)
        self._changed.set()

    def look(self) -> None:
        """Give back what has no room any more, and load what has."""
        for place in tuple(self._places):
            now = time.monotonic()
            is_short = self._spare(self._reserve_bytes) < 0
            if is_short:
                place.not_before_s = now + _AGAIN_S
                with self._lock:
                    self._give_back(place)
            elif self._is_allowed and (draft := place.draft) and place.drafting is None and now >= place.not_before_s:
                self._load(place, draft)

    def _run(self) -> None:
        while True:
            self._changed.wait(_LOOK_S if self._places else None)
            self._changed.clear()
            self.look()

    def _load(self, place: _Place, draft: Draft) -> None:
        loaded = None
        try:
            folder = str(bundled_checkpoint(draft.model) or draft.model)
            checkpoint = open_draft(draft, folder, self._spare(self._reserve_bytes))
            if self._spare(self._reserve_bytes) >= sum(weight_sizes(checkpoint).values()):  # downloads take long
                config = place.model.config.get_text_config(decoder=True)
                loaded = load_draft(checkpoint, vocabulary=config.vocab_size)
        except Exception as error:  # of torch, too: answers don't need what drafts
            if str(error) != place.problem:
                is_known = isinstance(error, PotluckError | OSError)
                log.warning("%s cannot draft: %s", draft.model, error, exc_info=not is_known)
            place.problem = str(error)
        with self._lock:
            place.drafting = loaded
            if loaded is None:  # another that was named meanwhile need not wait
                place.not_before_s = time.monotonic() + _AGAIN_S if place.draft == draft else 0.0
            elif self._is_allowed and place in self._places and place.draft == draft:
                place.model.draft_with(loaded)
            else:
                self._give_back(place)

    def _give_back(self, place: _Place) -> None:
        if place.drafting is not None:
            place.model.draft_with(None)
            place.drafting.free()
            place.drafting = None
