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
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from potluck.client.leaving import Leaving
from potluck.errors import PotluckError
from potluck_gateway.answers.answer import Answer, Answers, Embeddings, ModelFacts, Part, Told
from potluck_gateway.requests import BadRequestError, ChatRequest, Prompt

_log = logging.getLogger(__name__)

R = TypeVar("R")
MAX_WAITING = 64  # requests beside those that are being answered
_RETRY_AFTER_S = 5


class ChatModel(Protocol):
    """A model that several threads may ask at once."""

    facts: ModelFacts

    def answer(self, request: ChatRequest, tell: Callable[[Told], None]) -> Answer:
        """Return one answer to a request, which has messages or one prompt, whatever number of choices it asks for.

        `tell` hears of each step of the answer; an OSError from it ends the generation. Raises PotluckError.
        """

    def count(self, request: ChatRequest) -> int:
        """Return how many tokens the prompt of a request has. Raises PotluckError."""

    def embed(self, texts: Sequence[Prompt], *, is_cut: bool = False) -> Embeddings:
        """Return a vector for each text. `is_cut`: for as much of it as the model takes. Raises PotluckError."""


class Answering:
    """The threads that answer, `at_once` at a time."""

    def __init__(self, model_of: Callable[[str | None], ChatModel], at_once: int) -> None:
        """`model_of` returns the model that a request names, and may take long."""
        self._model_of = model_of
        self._at_once = at_once
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="answer")
        self._accepted = 0

    @property
    def num_waiting(self) -> int:
        """Return how many answers wait for others to end."""
        return max(0, self._accepted - self._at_once)

    async def parts(self, request: ChatRequest) -> AsyncIterator[Told | Answers]:
        """Yield the parts of all choices, and at last their answers. Closing the iterator ends the generation.

        Raises PotluckError, and BadRequestError if too many requests wait.
        """
        loop = asyncio.get_running_loop()
        items: asyncio.Queue[Told | tuple[int, Answer] | Exception] = asyncio.Queue()
        caller = Leaving()

        def tell(item: Told | tuple[int, Answer] | Exception) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(items.put_nowait, item)

        def put(item: Told, index: int) -> None:
            if caller.has_left:
                raise BrokenPipeError("the caller is gone")
            if request.is_streamed:
                tell(replace(item, index=index) if isinstance(item, Part) else item)

        def run(index: int, asked: ChatRequest) -> None:
            if caller.has_left:
                return
            try:
                with caller.working():
                    answer = self._model_of(request.model).answer(asked, partial(put, index=index))
                tell((index, answer))
            except BrokenPipeError:
                pass
            except PotluckError as error:
                tell(error)
            except Exception as error:
                _log.exception("an answer failed")
                tell(PotluckError(f"the gateway failed: {type(error).__name__}"))

        answers: dict[int, Answer] = {}
        choices = _choices(request)
        self._check_room(len(choices))
        for index, asked in enumerate(choices):
            self._begin(partial(run, index, asked))
        try:
            while len(answers) < len(choices):
                item = await items.get()
                if isinstance(item, Exception):
                    raise item
                if isinstance(item, tuple):
                    answers[item[0]] = item[1]
                else:
                    yield item
            yield tuple(answers[index] for index in range(len(choices)))
        finally:
            caller.leave()

    async def run(self, work: Callable[[], R]) -> R:
        """Return what `work` returns when its turn has come. Raises what it raises, and BadRequestError as `parts`."""
        caller = Leaving()

        def run() -> R:
            with caller.working():
                return work()

        self._check_room(1)
        try:
            return await self._begin(run)
        finally:
            caller.leave()

    def _check_room(self, count: int) -> None:
        """Raise BadRequestError if too many answers wait for `count` more."""
        most = self._at_once + MAX_WAITING
        if count > most:
            raise BadRequestError(f"a request may have {most} answers, its prompts times n")
        if self._accepted + count > most:
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


def _choices(request: ChatRequest) -> list[ChatRequest]:
    """Return a request for each answer, in their order. Each choice of a prompt draws from a seed of its own."""
    prompts = [replace(request, prompts=(prompt,)) for prompt in request.prompts]
    asked = [request] if request.messages else prompts
    return [_seeded(one, number) for one in asked for number in range(request.num_choices)]


def _seeded(request: ChatRequest, number: int) -> ChatRequest:
    seed = request.sampling.seed
    return request if seed is None else replace(request, sampling=replace(request.sampling, seed=seed + number))
