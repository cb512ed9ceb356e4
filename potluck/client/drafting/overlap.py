"""Decodes one text whose drafted tokens leave before it is known whether the ones before them are right.

    this thread      lets the last known token leave, then drafts, window by window, and chooses tokens from the outputs
                     as they come
    another thread   goes on drafting from its own guesses
    a wrong draft    the right token leaves at once, and voids what left after it; drafting begins again from there

With a ring of R seconds, a drafter that is right with chance p and takes d seconds a token, a text gets 1 / (1 - p)
tokens in R + d p / (1 - p) seconds. Windows are as short as the slowest server allows, so that none waits for another.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeVar

import torch
from torch import Tensor

from potluck.client.cache import RemoteCache
from potluck.client.drafting.choosing import Chosen
from potluck.client.drafting.drafter import Drafter
from potluck.client.drafting.payoff import MAX_DRAFT, Drafted
from potluck.client.session.flight import Flight, Outputs, Window

T = TypeVar("T")

_log = logging.getLogger(__name__)

_FEWEST = 2  # windows on their way; a server of an older version takes one
_LEAST_APART = 0.02  # least time between two windows as a share of a ring; closer ones cost more than they bring
_LOOK_S = 0.25  # time between two checks whether others want to share steps


def fly(
    model: Any, drafter: Drafter, chosen: Chosen, cache: RemoteCache, prefill: Callable[[], Tensor] | None = None
) -> None:
    """Go on with a text until it ends, should share steps with others, or can't fly.

    Args:
        prefill: chooses a first token, and returns the last block's outputs for the tokens before it, [1, tokens,
            hidden_size]; drafting begins meanwhile.
    """
    ahead = _Ahead(drafter, chosen.ids[0].tolist(), chosen.config.max_length)
    try:
        if prefill is not None:
            hidden = prefill()
            ahead.go_on(chosen.ids[0].tolist(), hidden, 1)
            if chosen.is_done or not can_fly(drafter, cache, chosen):
                return
        with cache.flying() as flight:
            ahead.wake = flight.wake
            text = _Text(model, ahead, chosen, cache, flight)

            def lands() -> bool:
                """Tell whether steps should wait for each other, once no prompt is on its way."""
                is_known = cache.get_seq_length() == chosen.ids.shape[1] - 1
                is_better = model._together.may_fly(cache) and not drafter.times.is_near
                return is_known and not (is_better and flight.most_windows >= _FEWEST)

            while not (chosen.is_done or lands()):
                pause_s = text.let_leave()
                for outputs in model._client.run(flight.receive(pause_s)):
                    text.read(outputs)
    finally:
        ahead.close()


def can_fly(drafter: Drafter, cache: RemoteCache, chosen: Chosen) -> bool:
    """Tell whether the session takes windows, and has exactly the text without its last token."""
    return cache.can_fly and not drafter.times.is_near and cache.get_seq_length() == chosen.ids.shape[1] - 1


class _Text:
    """Lets the known and the drafted tokens of a text leave, and chooses the next ones from the outputs."""

    def __init__(self, model: Any, ahead: _Ahead, chosen: Chosen, cache: RemoteCache, flight: Flight) -> None:
        self._ends, self._ahead, self._chosen, self._cache, self._flight = model._ends, ahead, chosen, cache, flight
        self._left = cache.get_seq_length()  # tokens that have left
        self._turn = 0
        self._windows: deque[tuple[Window, float]] = deque()  # windows that have left, and when
        self._known_s = time.perf_counter()  # time since which the last token is known
        self._prompt: list[Tensor] = []  # outputs of the last block for a prompt, as long as they are not all here

    def let_leave(self) -> float:
        """Let known and drafted tokens leave if they may; return after how many seconds to try again."""
        known, drafted, times = self._chosen.ids.shape[1], self._ahead.tokens(), self._ahead.drafter.times
        apart_s = max(self._flight.slowest_s, _LEAST_APART * times.estimate().base_s if times.knows_plain else 0.0)
        if self._left < known:  # drafts that come at once need no window of their own
            pause_s = self._known_s + apart_s if self._ahead.is_quick(apart_s) else 0.0
        elif self._left < known + len(drafted) and len(self._windows) < self._flight.most_windows:
            pause_s = self._windows[-1][1] + apart_s if self._windows else 0.0
        else:
            return _LOOK_S
        pause_s -= time.perf_counter()
        if pause_s > 0:
            return min(pause_s, _LOOK_S)
        drafted = drafted[max(self._left - known, 0) :][: times.longest]
        tokens = [*self._chosen.ids[0, self._left :].tolist(), *drafted]
        hidden = self._ends.enter(tokens, range(self._left, self._left + len(tokens)))
        window = Window(self._left, hidden.to("cpu"), known - 1, self._turn)
        self._flight.send(window)
        self._windows.append((window, time.perf_counter()))
        self._left = window.end
        return _LOOK_S

    def read(self, outputs: Outputs) -> None:
        """Choose the tokens after those of the outputs."""
        if outputs.turn != self._turn or self._chosen.is_done:
            return
        self._record_times(outputs)
        chosen, before = self._chosen, self._chosen.ids.shape[1]
        hidden, place = outputs.hidden, before - 1 - outputs.position  # place: the last known token's
        if place >= hidden.shape[1]:  # outputs of a prompt's earlier tokens
            self._prompt.append(hidden)
            self._cache.arrived(outputs.position + hidden.shape[1])
            return
        count, line = hidden.shape[1] - place, self._ahead.tokens()
        tokens = [int(chosen.ids[0, -1]), *line[: count - 1]]
        logits = self._ends.leave(tokens, range(before - 1, before - 1 + count), hidden[:, place:])
        chosen.choose(line[: count - 1], logits, logits[0].argmax(-1).tolist())
        new = chosen.ids.shape[1] - before
        self._cache.arrived(before - 1 + new)
        self._known_s = time.perf_counter()
        hidden = torch.cat([*self._prompt, hidden[:, : place + new]], dim=1)
        self._prompt.clear()
        if not self._ahead.go_on(chosen.ids[0].tolist(), hidden, new) and self._left >= before + new:
            self._left, self._turn = before + new - 1, self._turn + 1
            self._windows.clear()

    def _record_times(self, outputs: Outputs) -> None:
        end, now, times = outputs.position + outputs.hidden.shape[1], time.perf_counter(), self._ahead.drafter.times
        if outputs.hidden.shape[1] > MAX_DRAFT and self._windows:
            times.record_prompt(outputs.hidden.shape[1], min(outputs.compute_s, now - self._windows[0][1]))
        while self._windows and self._windows[0][0].end <= end:
            window, left_s = self._windows.popleft()
            if (window.position, window.end) == (outputs.position, end) and end - window.position <= MAX_DRAFT:
                times.record(end - window.position - 1, now - left_s, outputs.compute_s)


class _Ahead:
    """Drafts in a thread of its own, which waits when no further token is worth it.

    Attributes:
        wake: called when a token was drafted, and when the thread begins to wait.
    """

    def __init__(self, drafter: Drafter, ids: Sequence[int], max_length: int) -> None:
        """Begin to draft after `ids`, up to `max_length` tokens in all."""
        self.drafter = drafter
        self.wake: Callable[[], None] = lambda: None
        self._changed = threading.Condition()
        self._line: deque[Drafted] = deque()  # drafted tokens after the known text
        self._ids = ids
        self._max_length = max_length
        self._hidden: list[Tensor] = []  # outputs for the known text that the drafter has not noted
        self._turn, self._begun = 1, 0  # grows with each text to begin from; the one from which it drafts
        self._is_stuck = False  # no further token is worth it now
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name="potluck-drafts", daemon=True)
        self._thread.start()

    def tokens(self) -> list[int]:
        """Return the drafted tokens after the known text."""
        with self._changed:
            return [token for token, _ in self._line]

    def is_quick(self, seconds: float) -> bool:
        """Tell whether more tokens are being drafted, each in a small part of so many seconds."""
        with self._changed:
            is_busy = self._begun != self._turn or (not self._is_stuck and self._has_room())
        return is_busy and not self._is_over and 2 * self.drafter.guess_s < seconds

    def go_on(self, ids: Sequence[int], hidden: Tensor, new: int) -> bool:
        """Go on with a text that has `new` more tokens; return whether all of them were drafted right.

        If not, drafting begins anew after `ids`.

        Args:
            hidden: further outputs of the last block [1, tokens, hidden_size], which reach the last token but one.
        """
        with self._changed:
            drafted = [self._line.popleft() for _ in range(min(new, len(self._line)))]
            is_right = [token for token, _ in drafted] == ids[-new:]
            self.drafter.payoff.record(drafted, new if is_right else new - 1)
            if not self._is_over:
                self._hidden.append(hidden)
            if not is_right:
                self._line.clear()
                self._turn += 1
            self._ids = ids
            self._changed.notify()
        return is_right

    def close(self) -> None:
        """End the thread, after its present guess."""
        with self._changed:
            self._is_over = True
            self._changed.notify()
        self._thread.join()
        self._record_all()

    def _run(self) -> None:
        try:
            with torch.inference_mode(), self._changed:
                self._work()
        except Exception:  # the edge of a thread: the text goes on without drafts
            _log.exception("drafting failed")
            self._is_over = True
            self.wake()

    def _work(self) -> None:
        while not self._is_over:
            if self._begun != self._turn:
                self._begin()
            elif self._is_stuck or not self._has_room():
                self.wake()
                if self.drafter.is_behind:
                    self._unlocked(self.drafter.catch_up)
                else:
                    self._changed.wait_for(self._has_work)
                if self._is_stuck:  # its chances have changed
                    self._begin()
            else:
                self._draft()

    def _begin(self) -> None:
        ids, turn, drafted = self._ids, self._turn, [token for token, _ in self._line]
        self._record_all()
        self._unlocked(lambda: self.drafter.begin(ids, drafted))
        self._begun, self._is_stuck = turn, False

    def _draft(self) -> None:
        drafter, turn, cost = self.drafter, self._turn, self.drafter.times.estimate()
        chance = prod(map(drafter.payoff.likely, self._line))
        found = self._unlocked(lambda: drafter.guess(chance, cost.draft_s + cost.token_s, waits=False))
        self._is_stuck = found is None
        if found is not None and self._turn == turn:
            self._line.append(found)
            self.wake()

    def _record_all(self) -> None:
        for hidden in self._hidden:
            self.drafter.record_hidden(hidden)
        self._hidden.clear()

    def _unlocked(self, work: Callable[[], T]) -> T:
        self._changed.release()
        try:
            return work()
        finally:
            self._changed.acquire()

    def _has_work(self) -> bool:
        if self._is_over or self._begun != self._turn:
            return True
        return bool(self._hidden) if self._is_stuck else self._has_room()

    def _has_room(self) -> bool:
        room = self._max_length - len(self._ids) - 1
        return self.drafter.times.knows_plain and len(self._line) < min(self.drafter.most, room)
