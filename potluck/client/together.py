"""Decodes the texts of several threads together: each step runs the model's ends once for the tokens of all.

    a thread has a prompt's first token  ->  its text joins; the first thread leads, the others sleep
    the leader packs the next tokens of all texts into one row  ->  one call of the family's own forward
    in place of the blocks each text's tokens go to its own session  ->  whoever is answered goes on
    the leader's text ends  ->  another thread leads

A text whose servers answer late doesn't hold up the others: its tokens stay in the packed row, and its answer counts
once it is there. Whether a family's ends compute each token for itself is found by a trial.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Generator, Sequence
from inspect import signature
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import Cache

from potluck.client.cache import RemoteCache
from potluck.client.swarm_client import SwarmClient

_log = logging.getLogger(__name__)

_TOKENS, _POSITIONS = (1, 2, 1), (3, 0, 2)  # of the trial; every model has them
_TOLERANCE = 1e-2  # of the trial's logits in bfloat16, where only the order of sums differs
_KEPT = 0.8  # of what is known of the time of a step


class Stepped(NamedTuple):
    """What the model made of the tokens of a step."""

    logits: Tensor  # [1, tokens, vocabulary]
    hidden: Tensor  # [1, tokens, hidden_size], of the last block


Decoding = Generator[Sequence[int], Stepped, None]
"""Yields the tokens of each next step, and is sent what the model made of them. Ends with the text."""


class JointCache(Cache):  # type: ignore[misc]
    """Stands for the caches of all texts in a packed step. `step` takes the place of the blocks."""

    def __init__(self, length: int = 0) -> None:
        super().__init__(layers=[])
        self._length = length

    def step(self, hidden: Tensor) -> Tensor:
        """Return the last block's outputs [1, tokens, hidden_size]; here the inputs themselves, as the trial needs."""
        return hidden

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self._length

    def get_max_length(self, layer_idx: int | None = None) -> int:
        return -1

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self._length + query_length, 0

    def has_previous_state(self, layer_idx: int | None = None, state_idx: int | None = None) -> bool:
        return True

    @property
    def is_initialized(self) -> bool:
        return True


class Together:
    """The texts of one model that are decoded together. Any thread may call `run`."""

    def __init__(self, model: Any, decoder: nn.Module, client: SwarmClient, cache_name: str) -> None:
        self._model = model
        self._client = client
        self._cache_name = cache_name
        self._takes_positions = "position_ids" in signature(decoder.forward).parameters
        self._packs: bool | None = None  # found by the trial
        self._lock = threading.Lock()
        self._texts: list[_Text] = []  # that have not ended
        self._is_led = False
        self._newcomers = asyncio.Event()
        self._step_s = 0.0  # until the first answer of a step

    def takes(self, cache: RemoteCache) -> bool:
        """Tell whether the session of `cache` can go on here: one row without padding, in a family that passes."""
        if not cache.is_together or not cache.is_one_row:
            return False
        with self._lock:
            if self._packs is None:
                self._packs = self._try_to_pack()
            return self._packs

    def run(self, steps: Decoding, cache: RemoteCache) -> None:
        """Decode a text to its end. Other threads may run its `steps` meanwhile. Raises what `steps` raises."""
        text = _Text(steps, cache)
        text.begin()
        if text.is_done:
            return text.raise_error()
        with self._lock:
            self._texts.append(text)
            leads, self._is_led = not self._is_led, True
        if not leads:
            self._client.post(self._newcomers.set)
            text.turn.acquire()
        if not text.is_done:
            self._lead(text)
        return text.raise_error()

    def _lead(self, own: _Text) -> None:
        """Decode all texts until the leader's own ends, and wake the next leader."""
        try:
            while not own.is_done:
                with self._lock:
                    texts = list(self._texts)
                self._step(texts)
                self._let_go(own)
        finally:
            if own.answer is not None:  # Ctrl-C
                self._client.post(own.answer.cancel)
            own.is_done = True
            self._let_go(own)
            with self._lock:
                heir = next(iter(self._texts), None)
                self._is_led = heir is not None
            if heir is not None:
                heir.turn.release()

    def _let_go(self, own: _Text) -> None:
        """Wake the threads whose texts have ended."""
        with self._lock:
            ended = [text for text in self._texts if text.is_done]
            self._texts = [text for text in self._texts if not text.is_done]
        for text in ended:
            if text is not own:
                text.turn.release()

    def _step(self, texts: Sequence[_Text]) -> None:
        cache = _Packed(texts, lambda inputs: self._client.run(self._answer(texts, inputs)))
        try:
            tokens = [token for text in texts for token in text.tokens]
            positions = [text.position + index for text in texts for index in range(len(text.tokens))]
            logits = self._logits(tokens, positions, cache)
        except Exception as error:  # each text's own caller raises it
            for text in texts:
                text.fail(error)
            return
        start = 0
        for text in texts:
            end = start + len(text.tokens)
            if text.is_answered:
                text.go_on(logits[:, start:end])
            start = end

    def _logits(self, tokens: Sequence[int], positions: Sequence[int], cache: JointCache) -> Tensor:
        device = self._model.device
        given: dict[str, Any] = {self._cache_name: cache, "use_cache": True, "return_dict": True}
        if self._takes_positions:
            given["position_ids"] = torch.tensor([positions], device=device)
        logits: Tensor = self._model(input_ids=torch.tensor([tokens], device=device), **given).logits
        return logits

    def _try_to_pack(self) -> bool:
        """Tell whether the ends give packed tokens the same logits as each token alone, with blocks that do nothing."""
        try:
            packed = self._logits(_TOKENS, _POSITIONS, JointCache())
            alone = [self._logits([token], [at], JointCache(at)) for token, at in zip(_TOKENS, _POSITIONS, strict=True)]
        except Exception as error:  # whatever a family's code raises, its texts are decoded one by one
            _log.debug("tokens of several texts can't share a step: %s", type(error).__name__)
            return False
        expected = torch.cat(alone, dim=1)
        difference = (packed - expected).float().norm() / expected.float().norm()
        return bool(difference < _TOLERANCE)

    async def _answer(self, texts: Sequence[_Text], inputs: Sequence[Tensor]) -> None:
        """Send what is new, and wait for answers: for the first one, and as long again for those that aren't late."""
        began_s = time.monotonic()
        self._newcomers.clear()
        for text, hidden in zip(texts, inputs, strict=True):
            if text.answer is None:
                text.answer = asyncio.ensure_future(text.cache.step_row(hidden))
        await self._wait(texts, began_s)
        for text in texts:  # an answer that comes from now on is not in the packed row
            text.is_answered = text.answer is not None and text.answer.done()

    async def _wait(self, texts: Sequence[_Text], began_s: float) -> None:
        answers = [text.answer for text in texts if text.answer is not None]
        with self._lock:
            is_joined = len(self._texts) > len(texts)  # before the event was cleared
        if is_joined:
            return  # their tokens go to the servers at once
        if not any(answer.done() for answer in answers):
            newcomer = asyncio.ensure_future(self._newcomers.wait())
            waiting: list[asyncio.Future[Any]] = [*answers, newcomer]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            newcomer.cancel()
            if not any(answer.done() for answer in answers):
                return
            first_s = time.monotonic() - began_s
            self._step_s = _KEPT * self._step_s + (1 - _KEPT) * first_s if self._step_s else first_s
        expected = [text for text in texts if text.answer is not None and not text.answer.done() and not text.is_late]
        if expected:
            await asyncio.wait([text.answer for text in expected if text.answer is not None], timeout=self._step_s)
        for text in expected:
            text.is_late = text.answer is not None and not text.answer.done()


