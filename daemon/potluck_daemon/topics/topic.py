"""The base of all topics: methods of the control API that they answer, a tick, a notice and an end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from potluck_control.api.method import Method

from potluck.sentences import NOTHING, Sentence
from potluck.tasks import BackgroundTasks
from potluck_daemon.control.server import Handler
from potluck_daemon.parts import Parts

T = TypeVar("T")
P = TypeVar("P")
R = TypeVar("R")
_MARK = "answered_method"


def answers(method: Method[P, R]) -> Callable[[Callable[[T, P], Awaitable[R]]], Callable[[T, P], Awaitable[R]]]:
    """Return a decorator that marks a topic's function as the one that answers `method` of the control API."""

    def mark(function: Callable[[T, P], Awaitable[R]]) -> Callable[[T, P], Awaitable[R]]:
        setattr(function, _MARK, method.name)
        return function

    return mark


class Topic:
    """One group of methods. It is made once, before the daemon runs.

    Attributes:
        tasks: work of this topic that goes on after an answer.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._configuration = parts.configuration
        self._supervisor = parts.supervisor
        self.tasks = BackgroundTasks()

    def handlers(self) -> dict[str, Handler]:
        """Return the functions that answer methods, by the method's name."""
        marked: dict[str, Any] = {
            name: getattr(item, _MARK) for name, item in vars(type(self)).items() if hasattr(item, _MARK)
        }
        return {method: getattr(self, name) for name, method in marked.items()}

    def tick(self, now: float) -> None:
        """Do what is due. The daemon calls this every few seconds. `now`: Unix seconds."""

    @property
    def notice(self) -> Sentence:
        """The sentence that the status shows about this topic; empty if there is none."""
        return NOTHING

    async def close(self) -> None:
        """End the work that goes on."""
        await self.tasks.cancel()
