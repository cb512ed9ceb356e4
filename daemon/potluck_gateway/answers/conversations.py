"""Keeps sessions between the turns of conversations, so that servers compute only what is new in a turn.

A request brings a whole conversation. Its session is found by the tokens that it begins with, among those of the same
key: a quick answer would tell one user what another has asked. Few sessions are kept,
and not for long, because servers hold memory for each; one that a server ended is made again by the library.
"""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from potluck.client import Session

MAX_KEPT = 8
KEEP_S = 300.0  # people who read and write an answer take less
_MIN_SHARED = 16  # tokens; a shorter beginning is no conversation


@dataclass(slots=True)
class Conversation:
    """An open session and the tokens that it has seen. `opened` is the context of the model's that closes it."""

    session: Session
    opened: AbstractContextManager[Session]
    owner: str  # whose it is
    room: int  # tokens
    max_wait_s: float | None
    tokens: list[int]
    kept_at: float = 0.0  # monotonic

    def close(self) -> None:
        self.opened.__exit__(None, None, None)


class Conversations:
    """The sessions that are kept. Several threads may use it; each has a conversation to itself while it answers."""

    def __init__(self, model: Any, *, max_kept: int = MAX_KEPT, keep_s: float = KEEP_S):
        self._model = model
        self._max_kept = max_kept
        self._keep_s = keep_s
        self._kept: list[Conversation] = []  # the one kept last is at the end
        self._lock = threading.Lock()
        self._is_tended = False  # a timer will close old sessions

    def begin(self, prompt: list[int], num_tokens: int, max_wait_s: float | None, owner: str) -> Conversation:
        """Return a session that has seen as much as possible of `prompt`, but not its last token.

        Args:
            num_tokens: how many prompt and answer may have together.
            max_wait_s: for blocks that nobody serves; None takes the model's.
            owner: names the key that asks.
        """
        with self._lock:
            found, shared = self._find(prompt, num_tokens, max_wait_s, owner)
            if found is not None:
                self._kept.remove(found)
        if found is not None:
            found.session.rewind(min(shared, len(prompt) - 1))
            return found
        room = max(num_tokens, min(2 * num_tokens, self._model.longest_session()))
        opened = self._model.session(max_length=room, max_wait_s=max_wait_s, together=True, sharing=owner)
        return Conversation(opened.__enter__(), opened, owner, room, max_wait_s, [])

    def keep(self, conversation: Conversation, tokens: list[int]) -> None:
        """Keep a session for the next turn. `tokens`: the prompt and the answer, of which it may lack the end."""
        conversation.tokens = tokens[: conversation.session.position]
        conversation.kept_at = time.monotonic()
        with self._lock:
            self._kept.append(conversation)
        self.end_old()
        self._tend_later()

    def end_old(self) -> None:
        """Close the sessions that were kept for too long, and the oldest ones if there are too many."""
        until = time.monotonic() - self._keep_s
        with self._lock:
            young = [one for one in self._kept if one.kept_at > until][-self._max_kept :]
            old = [one for one in self._kept if one not in young]
            self._kept = young
        for conversation in old:
            conversation.close()

    def _tend_later(self) -> None:
        """Close old sessions when it is time, by one timer for all."""
        with self._lock:
            if self._is_tended or not self._kept:
                return
            self._is_tended = True
            due_s = self._kept[0].kept_at + self._keep_s - time.monotonic()
        timer = threading.Timer(max(due_s, 0.0), self._tend)
        timer.daemon = True
        timer.start()

    def _tend(self) -> None:
        self.end_old()
        self._is_tended = False
        self._tend_later()

    def _find(
        self, prompt: list[int], num_tokens: int, max_wait_s: float | None, owner: str
    ) -> tuple[Conversation | None, int]:
        """Return the kept conversation of `owner` that goes on with `prompt`, and how many tokens they share.

        It must share at least half of what it has seen: another one with the same first words is left alone.
        """
        best, most = None, _MIN_SHARED - 1
        for one in self._kept:
            if one.owner != owner:
                continue
            shared = shared_tokens(one.tokens, prompt)
            is_fit = one.room >= num_tokens and one.max_wait_s == max_wait_s and 2 * shared >= len(one.tokens)
            if is_fit and shared > most:
                best, most = one, shared
        return best, most


def shared_tokens(one: list[int], other: list[int]) -> int:
    """Return how many tokens both begin with."""
    both = zip(one, other, strict=False)
    return next((index for index, (a, b) in enumerate(both) if a != b), min(len(one), len(other)))
