"""Fetches small and large files of a publisher from a server that nobody has to trust.

A signature decides what a file is. This module limits the rest: it takes no more bytes than announced, none without
encryption except from this machine, and none from a server that only trickles.
"""

from __future__ import annotations

import http.client
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from potluck.errors import NetworkError, PotluckError, UsageError
from potluck.p2p.ports import names_this_computer
from potluck.sentences import sentence
from potluck.unreachable import why_unreachable
from potluck_daemon.downloads import OnBytes, continue_download, sha256_of

T = TypeVar("T")

_SILENCE_S = 15.0  # that a connection may be silent
_ANSWER_S = 20.0  # until a server has begun to answer, and until a small file is here
_WINDOW_S = 30.0  # in which at least this much of a large file has to arrive:
_WINDOW_BYTES = 1 << 18
_TRIES = 3  # at a large file without a byte of progress
_HINT = sentence("try again later; it continues where it stopped")


def check_address(url: str) -> None:
    """Raise UsageError unless the address has https or is on this machine."""
    address = urlsplit(url)
    is_here = address.scheme == "http" and _is_here(url)
    if not (address.scheme == "https" and address.hostname) and not is_here:
        raise UsageError(
            sentence("updates are not fetched from {host}", host=repr(url[:200])),
            hint=sentence("the address must begin with https://"),
        )


def get(url: str, max_bytes: int) -> bytes:
    """Return a small file, cut off one byte beyond `max_bytes`. Raises NetworkError or UsageError."""
    check_address(url)

    def read() -> bytes:
        with _open(url, 0) as answer:
            content: bytes = answer.read(max_bytes + 1)
            return content

    return _within(_ANSWER_S, read, url)


def fetch(url: str, path: Path, num_bytes: int, sha256: str, on_bytes: OnBytes) -> None:
    """Fetch a file to `path`. Half a file beside it is continued, or fetched anew if it was half of another one.

    Raises:
        NetworkError: it cannot be fetched now.
        PotluckError: it is not that file, and was deleted, or the disk is full.
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
    except OSError as error:  # of the disk: errors of the network are NetworkErrors
        part.unlink(missing_ok=True)
        raise PotluckError(
            sentence("the update cannot be stored: {why}", why=str(error.strerror)),
            hint=sentence("make room on the disk"),
        ) from error
    if not was_begun:
        raise PotluckError(
            sentence("the update is not the file that was signed; nothing was changed"), hint=sentence("try again")
        )
    fetch(url, path, num_bytes, sha256, on_bytes)


class _UpdateSource:
    """A file of the publisher, from a server that has to answer and must not trickle."""

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
    """The amount that arrived lately."""

    def __init__(self) -> None:
        self._began, self._bytes = time.monotonic(), 0

    def check(self, num_bytes: int) -> None:
        """Count bytes. Raises NetworkError if there were too few for too long."""
        self._bytes += num_bytes
        if time.monotonic() - self._began < _WINDOW_S:
            return
        if self._bytes < _WINDOW_BYTES:
            raise NetworkError(sentence("the update server is too slow"), hint=_HINT)
        self._began, self._bytes = time.monotonic(), 0


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Redirects that stay encrypted and don't lead to what only this machine can reach."""

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
    check_address(newurl)
    if _is_here(newurl) and not _is_here(url):
        raise UsageError(
            sentence("the update server redirects to this machine itself"),
            hint=sentence("check the setting updates.url"),
        )


def _open(url: str, start: int) -> Any:
    """Ask for a file from byte `start` on. Raises OSError, HTTPException or UsageError."""
    headers = {"Range": f"bytes={start}-"} if start else {}
    opener = urllib.request.build_opener(_Redirects)
    return opener.open(urllib.request.Request(url, headers=headers), timeout=_SILENCE_S)


def _within(seconds: float, work: Callable[[], T], url: str) -> T:
    """Do `work` in a thread: a server that sends a header letter by letter would never time out."""
    done: list[T] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            done.append(work())
        except Exception as error:  # raised again below, in the thread that waits
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
    host = urlsplit(url).hostname or ""
    why, advice = why_unreachable(host, error)
    return NetworkError(
        sentence("cannot fetch updates from {host}: {why}", host=host, why=why),
        hint=sentence("{advice}, and check the setting updates.url", advice=advice),
    )


def _is_here(url: str) -> bool:
    return names_this_computer(urlsplit(url).hostname or "")
