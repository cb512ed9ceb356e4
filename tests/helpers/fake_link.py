"""A way to the daemon that answers when the test says so, beside the real one in `potluck_app.shell.link`."""

from collections.abc import Callable
from typing import Any

from potluck_control.api.schema import Method

from potluck.errors import PotluckError


class FakeLink:
    """`calls` in order; an answer given in `answers` comes at once, others when `answer` or `fail` is called.

    `failure`: what fails all calls that have no answer, at once.
    """

    def __init__(self, answers: dict[str, object] | None = None, failure: PotluckError | None = None) -> None:
        self._failure = failure
        self.calls: list[tuple[str, object]] = []
        self.answers = dict(answers or {})
        self._waiting: dict[str, tuple[Callable[[Any], None] | None, Callable[[PotluckError], None] | None]] = {}

    def call(
        self,
        method: Method[Any, Any],
        params: object,
        *,
        done: Callable[[Any], None] | None = None,
        failed: Callable[[PotluckError], None] | None = None,
    ) -> None:
        self.calls.append((method.name, params))
        self._waiting[method.name] = (done, failed)
        if method.name in self.answers:
            self.answer(method.name, self.answers[method.name])
        elif self._failure is not None:
            self.fail(method.name, self._failure)

    def answer(self, name: str, result: object) -> None:
        done, _ = self._waiting.pop(name)
        if done is not None:
            done(result)

    def fail(self, name: str, error: PotluckError) -> None:
        _, failed = self._waiting.pop(name)
        if failed is not None:
            failed(error)

    def named(self, name: str) -> list[object]:
        """Parameters of all calls of a method."""
        return [params for called, params in self.calls if called == name]
