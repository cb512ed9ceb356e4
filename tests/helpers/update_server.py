"""A web server of updates on loopback, signed by the publisher's own tool; and everything it can do wrong."""

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from installer.release import MANIFEST, load_key, new_key, release
from tests.helpers.loopback_server import LoopbackHandler, LoopbackServer

Answer = Callable[["Handler", bytes], None]
"""How a file is sent: by this handler, with this content."""


class UpdateServer(LoopbackServer):
    """Serves the files of a folder while the context lasts; `answers`: those that are not sent as they are, by name."""

    def __init__(self, folder: Path) -> None:
        super().__init__(Handler)
        self.folder = folder
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.is_closing = threading.Event()
        self.key = new_key(folder / "publisher.key")

    @property
    def url(self) -> str:
        """Of the description."""
        return self.url_of(MANIFEST)

    def url_of(self, name: str) -> str:
        return f"{self.origin}/{name}"

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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.is_closing.set()
        super().__exit__(kind, error, tb)


class Handler(LoopbackHandler[UpdateServer]):
    def do_GET(self) -> None:  # noqa: N802 (its name there)
        name = self.path.lstrip("/")
        self.owner.asked.append(name)
        path = self.owner.folder / name
        if not path.is_file() or name.endswith(".key"):
            self.send_error(404)
            return
        answer = self.owner.answers.get(name, Handler.send)
        answer(self, path.read_bytes())

    def send(self, content: bytes) -> None:
        """As servers do, from where the client has it already."""
        start = self.start or 0
        self.send_response(200 if self.start is None else 206)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start:])


def changed(handler: Handler, content: bytes) -> None:
    """One bit in the middle is another."""
    middle = len(content) // 2
    handler.send(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])


def truncated(handler: Handler, content: bytes) -> None:
    """Always the same half, as if it were all."""
    handler.send(content[: len(content) // 2])


def cut(handler: Handler, content: bytes) -> None:
    """The connection ends after half of what was announced; the next one goes on."""
    handler.owner.answers.clear()
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
        while not handler.owner.is_closing.is_set():
            handler.wfile.write(bytes(1 << 16))
    except OSError:
        pass  # the client has left, as it should


def hangs(handler: Handler, content: bytes) -> None:
    """Takes the question and says nothing."""
    handler.owner.is_closing.wait()


def trickles(handler: Handler, content: bytes) -> None:
    """A byte now and then."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    try:
        for byte in content:
            handler.wfile.write(bytes([byte]))
            if handler.owner.is_closing.wait(0.05):
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
