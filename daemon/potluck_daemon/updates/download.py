"""Small and large files of a publisher, from a server that is not trusted to send them.

What is signed decides what a file is; here is how much of it is taken, from where, and how long it may take: never more
bytes than were said, never from an address without encryption but on this machine, never a server that only trickles.
"""

from __future__ import annotations

import http.client
import ipaddress
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from potluck.errors import NetworkError, PotluckError, UsageError
from potluck_daemon.downloads import OnBytes, continue_download, sha256_of

T = TypeVar("T")

_SILENCE_S = 15.0  # of a connection
_ANSWER_S = 20.0  # until a server has begun to answer, and until a small file is here
_WINDOW_S = 30.0  # in which at least so much of a large file has to come:
_WINDOW_BYTES = 1 << 18
_TRIES = 3  # at a large file, without a byte of progress between them
_HINT = "try again later; it goes on where it stopped"


def check_address(url: str) -> None:
    """Raises UsageError for what is neither https nor on this machine."""
    address = urlsplit(url)
    is_here = address.scheme == "http" and _is_loopback(address.hostname or "")
    if not (address.scheme == "https" and address.hostname) and not is_here:
        raise UsageError(f"updates are not fetched from {url[:200]!r}", hint="the address has to begin with https://")


def get(url: str, max_bytes: int) -> bytes:
    """A small file; one byte more than `max_bytes` if there is more. Raises NetworkError or UsageError."""
    check_address(url)

    def read() -> bytes:
        with _open(url, 0) as answer:
            content: bytes = answer.read(max_bytes + 1)
            return content

    return _within(_ANSWER_S, read, url)


def fetch(url: str, path: Path, num_bytes: int, sha256: str, on_bytes: OnBytes) -> None:
    """Have `path` be that file; half a file beside it is continued, and fetched anew if it was half of another one.

    Raises:
        NetworkError: it cannot be fetched now.
        PotluckError: it is not that file and was thrown away, or the disk is full.
    """
    check_address(url)
    part = path.with_name(f"{path.name}.part")
    try:
        was_begun = part.exists()
        continue_download(part, _UpdateSource(url, num_bytes), on_bytes, tries=_TRIES)
        if part.stat().st_size == num_bytes and sha256_of(part) == sha256:
            part.replace(path)
            return
        part.unlink()
    except OSError as error:  # of the disk; those of the network have become NetworkError
        part.unlink(missing_ok=True)
        raise PotluckError(f"the update cannot be stored: {error.strerror}", hint="make room on the disk") from error
    if not was_begun:
        raise PotluckError("the update is not the file that was signed; nothing was changed", hint="try again")
    fetch(url, path, num_bytes, sha256, on_bytes)


class _UpdateSource:
    """A file of the publisher; never more bytes than were signed, from a server that answers and does not trickle."""

    def __init__(self, url: str, num_bytes: int) -> None:
        self.num_bytes = num_bytes
        self._url = url
        self._window = _Window()

    def open(self, start: int) -> Any:
        self._window = _Window()
        return _within(_ANSWER_S, lambda: _open(self._url, start), self._url)

    def read(self, answer: Any, max_bytes: int) -> bytes:
        try:
            chunk = bytes(answer.read1(max_bytes))
        except (OSError, http.client.HTTPException) as error:
            raise self.failure(error) from error
        self._window.check(len(chunk))
        return chunk

    def failure(self, error: Exception) -> NetworkError:
        return _unreachable(self._url, error)


class _Window:
    """How much came lately."""

    def __init__(self) -> None:
        self._began, self._bytes = time.monotonic(), 0

    def check(self, num_bytes: int) -> None:
        """Raises NetworkError."""
        self._bytes += num_bytes
        if time.monotonic() - self._began < _WINDOW_S:
            return
        if self._bytes < _WINDOW_BYTES:
            raise NetworkError("the server only trickles", hint=_HINT)
        self._began, self._bytes = time.monotonic(), 0


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Elsewhere under the same rule: never away from encryption, never to what only this machine reaches."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        try:
            _check_redirect(req.full_url, newurl)
        except UsageError:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_redirect(url: str, newurl: str) -> None:
    """Raises UsageError."""
    check_address(newurl)
    if _is_loopback(urlsplit(newurl).hostname or "") and not _is_loopback(urlsplit(url).hostname or ""):
        raise UsageError("the server of updates leads to this machine itself", hint="see the setting updates.url")


def _open(url: str, start: int) -> Any:
    """Raises OSError, HTTPException or UsageError."""
    headers = {"Range": f"bytes={start}-"} if start else {}
    opener = urllib.request.build_opener(_Redirects)
    return opener.open(urllib.request.Request(url, headers=headers), timeout=_SILENCE_S)


def _within(seconds: float, work: Callable[[], T], url: str) -> T:
    """`work` in a thread: a server that sends a header a letter at a time is silent at no moment."""
    done: list[T] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            done.append(work())
        except Exception as error:  # raised again below, where somebody waits for it
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if done:
        return done[0]
    error = failed[0] if failed else TimeoutError("it does not answer in time")
    if isinstance(error, PotluckError):
        raise error
    if isinstance(error, OSError | http.client.HTTPException | ValueError):
        raise _unreachable(url, error) from error
    raise error


def _unreachable(url: str, error: Exception) -> NetworkError:
    if isinstance(error, urllib.error.HTTPError):
        error.close()
    reason = getattr(error, "reason", None) or error
    text = f"updates cannot be had from {urlsplit(url).hostname}: {reason or type(error).__name__}"
    return NetworkError(text, hint="see that this computer has a network, and the setting updates.url")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
