"""Downloads from servers that need not be trusted: a hash decides what a file is, and a broken download is continued.

An incomplete file has another name until its hash is right. A server has to answer in time and must not trickle, and
redirects stay encrypted.
"""

from __future__ import annotations

import hashlib
import http.client
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit

from potluck.errors import NetworkError, PotluckError
from potluck.p2p.listening import names_this_computer
from potluck.sentences import sentence
from potluck.unreachable import why_unreachable

T = TypeVar("T")
OnBytes = Callable[[int], None]
"""Called with the number of bytes that are here."""

_SILENCE_S = 20.0  # the longest silence of a connection
_ANSWER_S = 20.0  # limit for a server's first answer, and for the whole of a small file
_STEP_BYTES = 1 << 18  # a large file has to grow by so much ...
_STEP_S = 30.0  # ... within this time,
_TRIES = 5  # ... or within so many tries
_PAUSE_S = 1.0


def get(url: str, max_bytes: int) -> bytes:
    """Return a small file, or `max_bytes` + 1 bytes of a larger one. Raises NetworkError."""

    def read() -> bytes:
        with _open(url) as answer:
            return bytes(answer.read(max_bytes + 1))

    return _in_time(url, read)


def remote_size(url: str) -> int:
    """Return the size of a file as its server announces it; 0 if it doesn't."""

    def announced_size() -> int:
        with _open(url, method="HEAD") as answer:
            return _length(answer)

    try:
        return _in_time(url, announced_size)
    except NetworkError:
        return 0


def fetch(url: str, path: Path, sha256: str, on_bytes: OnBytes, *, num_bytes: int | None = None) -> None:
    """Fetch a file to `path`, unless it is there. An incomplete file is continued, or replaced if it was damaged.

    Fetch no more than a byte beyond `num_bytes` if that is known.

    Raises:
        NetworkError: it cannot be fetched now.
        PotluckError: it is another file than expected, and was deleted.
        OSError: the disk refuses.
    """
    part = path.with_name(f"{path.name}.part")
    if path.exists() and sha256_of(path) == sha256:
        on_bytes(path.stat().st_size)
        return
    was_begun = part.exists()
    _continue(part, url, on_bytes, num_bytes)
    if sha256_of(part) == sha256:
        part.replace(path)
        on_bytes(path.stat().st_size)
        return
    part.unlink()
    if was_begun:
        fetch(url, path, sha256, on_bytes, num_bytes=num_bytes)
        return
    raise PotluckError(
        sentence("{file} arrived damaged", file=path.name),
        hint=sentence("check whether something alters downloads, then try again: it continues where it stopped"),
    )


def sha256_of(path: Path) -> str:
    """Return the hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _continue(part: Path, url: str, on_bytes: OnBytes, num_bytes: int | None) -> None:
    """Fetch the rest of `part`. Try again as long as enough arrives."""
    left = _TRIES
    while True:
        before = _size_of(part)
        try:
            return _append_rest(part, url, on_bytes, num_bytes)
        except NetworkError as error:
            left = _TRIES if _size_of(part) >= before + _STEP_BYTES else left - 1
            reason = getattr(error.__cause__, "reason", error.__cause__)
            if left == 0 or isinstance(reason, ssl.SSLCertVerificationError):
                raise
            time.sleep(_PAUSE_S)


def _append_rest(part: Path, url: str, on_bytes: OnBytes, num_bytes: int | None) -> None:
    have = _size_of(part)
    is_whole = num_bytes is not None and have >= num_bytes
    answer = None if is_whole else _in_time(url, lambda: _open(url, have))
    if answer is None:
        return
    with answer, part.open("ab" if answer.status == http.client.PARTIAL_CONTENT else "wb") as file:
        have = file.tell()
        total = have + _length(answer) if num_bytes is None else num_bytes
        limit = float("inf") if num_bytes is None else num_bytes + 1  # one byte more shows an error
        wanted, due = have + _STEP_BYTES, time.monotonic() + _STEP_S
        while have < limit and (chunk := _read(url, answer, int(min(_STEP_BYTES, limit - have)))):
            file.write(chunk)
            have += len(chunk)
            if have >= wanted:
                on_bytes(have)
                wanted, due = have + _STEP_BYTES, time.monotonic() + _STEP_S
            elif time.monotonic() > due:
                raise _failure(url, TimeoutError("it is too slow"))
    if have < total:
        raise _failure(url, ConnectionResetError("the connection ended early"))


def _read(url: str, answer: Any, max_bytes: int) -> bytes:
    try:
        return bytes(answer.read1(max_bytes))
    except (OSError, http.client.HTTPException) as error:
        raise _failure(url, error) from error


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects that stay encrypted and don't lead to addresses that only this machine can reach."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        was_here, is_here = is_on_this_computer(req.full_url), is_on_this_computer(newurl)
        was_safe = was_here or urlsplit(req.full_url).scheme == "https"
        if (is_here and not was_here) or (was_safe and not is_here and urlsplit(newurl).scheme != "https"):
            fp.close()
            raise ConnectionError(f"it redirects to {urlsplit(newurl).netloc[:100]}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def is_on_this_computer(url: str) -> bool:
    """Return whether the URL names this computer."""
    return names_this_computer(urlsplit(url).hostname or "")


def _open(url: str, start: int = 0, method: str = "GET") -> Any:
    """Ask for a file from byte `start` on; None if the server has nothing there. Raises OSError or HTTPException."""
    named = urllib.request.getproxies()
    common = named.get("all")  # Python ignores ALL_PROXY
    proxies = {scheme: proxy for scheme in ("http", "https") if (proxy := named.get(scheme, common))}
    opener = urllib.request.build_opener(_Redirects, urllib.request.ProxyHandler(proxies))
    headers = {"Range": f"bytes={start}-"} if start else {}
    try:
        return opener.open(urllib.request.Request(url, headers=headers, method=method), timeout=_SILENCE_S)
    except HTTPError as error:
        error.close()
        if start and error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            return None  # everything is here already, or the file changed: the hash will say
        raise


def _length(answer: Any) -> int:
    """Return how many bytes the server announces; 0 if it doesn't."""
    text = answer.headers.get("Content-Length") or ""
    return int(text) if text.isdecimal() else 0


def _in_time(url: str, work: Callable[[], T]) -> T:
    """Return what `work` returns in a thread, because a server that sends a header letter by letter never times out."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except Exception as error:  # raised again below, in the thread that waits
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return done.result(_ANSWER_S)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _failure(url, error) from error


def _failure(url: str, error: Exception) -> NetworkError:
    address = urlsplit(url)
    host = address.hostname or ""
    why, advice = why_unreachable(host, error)
    return NetworkError(
        sentence(
            "{file} cannot be fetched from {host}: {why}",
            file=unquote(address.path).rpartition("/")[2],
            host=host,
            why=why,
        ),
        hint=sentence("{advice}, then try again: it continues where it stopped", advice=advice),
    )


def _size_of(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0
