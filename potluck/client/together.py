"""Decodes the texts of several threads together: each step runs the model's ends once for the tokens of all.

    a thread has a prompt's first token  ->  its text joins; the first thread leads, the others sleep
    the leader packs the next tokens of all texts into one row  ->  one call of the family's own forward
    in place of the blocks each text's tokens go to its own session  ->  whoever is answered goes on
    the leader's text ends  ->  another thread leads

A text whose servers answer late doesn't hold up the others: its tokens stay in the packed row, and its answer counts
once it is there. A text that is alone flies instead (`overlap.py`).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from potluck.allowance import cores
from potluck.client.cache import RemoteCache
from potluck.client.ends import Ends
from potluck.client.leaving import ends_with_caller
from potluck.client.swarm_client import SwarmClient
from potluck.routing.pace import faded
from potluck.tasks import cancel_and_wait

_CORES_OF_A_TEXT = 4  # one that flies has a thread for the ends and one that drafts


class Stepped(NamedTuple):
    """What the model made of the tokens of a step."""

    logits: Tensor  # [1, tokens, vocabulary]
    hidden: Tensor  # [1, tokens, hidden_size], of the last block
    best: Sequence[int] = ()  # the likeliest token after each, if that is known


Decoding = Generator[Sequence[int], Stepped, None]
"""Yields the tokens of each next step, and is sent what the model made of them. Ends with the text."""


class Together:
    """The texts of one model that are decoded together. Any thread may call `run`."""

    def __init__(self, ends: Ends, client: SwarmClient) -> None:
        self._ends = ends
        self._client = client
        self._changed = threading.Condition()  # a text has ended
        self._num_decoded = 0  # texts, in whatever way
        self._texts: list[_Text] = []  # that have not ended; the thread of the first one leads
        self._newcomers = asyncio.Event()
        self._step_s = 0.0  # until the first answer of a step

    def takes(self, cache: RemoteCache) -> bool:
        """Tell whether the session of `cache` can go on here: one row without padding, in a family that passes."""
        with self._changed:
            return cache.is_together and cache.is_one_row and self._ends.packs

    def may_fly(self, cache: RemoteCache) -> bool:
        """Tell whether a text may go on in windows of its own (`overlap.py`)."""
        with self._changed:
            return not (cache.is_together and self.is_crowded) and self._ends.packs

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Count a text within this context."""
        with self._changed:
            self._num_decoded += 1
        try:
            yield
        finally:
            with self._changed:
                self._num_decoded -= 1

    @property
    def is_crowded(self) -> bool:
        """Tell whether so many texts are decoded that their steps of the ends had better be shared."""
        return self._num_decoded > max(cores() // _CORES_OF_A_TEXT, 1)

    def run(self, steps: Decoding, cache: RemoteCache) -> None:
        """Decode a text to its end. Other threads may run its `steps` meanwhile.

        Raises: what `steps` raises; BrokenPipeError if the caller leaves.
        """
        text = _Text(steps, cache)
        text.begin()
        if not text.is_done:
            with ends_with_caller(lambda: self._client.post(text.leave)):
                self._decode(text)
        if text.error is not None:
            raise text.error

    def _decode(self, own: _Text) -> None:
        """Wait until the text has ended or is the first one; then decode all texts until it has ended."""
        try:
            with self._changed:
                self._texts.append(own)
                self._client.post(self._newcomers.set)
                self._changed.wait_for(lambda: own.is_done or self._texts[0] is own)
            while not own.is_done:
                texts = list(self._texts)
                self._step(texts)
                if any(text.is_done for text in texts):
                    self._forget_ended()
        finally:
            own.is_done = True
            self._client.post(own.leave)  # after Ctrl-C
            self._forget_ended()

    def _forget_ended(self) -> None:
        with self._changed:
            self._texts = [text for text in self._texts if not text.is_done]
            self._changed.notify_all()

    def _step(self, texts: Sequence[_Text]) -> None:
        try:
            tokens = [token for text in texts for token in text.tokens]
            positions = [text.position + index for text in texts for index in range(len(text.tokens))]
            logits = self._ends.through(tokens, positions, lambda hidden: self._through_the_swarm(texts, hidden))
        except Exception as error:  # each text's own caller raises it
            for text in texts:
                text.fail(error)
            return
        best, place = logits[0].argmax(-1).tolist(), 0  # of all texts in one go
        for text in texts:
            end = place + len(text.tokens)
            text.go_on(logits[:, place:end], best[place:end])
            place = end

    def _through_the_swarm(self, texts: Sequence[_Text], hidden: Tensor) -> Tensor:
        """Send each text's part of a packed row to its session; return the outputs, or the inputs where none came."""
        parts = torch.split(hidden.to("cpu"), [len(text.tokens) for text in texts], dim=1)
        self._client.run(self._answer(texts, parts))
        outputs = [
            text.outcome if isinstance(text.outcome, Tensor) else part for text, part in zip(texts, parts, strict=True)
        ]
        return (outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=1)).to(hidden.device)

    async def _answer(self, texts: Sequence[_Text], inputs: Sequence[Tensor]) -> None:
        """Send what is new, and wait for answers: for the first one, and as long again for those that aren't late."""
        began_s = time.monotonic()
        self._newcomers.clear()
        for text, hidden in zip(texts, inputs, strict=True):
            text.send(hidden)
        await self._wait(texts, began_s)
        for text in texts:  # an answer that comes from now on is not in the packed row
            text.take_answer()

    async def _wait(self, texts: Sequence[_Text], began_s: float) -> None:
        answers = [text.answer for text in texts if text.answer is not None]
        if len(self._texts) > len(texts) or len(answers) < len(texts):
            return  # newcomers since, whose tokens go to the servers at once; or some answers are there already
        if not any(answer.done() for answer in answers):
            newcomer = asyncio.ensure_future(self._newcomers.wait())
            await asyncio.wait([*answers, newcomer], return_when=asyncio.FIRST_COMPLETED)
            await cancel_and_wait(newcomer)
            if not any(answer.done() for answer in answers):
                return
            self._step_s = faded(self._step_s, time.monotonic() - began_s)
        expected = {text.answer: text for text in texts if text.answer is not None and not text.is_late}
        if expected:
            _, late = await asyncio.wait(expected, timeout=self._step_s)
            for answer in late:
                expected[answer].is_late = True


