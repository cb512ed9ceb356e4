"""Runs answers in threads and passes on their parts as they come.

A set number of threads answer, and the requests beyond wait in the order in which they came, up to a limit. An answer
whose caller is gone ends at its next part, or never begins.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeVar

from potluck.errors import PotluckError
from potluck_gateway.embedding_format import Embeddings
from potluck_gateway.requests import Answer, BadRequestError, ChatRequest

_log = logging.getLogger(__name__)

R = TypeVar("R")
MAX_WAITING = 64  # requests beside those that are being answered
_RETRY_AFTER_S = 5


class ChatModel(Protocol):
    """A model that several threads may ask at once."""

    name: str

    def answer(self, request: ChatRequest, on_text: Callable[[str], None], on_wait: Callable[[str], None]) -> Answer:
        """Return the answer to a request.

        `on_text` is called with each new part of the text, `on_wait` with a sentence when the answer has to wait for
        servers; an OSError from them ends the generation. Raises PotluckError.
        """

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return a vector for each text. Raises PotluckError."""


@dataclass(frozen=True, slots=True)
class Part:
    """New text of an answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A sentence that says what an answer waits for."""

    sentence: str


class Answering:
    """The threads that answer, `at_once` at a time."""

    def __init__(self, model: ChatModel, at_once: int) -> None:
        self._model = model
        self._most = at_once + MAX_WAITING
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="answer")
        self._accepted = 0

    async def parts(self, request: ChatRequest) -> AsyncIterator[Part | Waiting | Answer]:
        """Yield the parts of an answer, and at last the whole. Closing the iterator ends the generation.

        Raises PotluckError, and BadRequestError if too many requests wait.
        """
        loop = asyncio.get_running_loop()
        items: asyncio.Queue[Part | Waiting | Answer | Exception] = asyncio.Queue()
        is_gone = threading.Event()

        def tell(item: Part | Waiting | Answer | Exception) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(items.put_nowait, item)

        def put(part: Part | Waiting) -> None:
            if is_gone.is_set():
                raise BrokenPipeError("the caller is gone")
            tell(part)

        def run() -> None:
            if is_gone.is_set():
                return
            try:
                tell(self._model.answer(request, lambda text: put(Part(text)), lambda said: put(Waiting(said))))
            except BrokenPipeError:
                pass
            except PotluckError as error:
                tell(error)
            except Exception as error:
                _log.exception("an answer failed")
                tell(PotluckError(f"the gateway failed: {type(error).__name__}"))

        self._begin(run)
        try:
            while True:
                item = await items.get()
                if isinstance(item, Exception):
                    raise item
                yield item
                if isinstance(item, Answer):
                    return
        finally:
            is_gone.set()

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return the embeddings of texts. Raises PotluckError, and BadRequestError if too many requests wait."""
        return await self._begin(lambda: self._model.embed(texts))

    def _begin(self, work: Callable[[], R]) -> asyncio.Future[R]:
        """Run `work` in a thread when its turn comes. Raises BadRequestError if too many requests wait."""
        if self._accepted >= self._most:
            raise BadRequestError(
                f"{self._accepted} requests are waiting already: try again soon",
                429,
                "rate_limit_exceeded",
                retry_after_s=_RETRY_AFTER_S,
            )
        self._accepted += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        future.add_done_callback(self._note_end)
        return future

    def _note_end(self, _: object) -> None:
        self._accepted -= 1
