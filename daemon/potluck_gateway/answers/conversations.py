"""Keeps sessions between the turns of conversations, so that servers compute only what is new in a turn.

A request brings a whole conversation. Its session is found by the messages and the tokens that it begins with, among
those of the same key: a quick answer would tell one user what another has asked. Few sessions are kept, and not for
long, because servers hold memory for each; one that a server ended is made again by the library.

Marks name what a conversation says up to a message, and by whose key. They are the same however a program sends it
back: without thinking, with other ids, with other white space around a text.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import accumulate
from typing import Any

import torch

from potluck.client import Session
from potluck_gateway.exchange import ChatMessage, ChatRequest

MAX_KEPT = 16  # enough for the agents of one person; servers move idle sessions out of their way
KEEP_S = 300.0  # people who read and write an answer take less
_MARK_BYTES = 16
_log = logging.getLogger(__name__)
_MOST_THOUGHTS = 512


@dataclass(slots=True, eq=False)
class Conversation:
    """An open session and the tokens [tokens] that it has seen.

    Attributes:
        opened: the model's context that closes the session.
        room: how many tokens it takes.
        terms: whose it is, and how long it waits for blocks that nobody serves.
        mark: of the messages that it has answered; None for a prompt without messages.
        kept_at: on the monotonic clock.
    """

    session: Session
    opened: AbstractContextManager[Session]
    room: int
    terms: tuple[str, float | None]
    tokens: torch.Tensor
    mark: bytes | None = None
    kept_at: float = 0.0

    def close(self) -> None:
        """Close the session."""
        self.opened.__exit__(None, None, None)


class Conversations:
    """The sessions that are kept. Several threads may use it; each has a conversation to itself while it answers."""

    def __init__(self, model: Any, *, max_kept: int = MAX_KEPT, keep_s: float = KEEP_S):
        self._model = model
        self._max_kept = max_kept
        self._keep_s = keep_s
        self._kept: list[Conversation] = []  # the newest is last
        self._lock = threading.Lock()
        self._has_closer = False  # a thread closes old sessions

    def begin(self, prompt: torch.Tensor, num_tokens: int, request: ChatRequest) -> Conversation:
        """Return a session that has seen as much as possible of `prompt` [tokens], but not its last token.

        `num_tokens`: how many prompt and answer may have together.
        """
        marks, terms = marks_of(request), (request.owner, request.max_wait_s)
        with self._lock:
            fit = [one for one in self._kept if one.terms == terms and one.room >= num_tokens]
            found, shared = _best_match(fit, prompt, marks)
            if found is not None:
                self._kept.remove(found)
        if found is None:
            room = max(num_tokens, min(2 * num_tokens, self._model.longest_session()))
            opened = self._model.session(max_length=room, max_wait_s=terms[1], together=True, sharing=terms[0])
            found = Conversation(opened.__enter__(), opened, room, terms, prompt)
        else:
            try:
                found.session.rewind(min(shared, len(prompt) - 1))
            except BaseException:
                found.close()
                raise
        found.tokens, found.mark = prompt, marks[-1] if marks else None
        return found

    def keep(self, conversation: Conversation, answer: Sequence[int]) -> None:
        """Keep a session for the next turn. The session may lack the end of `answer`."""
        tokens = torch.cat([conversation.tokens, torch.tensor(answer, dtype=torch.int64)])
        conversation.tokens = tokens[: conversation.session.position]
        conversation.kept_at = time.monotonic()
        with self._lock:
            self._kept.append(conversation)
            has_closer, self._has_closer = self._has_closer, True
        self._end_old()
        if not has_closer:
            threading.Thread(target=self._close_in_time, daemon=True).start()

    def _end_old(self) -> None:
        """Close the sessions that were kept for too long, and the oldest ones if there are too many."""
        until = time.monotonic() - self._keep_s
        with self._lock:
            young = [one for one in self._kept if one.kept_at > until][-self._max_kept :]
            old = [one for one in self._kept if one not in young]
            self._kept = young
        for conversation in old:
            try:
                conversation.close()
            except Exception:
                _log.exception("an old session cannot be closed")

    def _close_in_time(self) -> None:
        """Close each session when its time has come, until none is kept."""
        while True:
            with self._lock:
                self._has_closer = bool(self._kept)
                if not self._kept:
                    return
                due_s = self._kept[0].kept_at + self._keep_s - time.monotonic()
            time.sleep(max(due_s, 0.0))
            self._end_old()


class RememberedThinking:
    """The thinking of the newest answers, for programs that don't send it back. Any thread may use it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, str] = OrderedDict()  # the mark of an answer -> its thinking

    def remember(self, request: ChatRequest, answer: ChatMessage) -> None:
        """Remember the thinking of the answer to a request."""
        if request.messages and answer.thinking:
            self._kept[_next_mark(marks_of(request)[-1], answer)] = answer.thinking
            if len(self._kept) > _MOST_THOUGHTS:
                self._kept.popitem(last=False)

    def restored(self, request: ChatRequest) -> ChatRequest:
        """Return a request with the thinking of the answers that came back without."""
        both = zip(request.messages, map(self._kept.get, marks_of(request)), strict=True)
        messages = (replace(one, thinking=known) if known and not one.thinking else one for one, known in both)
        return replace(request, messages=tuple(messages))


def marks_of(request: ChatRequest) -> list[bytes]:
    """Return the mark of each message of a request."""
    return list(accumulate(request.messages, _next_mark, initial=request.owner.encode()))[1:]


def _next_mark(before: bytes, message: ChatMessage) -> bytes:
    calls = (text for call in message.calls for text in (call.name, _canonical(call.arguments)))
    content = "\0".join((message.role, message.content.strip(), *calls))
    return blake2b(content.encode(errors="replace"), key=before, digest_size=_MARK_BYTES).digest()


def _canonical(arguments: str) -> str:
    """Return arguments in the one form that all ways to write the same JSON have."""
    try:
        return json.dumps(json.loads(arguments, parse_float=_number), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


def _number(text: str) -> float:
    """Return a number as JavaScript writes it, which knows no 1.0."""
    return int(value) if (value := float(text)).is_integer() else value


def _best_match(
    kept: Sequence[Conversation], prompt: torch.Tensor, marks: Sequence[bytes]
) -> tuple[Conversation | None, int]:
    """Return the conversation that goes on with `prompt`, and how many tokens they share.

    One whose messages aren't all there again must share half of what it has seen, because the rest is lost: another
    conversation with the same first words is left alone. Nobody misses the rest of one that goes on, such as thinking
    that a template shows no longer.
    """
    best, most = None, 0
    for one in kept:
        shared = shared_tokens(one.tokens, prompt)
        if shared > most and (one.mark in marks or 2 * shared >= len(one.tokens)):
            best, most = one, shared
    return best, most


def shared_tokens(one: torch.Tensor, other: torch.Tensor) -> int:
    """Return how many tokens both begin with. Shapes: [tokens] each, int64."""
    most = min(len(one), len(other))
    differs = (one[:most] != other[:most]).nonzero()
    return int(differs[0]) if len(differs) else most