class _Text:
    """A text that is being decoded. What is about its answer belongs to the client's event loop."""

    def __init__(self, steps: Decoding, cache: RemoteCache) -> None:
        self.tokens: Sequence[int] = ()  # of the step
        self.position = 0  # of the first one
        self.answer: asyncio.Task[Tensor] | None = None  # to the step, unless it is in `outcome`
        self.outcome: Tensor | BaseException | None = None  # of the step, for which the thread that leads has waited
        self.is_late = False  # others have waited for the answer once
        self.is_done = False
        self.error: BaseException | None = None
        self._cache = cache
        self._steps = steps
        self._has_left = False

    def begin(self) -> None:
        self._take(lambda: next(self._steps))

    def send(self, hidden: Tensor) -> None:
        """Send the step, unless its answer is awaited already, or there: the thread that led before was interrupted."""
        if self.answer is None and self.outcome is None:
            self.answer = asyncio.ensure_future(self._cache.step_rows(hidden))
            if self._has_left:
                self.answer.cancel()

    def leave(self) -> None:
        """End the text with this step."""
        self._has_left = True
        if self.answer is not None:
            self.answer.cancel()

    def take_answer(self) -> None:
        if self.answer is None or not self.answer.done():
            return
        if self.answer.cancelled():
            self.outcome = BrokenPipeError("the caller is gone")
        else:
            self.outcome = self.answer.exception() or self.answer.result()
        self.answer, self.is_late = None, False

    def go_on(self, logits: Tensor, best: Sequence[int]) -> None:
        """Choose tokens with the answer that came, or raise its error within `steps`; wait if none came."""
        outcome, self.outcome = self.outcome, None
        if isinstance(outcome, Tensor):
            self._take(lambda: self._steps.send(Stepped(logits, outcome, best)))
        elif outcome is not None:
            self.fail(outcome)

    def fail(self, error: BaseException) -> None:
        if not self.is_done:
            self._take(lambda: self._steps.throw(error))

    def _take(self, advance: Callable[[], Sequence[int]]) -> None:
        try:
            self.tokens, self.position = advance(), self._cache.get_seq_length()
        except StopIteration:
            self.is_done = True
        except BaseException as error:
            self.error, self.is_done = error, True
            if not isinstance(error, Exception):  # Ctrl-C, which ends the leader's own text, too
                raise