class _Text:
    """A text that is being decoded."""

    def __init__(self, steps: Decoding, cache: RemoteCache) -> None:
        self.cache = cache
        self.turn = threading.Semaphore(0)  # its thread's: the text has ended, or the thread leads now
        self.tokens: Sequence[int] = ()  # of the step
        self.position = 0  # of the first one
        self.answer: asyncio.Future[Tensor] | None = None  # to the step; belongs to the client's event loop
        self.is_answered = False  # the answer is in the packed row
        self.is_late = False  # others have waited for it once
        self.is_done = False
        self._steps = steps
        self._error: BaseException | None = None

    def begin(self) -> None:
        self._take(lambda: next(self._steps))

    def go_on(self, logits: Tensor) -> None:
        """Choose tokens with the answer that came, or raise its error within `steps`."""
        assert self.answer is not None
        answer, self.answer, self.is_answered, self.is_late = self.answer, None, False, False
        try:
            hidden = answer.result()
        except Exception as error:
            self.fail(error)
        else:
            self._take(lambda: self._steps.send(Stepped(logits, hidden)))

    def fail(self, error: Exception) -> None:
        if not self.is_done:
            self._take(lambda: self._steps.throw(error))

    def raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _take(self, advance: Callable[[], Sequence[int]]) -> None:
        try:
            self.tokens, self.position = advance(), self.cache.get_seq_length()
        except StopIteration:
            self.is_done = True
        except BaseException as error:
            self._error, self.is_done = error, True
            if not isinstance(error, Exception):  # Ctrl-C, which ends the leader's own text, too
                raise


class _Packed(JointCache):
    """Sends the tokens of each text to its own session, with `exchange`, which waits for answers."""

    def __init__(self, texts: Sequence[_Text], exchange: Callable[[Sequence[Tensor]], None]) -> None:
        super().__init__()
        self._texts = texts
        self._exchange = exchange

    def step(self, hidden: Tensor) -> Tensor:
        parts = torch.split(hidden.to("cpu"), [len(text.tokens) for text in self._texts], dim=1)
        self._exchange(parts)
        outputs = [_output(text, part) for text, part in zip(self._texts, parts, strict=True)]
        return (outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=1)).to(hidden.device)


def _output(text: _Text, like: Tensor) -> Tensor:
    """Return what the servers answered, or `like` if the answer isn't there or is an error."""
    answer = text.answer
    if answer is None or not text.is_answered or answer.cancelled() or answer.exception() is not None:
        return like
    return answer.result()
