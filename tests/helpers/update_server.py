"""A web server of updates on loopback, signed by the publisher's own tool; and everything it can do wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from installer.release import MANIFEST, load_key, new_key, release

Answer = Callable[["Handler", bytes], None]
"""How a file is sent: by this handler, with this content."""


class UpdateServer:
    """Serves the files of a folder while the context lasts; `answers`: those that are not sent as they are, by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.is_closing = threading.Event()
        self.key = new_key(folder / "publisher.key")
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.updates = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """Of the description."""
        return self.url_of(MANIFEST)

    def url_of(self, name: str) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/{name}"

    @property
    def settings(self) -> str:
        """What a user sets to trust this publisher."""
        return f'[updates]\nurl = "{self.url}"\nkey = "{self.key}"\n'

    def publish(self, version: str, *, key: str = "publisher.key", next_key: str = "") -> None:
        """Sign what lies in the folder."""
        release(self.folder, version, ["faster"], load_key(self.folder / key), next_key=next_key)

    def signed(self) -> dict[str, bytes]:
        """The description and its signature, to be shown again later."""
        return {name: (self.folder / name).read_bytes() for name in (MANIFEST, f"{MANIFEST}.sig")}

    def __enter__(self) -> UpdateServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.is_closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Handler(BaseHTTPRequestHandler):
    @property
    def updates(self) -> UpdateServer:
        found: UpdateServer = self.server.updates  # type: ignore[attr-defined]
        return found

    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        self.updates.asked.append(name)
        path = self.updates.folder / name
        if not path.is_file() or name.endswith(".key"):
            self.send_error(404)
            return
        answer = self.updates.answers.get(name, Handler.send)
        answer(self, path.read_bytes())

    def send(self, content: bytes) -> None:
        """As servers do, from where the client has it already."""
        wanted = self.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted else 0
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start:])

    def log_message(self, *_: Any) -> None:
        pass


def changed(handler: Handler, content: bytes) -> None:
    """One bit in the middle is another."""
    middle = len(content) // 2
    handler.send(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])


def truncated(handler: Handler, content: bytes) -> None:
    """Always the same half, as if it were all."""
    handler.send(content[: len(content) // 2])


def cut(handler: Handler, content: bytes) -> None:
    """The connection ends after half of what was announced; the next one goes on."""
    handler.updates.answers.clear()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content[: len(content) // 2])
    handler.close_connection = True


def larger(handler: Handler, content: bytes) -> None:
    """More and more of it, without an end."""
    handler.send_response(200)
    handler.end_headers()
    try:
        handler.wfile.write(content)
        while not handler.updates.is_closing.is_set():
            handler.wfile.write(bytes(1 << 16))
    except OSError:
        pass  # the client has left, as it should


def hangs(handler: Handler, content: bytes) -> None:
    """Takes the question and says nothing."""
    handler.updates.is_closing.wait()


def trickles(handler: Handler, content: bytes) -> None:
    """A byte now and then."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    try:
        for byte in content:
            handler.wfile.write(bytes([byte]))
            if handler.updates.is_closing.wait(0.05):
                return
    except OSError:
        pass


def redirects(to: str) -> Answer:
    """To there."""

    def answer(handler: Handler, content: bytes) -> None:
        handler.send_response(302)
        handler.send_header("Location", to)
        handler.end_headers()

    return answer
