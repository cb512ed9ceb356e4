"""Lets small models draft for the loaded ones, where the swarm names one and memory suffices. Imports torch.

    unloaded -> loading:   there is room, and the daemon allows it; answers go on meanwhile
    loading -> drafting:   its files are fetched and read
    loading -> unloaded:   it can't be loaded or has no room; the next try comes later
    drafting -> unloaded:  memory is short, or a game has started

Draft models are the first to go: they leave half as much again free as an engine does.
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

_UPDATE_S = 5.0
_RETRY_S = 300.0  # the wait after memory was short or the model couldn't be loaded
_RESERVE = 1.5  # factor on the memory that others are left


@dataclass(slots=True, eq=False)
class _DraftedModel:
    """A loaded model for which another one may draft."""

    model: Any
    swarm: Swarm  # the swarm without its addresses and draft
    draft: Draft | None
    drafting: DraftModel | None = None
    not_before_s: float = 0.0  # monotonic clock
    problem: str = ""  # the last logged problem


class DraftModels:
    """The models that draft for the loaded ones. Any thread may call; a thread of its own loads and unloads them."""

    def __init__(self, *, reserve_bytes: int, is_allowed: bool, spare: Callable[[int], int] = spare_bytes) -> None:
        """Store the settings.

        Args:
            reserve_bytes: what the user wants to stay free for others.
            spare: returns what is available beyond so many bytes.
        """
        self._reserve_bytes = int(_RESERVE * reserve_bytes)
        self._is_allowed = is_allowed
        self._spare = spare
        self._models: list[_DraftedModel] = []
        self._lock = threading.Lock()  # held while any of these changes, not while a model is loaded
        self._changed = threading.Event()

    def start(self) -> None:
        """Run `update` now and again, in a thread."""
        threading.Thread(target=self._run, daemon=True).start()

    def add(self, model: Any, offered: GatewaySwarm) -> None:
        """Let the draft model that the swarm names draft for this loaded model, once it is loaded itself."""
        with self._lock:
            self._models.append(_DraftedModel(model, offered.identity, offered.membership.swarm.draft))
        self._changed.set()

    def offer(self, swarms: Sequence[GatewaySwarm]) -> None:
        """Change to the draft models that these swarms name."""
        named = {each.identity: each.membership.swarm.draft for each in swarms}
        with self._lock:
            for drafted in self._models:
                if drafted.draft != (draft := named.get(drafted.swarm)):
                    self._unload(drafted)
                    drafted.draft, drafted.not_before_s = draft, 0.0
        self._changed.set()

    def remove(self, model: Any) -> None:
        """Stop drafting for a model that is about to be closed."""
        with self._lock:
            for drafted in [drafted for drafted in self._models if drafted.model is model]:
                self._models.remove(drafted)
                self._unload(drafted)

    def allow(self, is_allowed: bool) -> None:
        """Allow drafting, or free all its memory because something else needs it."""
        with self._lock:
            self._is_allowed = is_allowed
            for drafted in () if is_allowed else self._models:
                self._unload(drafted)
        self._changed.set()

    def update(self) -> None:
        """Unload draft models that have no room any more, and load those that have."""
        for drafted in tuple(self._models):
            now = time.monotonic()
            is_short = self._spare(self._reserve_bytes) < 0
            if is_short:
                drafted.not_before_s = now + _RETRY_S
                with self._lock:
                    self._unload(drafted)
            elif (
                self._is_allowed
                and (draft := drafted.draft)
                and drafted.drafting is None
                and now >= drafted.not_before_s
            ):
                self._load(drafted, draft)

    def _run(self) -> None:
        while True:
            self._changed.wait(_UPDATE_S if self._models else None)
            self._changed.clear()
            self.update()

    def _load(self, drafted: _DraftedModel, draft: Draft) -> None:
        loaded = None
        try:
            folder = str(bundled_checkpoint(draft.model) or draft.model)
            checkpoint = open_draft(draft, folder, self._spare(self._reserve_bytes))
            if self._spare(self._reserve_bytes) >= sum(weight_sizes(checkpoint).values()):  # downloads take long
                config = drafted.model.config.get_text_config(decoder=True)
                loaded = load_draft(checkpoint, vocabulary=config.vocab_size)
        except Exception as error:  # Includes torch's errors: answers work without a draft model.
            if str(error) != drafted.problem:
                is_known = isinstance(error, PotluckError | OSError)
                log.warning("%s cannot draft: %s", draft.model, error, exc_info=not is_known)
            drafted.problem = str(error)
        with self._lock:
            drafted.drafting = loaded
            if loaded is None:  # a draft that was named meanwhile need not wait
                drafted.not_before_s = time.monotonic() + _RETRY_S if drafted.draft == draft else 0.0
            elif self._is_allowed and drafted in self._models and drafted.draft == draft:
                drafted.model.draft_with(loaded)
            else:
                self._unload(drafted)

    def _unload(self, drafted: _DraftedModel) -> None:
        if drafted.drafting is not None:
            drafted.model.draft_with(None)
            drafted.drafting.free()
            drafted.drafting = None
