"""Downloads that go on where they stopped: half a file lies under another name until it is whole.

Where a file comes from, how long that may take and what makes it trustworthy is its source's business.
"""

from __future__ import annotations

import hashlib
import http.client
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from potluck.errors import NetworkError
from potluck.sentences import sentence

_CHUNK_BYTES = 1 << 18
_PAUSE_S = 1.0

OnBytes = Callable[[int], None]
"""Called with the number of bytes that are here."""


class DownloadSource(Protocol):
    """One file on a server."""

    @property
    def num_bytes(self) -> int | None:
        """The size of the whole file; None: the server's word counts."""

    def open(self, start: int) -> Any:
        """Ask for the file from byte `start` on; None if the server has nothing beyond it. Raises NetworkError."""

    def read(self, answer: Any, max_bytes: int) -> bytes:
        """Read the next bytes, none at the end. Raises NetworkError."""

    def failure(self, error: Exception) -> NetworkError:
        """Say for people why the file cannot be had."""


def continue_download(part: Path, source: DownloadSource, on_bytes: OnBytes, *, tries: int) -> None:
    """Fetch the rest of `part`, and try again as long as something comes; never more than a byte beyond its size.

    Raises:
        NetworkError: so many tries in a row brought nothing, or the server's certificate is not trusted.
        OSError: the disk refuses.
    """
    left = tries
    while True:
        before = size_of(part)
        try:
            return _append_rest(part, source, on_bytes)
        except NetworkError as error:
            left = tries if size_of(part) > before else left - 1
            reason = getattr(error.__cause__, "reason", error.__cause__)
            if left == 0 or isinstance(reason, ssl.SSLCertVerificationError):
                raise
            time.sleep(_PAUSE_S)


def _append_rest(part: Path, source: DownloadSource, on_bytes: OnBytes) -> None:
    have, num_bytes = size_of(part), source.num_bytes
    if (num_bytes is not None and have >= num_bytes) or (answer := source.open(have)) is None:
        return
    with answer, part.open("ab" if answer.status == http.client.PARTIAL_CONTENT else "wb") as file:
        have = file.tell()
        total = have + int(answer.headers.get("Content-Length") or 0) if num_bytes is None else num_bytes
        limit = float("inf") if num_bytes is None else num_bytes + 1  # one byte more shows that it is larger than said
        while have < limit and (chunk := source.read(answer, int(min(_CHUNK_BYTES, limit - have)))):
            file.write(chunk)
            have += len(chunk)
            on_bytes(have)
    if have < total:
        raise source.failure(ConnectionResetError(sentence("the connection ended early")))


def size_of(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
