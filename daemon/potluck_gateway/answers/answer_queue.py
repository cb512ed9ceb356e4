"""Runs the work of requests in threads, in the order in which they came.

A set number of threads work, and as many requests wait. Each choice of a request is an answer of its own, so that
servers compute them together. The work of a caller that has gone ends at once, wherever it is (`CancelScope`), or never
begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from operator import methodcaller
from typing import Protocol, TypeVar

from potluck.client.loop import CancelScope
from potluck_gateway.exchange import (
    Answer,
    AnswerEvent,
    AnswerPart,
    Answers,
    BadRequestError,
    ChatRequest,
    Embeddings,
    ModelFacts,
    Prompt,
)

R = TypeVar("R")
_RETRY_AFTER_S = 5
_PREPARING = 8  # prompts at a time; none has to wait for answers


class ChatModel(Protocol):
    """A model that several threads may ask at once."""

    facts: ModelFacts

    def answer(self, request: ChatRequest, emit: Callable[[AnswerEvent], None]) -> Answer:
        """Return one answer to a request, which has messages or one prompt, whatever number of choices it asks for.

        `emit` gets each step of the answer; an OSError from it ends the generation. Raises PotluckError.
        """

    def prepare(self, request: ChatRequest) -> ChatRequest:
        """Return a request with its prompt, which needs no server. Raises PotluckError if it cannot be answered."""

    def count(self, request: ChatRequest) -> int:
        """Return how many tokens the prompt of a request has. Raises PotluckError."""

    def embed(self, texts: Sequence[Prompt], *, is_cut: bool = False) -> Embeddings:
        """Return a vector for each text. `is_cut`: for as much of it as the model takes. Raises PotluckError."""


Work = Callable[[ChatModel], R]


class AnswerQueue:
    """The threads that answer, `at_once` at a time."""

    def __init__(self, model_of: Callable[[str], Awaitable[ChatModel]], at_once: int) -> None:
        """Store the settings. `model_of` returns the model of a name, and may take long."""
        self._model_of = model_of
        self._at_once = at_once
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="answer")
        self._preparing = ThreadPoolExecutor(_PREPARING, thread_name_prefix="prepare")
        self._accepted = 0

    @property
    def num_waiting(self) -> int:
        """Return how many answers wait for others to end."""
        return max(0, self._accepted - self._at_once)

    async def answer(self, model: str, request: ChatRequest, emit: Callable[[AnswerEvent], None]) -> Answers:
        """Return the answers of all choices as `run` does. `emit` gets their steps if they are streamed."""
        loop, caller = asyncio.get_running_loop(), CancelScope()

        def pass_on(item: AnswerEvent, index: int) -> None:
            if caller.is_cancelled:
                raise BrokenPipeError("the caller is gone")
            if request.is_streamed:
                loop.call_soon_threadsafe(emit, replace(item, index=index) if isinstance(item, AnswerPart) else item)

        def answered(index: int, single: ChatRequest, chat: ChatModel) -> Answer:
            return chat.answer(single, partial(pass_on, index=index))

        prompts = [request] if request.messages else [replace(request, prompts=(one,)) for one in request.prompts]
        with self._places(len(prompts) * request.num_choices):
            prepared = [await self.prepare(model, methodcaller("prepare", one)) for one in prompts]
            choices = (_seeded(one, number) for one in prepared for number in range(request.num_choices))
            works = [partial(answered, index, single) for index, single in enumerate(choices)]
            return tuple(await self._run(model, works, caller))

    async def prepare(self, model: str, work: Work[R]) -> R:
        """Return what `work` returns, which needs no server, without waiting for answers. Raises what it raises."""
        chat = await self._model_of(model)
        return await asyncio.get_running_loop().run_in_executor(self._preparing, work, chat)

    async def run(self, model: str, work: Work[R]) -> R:
        """Return what `work` returns when its turn has come. Raises what it raises, and BadRequestError."""
        with self._places(1):
            return (await self._run(model, [work], CancelScope()))[0]

    async def _run(self, model: str, works: Sequence[Work[R]], scope: CancelScope) -> list[R]:
        """Return what each of `works` returns, in threads that work for a caller, who leaves when this ends."""

        def work_for_caller(work: Work[R]) -> R:
            with scope.entered():
                return work(chat)

        futures: list[asyncio.Future[R]] = []
        try:
            chat = await self._model_of(model)
            loop = asyncio.get_running_loop()
            futures = [loop.run_in_executor(self._threads, work_for_caller, work) for work in works]
            return await asyncio.gather(*futures)
        finally:
            scope.cancel()
            for future in futures:
                future.cancel()  # those that have not begun

    @contextmanager
    def _places(self, count: int) -> Iterator[None]:
        """Hold `count` places in the queue while the block runs. Raises BadRequestError if there is no room."""
        most = 2 * self._at_once
        if count > most:
            raise BadRequestError(f"a request may have {most} answers, its prompts times n")
        if self._accepted + count > most:
            text = f"{self._accepted} requests are being answered or wait: try again soon"
            raise BadRequestError(text, 429, "rate_limit_exceeded", retry_after_s=_RETRY_AFTER_S)
        self._accepted += count
        try:
            yield
        finally:
            self._accepted -= count


def _seeded(request: ChatRequest, number: int) -> ChatRequest:
    """Return the request for a choice, which draws from a seed of its own."""
    seed = request.sampling.seed
    return request if seed is None else replace(request, sampling=replace(request.sampling, seed=seed + number))
