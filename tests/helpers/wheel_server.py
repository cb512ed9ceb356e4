"""Small wheels and a server that offers them as an index of packages does, and that can break a download; or a proxy.

It listens on loopback only. `cut_after` bytes of an answer the connection ends; `is_damaged` changes a byte.
"""

import base64
import hashlib
import zipfile
from pathlib import Path

from tests.helpers.loopback_server import LoopbackHandler, LoopbackServer


def make_wheel(folder: Path, name: str, *, version: str = "1.0", filling: bytes = b"", paths: str = "") -> Path:
    """A wheel of one module `name`; `filling` is stored beside it, `paths` are added to those of imports."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": b"answer = 42\n",
        f"{name}.pth": paths.encode(),
        f"{name}-{version}.data/data/{name}.bin": filling,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    for file, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{file},sha256={digest},{len(content)}")
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for file, content in files.items():
            archive.writestr(file, content)
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def lock(path: Path, *wheels: Path) -> Path:
    """A requirements file that fixes these wheels."""
    lines = [f"{wheel.name.split('-')[0]}==1.0 --hash=sha256:{sha256(wheel)}" for wheel in wheels]
    path.write_text("\n".join(lines) + "\n")
    return path


class WheelServer(LoopbackServer):
    """Serves the files of a folder while the context lasts."""

    def __init__(self, folder: Path) -> None:
        super().__init__(_Handler)
        self.folder = folder
        self.cut_after: int | None = None
        self.cuts_left = 0  # answers that are still to be cut
        self.is_damaged = False
        self.ranges: list[str | None] = []  # of each GET

    def url(self, wheel: Path) -> str:
        return f"{self.origin}/{wheel.name}"


class _Handler(LoopbackHandler[WheelServer]):
    def do_HEAD(self) -> None:  # noqa: N802 (its name there)
        self._head(200, self._content())

    def do_GET(self) -> None:  # noqa: N802 (its name there)
        wheels, content, start = self.owner, self._content(), self.start or 0
        wheels.ranges.append(self.headers.get("Range"))
        if start >= len(content):
            self.send_error(416)
            return
        rest = content[start:]
        self._head(200 if self.start is None else 206, rest)
        if wheels.cuts_left > 0 and wheels.cut_after is not None:
            wheels.cuts_left -= 1
            rest = rest[: wheels.cut_after]
            self.close_connection = True
        self.wfile.write(rest)

    def _content(self) -> bytes:
        content = (
            self.owner.folder / self.path.rpartition("/")[2]
        ).read_bytes()  # a proxy is asked for whole addresses
        return b"X" + content[1:] if self.owner.is_damaged else content

    def _head(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
