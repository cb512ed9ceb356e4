"""What cards need of the page People: ways to ask the daemon, and to have it change something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from potluck_control.methods.members import MembersChanged
from potluck_control.schema import Method

from potluck_app.pages.page import DaemonCaller

P = TypeVar("P")
R = TypeVar("R")


class Changing(Protocol):
    """See `PeoplePage`."""

    @property
    def link(self) -> DaemonCaller: ...

    def ask(self, method: Method[P, R], params: P | None, done: Callable[[R], None]) -> None: ...

    def change(self, method: Method[P, MembersChanged], params: P, done: str) -> None: ...

    def refresh(self) -> None: ...

    def tell(self, message: str) -> None: ...
