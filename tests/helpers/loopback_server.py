"""What the small web servers of tests have in common: a port of their own on loopback, and a thread that answers."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

S = TypeVar("S", bound="LoopbackServer")


class LoopbackServer:
    """Answers while the context lasts, as `handler` does, which finds this object as its `owner`."""

    def __init__(self, handler: type[LoopbackHandler[Any]]) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.owner = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def origin(self) -> str:
        """The address of everything here."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class LoopbackHandler(BaseHTTPRequestHandler, Generic[S]):
    """One connection to a server of kind `S`; says nothing on standard error."""

    @property
    def owner(self) -> S:
        return cast(S, self.server.owner)  # type: ignore[attr-defined]

    @property
    def start(self) -> int | None:
        """From which byte on the client wants the file; None: from the first, and it did not say so."""
        wanted = self.headers.get("Range")
        return int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted else None

    def log_message(self, *_: Any) -> None:
        pass
