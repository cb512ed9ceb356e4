"""What servers of blocks do to their clients, and when: for `on_step` and `on_call` of a `BlockServer`."""

from collections.abc import Callable
from typing import Any

from helpers.block_server import BlockServer

from potluck.protocol.codes import Code, RemoteError

Misdeed = Callable[[BlockServer, Any], None]


def kill(server: BlockServer, request: object) -> None:
    server.host.kill()


def freeze(server: BlockServer, request: object) -> None:
    server.host.freeze()


def refuse(code: Code, retry_after_s: float | None = None) -> Misdeed:
    def misdeed(server: BlockServer, request: object) -> None:
        raise RemoteError(code, "not now", retry_after_s=retry_after_s)

    return misdeed


class Once:
    """A misdeed of the server that gets the nth of the requests for which `when` holds; several servers share it."""

    def __init__(
        self, misdeed: Misdeed, *, nth: int = 1, when: Callable[[BlockServer, Any], bool] = lambda server, request: True
    ) -> None:
        self.culprit: BlockServer | None = None
        self._misdeed, self._when = misdeed, when
        self._left = nth

    def __call__(self, server: BlockServer, request: object) -> None:
        if self._when(server, request):
            self._left -= 1
            if self._left == 0:
                self.culprit = server
                self._misdeed(server, request)
