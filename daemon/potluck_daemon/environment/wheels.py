"""Finds the wheels of an environment and fetches them: with progress, verified, and continued after interruptions.

uv says which wheels fit this machine and where they lie; the hashes in Potluck's own requirements fix what may be
installed. A file is fetched under another name and gets its own once its hash is right.
"""

from __future__ import annotations

import http.client
import re
import shutil
import tempfile
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from potluck.errors import NetworkError, PotluckError
from potluck.sentences import sentence
from potluck.unreachable import why_unreachable
from potluck_daemon.downloads import OnBytes, continue_download, sha256_of
from potluck_daemon.environment.failures import and_again
from potluck_daemon.environment.uv import WheelSources, run_uv

_TIMEOUT_S = 30.0
_DAMAGED = 2  # how often a file may arrive damaged
_TRIES = 5  # at one file without a byte of progress
_QUESTIONS = 8  # at the same time
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_NAME = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==")


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel, or the source (not `is_built`) of one of the few small packages without wheels."""

    name: str  # of the file
    url: str
    sha256: str

    @property
    def is_built(self) -> bool:
        return self.name.endswith(".whl")


def locked_hashes(requirements: Path) -> frozenset[str]:
    """Return all hashes of a requirements file. Raises PotluckError if a requirement has none."""
    text = requirements.read_text().replace("\\\n", " ")
    hashes: set[str] = set()
    for line in text.splitlines():
        found = _HASH.findall(line)
        if _NAME.match(line) and not found:
            raise PotluckError(
                sentence("{file} has a requirement without a hash", file=requirements.name),
                hint=sentence("install Potluck again"),
            )
        hashes.update(found)
    if not hashes:
        raise PotluckError(
            sentence("{file} has no hashes", file=requirements.name), hint=sentence("install Potluck again")
        )
    return frozenset(hashes)


def resolve(uv: Path, requirements: Path, python: Path, sources: WheelSources, *, cache: Path) -> tuple[Wheel, ...]:
    """Return the wheels of `requirements` for that interpreter.

    Raises:
        UvError: no index has them.
        PotluckError: an index offers something else than the requirements fix.
    """
    allowed = locked_hashes(requirements)
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder) / "pylock.toml"
        options = ["--format=pylock.toml", "--generate-hashes", "--no-deps", "--quiet"]
        run_uv(
            uv,
            ["pip", "compile", *options, *sources.arguments, "--python", python, "-o", lock, requirements],
            cache=cache,
        )
        wheels = tuple(_wheels(tomllib.loads(lock.read_text())))
    foreign = [wheel.name for wheel in wheels if wheel.sha256 not in allowed]
    if foreign:
        raise PotluckError(
            sentence("{file} is not the file that this version was made with", file=foreign[0]),
            hint=sentence("try another mirror"),
        )
    return wheels


def _wheels(lock: dict[str, object]) -> Iterator[Wheel]:
    packages = lock.get("packages")
    for package in packages if isinstance(packages, list) else []:
        file = next(iter(package.get("wheels", ())), None) or package["sdist"]
        url = file.get("url") or Path(file["path"]).resolve().as_uri()
        yield Wheel(Path(unquote(urlsplit(url).path)).name, url, file["hashes"]["sha256"])


def sizes(wheels: Sequence[Wheel]) -> list[int]:
    """Return the size of each wheel, 0 if unknown; asks a few servers at a time."""
    with ThreadPoolExecutor(_QUESTIONS) as pool:
        return list(pool.map(_size, wheels))


def _size(wheel: Wheel) -> int:
    address = urlsplit(wheel.url)
    try:
        if address.scheme == "file":
            return Path(unquote(address.path)).stat().st_size
        question = urllib.request.Request(wheel.url, method="HEAD")
        with _opener().open(question, timeout=_TIMEOUT_S) as answer:
            return int(answer.headers.get("Content-Length") or 0)
    except (OSError, http.client.HTTPException, ValueError):
        return 0


def fetch(wheel: Wheel, folder: Path, on_progress: OnBytes) -> Path:
    """Fetch a wheel to `folder` and return its file. Half a file is continued, a whole one isn't fetched again.

    A damaged file is fetched once more: half a file of an earlier attempt may have been the reason.

    Raises:
        NetworkError: it cannot be fetched now.
        PotluckError: it arrived damaged twice.
        OSError: it cannot be written.
    """
    target, part = folder / wheel.name, folder / f"{wheel.name}.part"
    if target.exists() and sha256_of(target) == wheel.sha256:
        on_progress(target.stat().st_size)
        return target
    for _ in range(_DAMAGED):
        _fetch_part(wheel, part, on_progress)
        if sha256_of(part) == wheel.sha256:
            part.replace(target)
            on_progress(target.stat().st_size)
            return target
        part.unlink()
    raise PotluckError(
        sentence("{file} arrived damaged", file=wheel.name),
        hint=sentence("check whether something alters downloads, then try again: it continues where it stopped"),
    )


def _fetch_part(wheel: Wheel, part: Path, on_progress: OnBytes) -> None:
    address = urlsplit(wheel.url)
    if address.scheme == "file":
        shutil.copyfile(unquote(address.path), part)
    else:
        continue_download(part, _WheelSource(wheel), on_progress, tries=_TRIES)


class _WheelSource:
    """A wheel on an index; its hash decides what it is, so the server's word on its size will do."""

    num_bytes = None

    def __init__(self, wheel: Wheel) -> None:
        self._wheel = wheel

    def open(self, start: int) -> Any:
        request = urllib.request.Request(self._wheel.url, headers={"Range": f"bytes={start}-"} if start else {})
        try:
            return _opener().open(request, timeout=_TIMEOUT_S)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                return None  # everything is here already, or the file changed: the hash will tell
            raise self.failure(error) from error
        except (OSError, http.client.HTTPException) as error:
            raise self.failure(error) from error

    def read(self, answer: Any, max_bytes: int) -> bytes:
        try:
            return bytes(answer.read(max_bytes))
        except (OSError, http.client.HTTPException) as error:
            raise self.failure(error) from error

    def failure(self, error: Exception) -> NetworkError:
        host = urlsplit(self._wheel.url).hostname or ""
        why, advice = why_unreachable(host, error)
        return NetworkError(
            sentence("{file} cannot be fetched from {host}: {why}", file=self._wheel.name, host=host, why=why),
            hint=and_again(advice),
        )


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener that uses the environment's proxies, also ALL_PROXY, which Python ignores."""
    named = urllib.request.getproxies()
    common = named.get("all")
    proxies = {scheme: proxy for scheme in ("http", "https") if (proxy := named.get(scheme, common))}
    return urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
