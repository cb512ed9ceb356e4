"""Runs answers in threads and passes on their parts as they come.

A set number of threads answer, and the requests beyond wait in the order in which they came, up to a limit. Each
choice of a request is an answer of its own, so that servers compute them together. An answer whose caller is gone ends
at once, wherever it is (`Leaving`), or never begins.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from potluck.client.leaving import Leaving
from potluck.errors import PotluckError
from potluck.sentences import Sentence
from potluck_gateway.answers.answer import Answer, Answers, OnWait, Part
from potluck_gateway.formats.embeddings import Embeddings
from potluck_gateway.requests import BadRequestError, ChatRequest

_log = logging.getLogger(__name__)

R = TypeVar("R")
MAX_WAITING = 64  # requests beside those that are being answered
_RETRY_AFTER_S = 5


class ChatModel(Protocol):
    """A model that several threads may ask at once."""

    def answer(self, request: ChatRequest, on_part: Callable[[Part], None], on_wait: OnWait) -> Answer:
        """Return one answer to a request, whatever number of choices it asks for.

        `on_part` is called with each new part of the text, `on_wait` with a sentence when the answer has to wait for
        servers; an OSError from them ends the generation. Raises PotluckError.
        """

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return a vector for each text. Raises PotluckError."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A sentence that says what an answer waits for."""

    sentence: Sentence


class Answering:
    """The threads that answer, `at_once` at a time."""

    def __init__(self, model_of: Callable[[str | None], ChatModel], at_once: int) -> None:
        """`model_of` returns the model that a request names, and may take long."""
        self._model_of = model_of
        self._most = at_once + MAX_WAITING
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="answer")
        self._accepted = 0

    async def parts(self, request: ChatRequest) -> AsyncIterator[Part | Waiting | Answers]:
        """Yield the parts of all choices, and at last their answers. Closing the iterator ends the generation.

        Raises PotluckError, and BadRequestError if too many requests wait.
        """
        loop = asyncio.get_running_loop()
        items: asyncio.Queue[Part | Waiting | tuple[int, Answer] | Exception] = asyncio.Queue()
        caller = Leaving()

        def tell(item: Part | Waiting | tuple[int, Answer] | Exception) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(items.put_nowait, item)

        def put(part: Part | Waiting) -> None:
            if caller.has_left:
                raise BrokenPipeError("the caller is gone")
            if request.is_streamed:
                tell(part)

        def run(index: int) -> None:
            if caller.has_left:
                return
            try:
                with caller.working():
                    answer = self._model_of(request.model).answer(
                        _choice(request, index),
                        lambda part: put(replace(part, index=index)),
                        lambda said: put(Waiting(said)),
                    )
                tell((index, answer))
            except BrokenPipeError:
                pass
            except PotluckError as error:
                tell(error)
            except Exception as error:
                _log.exception("an answer failed")
                tell(PotluckError(f"the gateway failed: {type(error).__name__}"))

        answers: dict[int, Answer] = {}
        self._check_room(request.num_choices)
        for index in range(request.num_choices):
            self._begin(partial(run, index))
        try:
            while len(answers) < request.num_choices:
                item = await items.get()
                if isinstance(item, Exception):
                    raise item
                if isinstance(item, tuple):
                    answers[item[0]] = item[1]
                else:
                    yield item
            yield tuple(answers[index] for index in range(request.num_choices))
        finally:
            caller.leave()

    async def embed(self, name: str | None, texts: Sequence[str]) -> Embeddings:
        """Return the embeddings of texts. Raises PotluckError, and BadRequestError if too many requests wait."""
        caller = Leaving()

        def run() -> Embeddings:
            with caller.working():
                return self._model_of(name).embed(texts)

        self._check_room(1)
        try:
            return await self._begin(run)
        finally:
            caller.leave()

    def _check_room(self, count: int) -> None:
        """Raise BadRequestError if too many answers wait for `count` more."""
        if self._accepted + count > self._most:
            raise BadRequestError(
                f"{self._accepted} requests are waiting already: try again soon",
                429,
                "rate_limit_exceeded",
                retry_after_s=_RETRY_AFTER_S,
            )

    def _begin(self, work: Callable[[], R]) -> asyncio.Future[R]:
        """Run `work` in a thread when its turn comes."""
        self._accepted += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        future.add_done_callback(self._note_end)
        return future

    def _note_end(self, _: object) -> None:
        self._accepted -= 1


def _choice(request: ChatRequest, index: int) -> ChatRequest:
    """Return the request for one of the choices. Each draws from a seed of its own."""
    return request if request.seed is None else replace(request, seed=request.seed + index)
