"""One update from its offer to its proof: fetch, check, unpack beside, drain, switch, start, and back if it fails.

The daemon is ended as `potluck drain` does it, so sessions go on elsewhere; the command that updates outlives it. What
runs is never touched before the new version lies complete beside it.
"""

from __future__ import annotations

import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from potluck.errors import NetworkError, PotluckError
from potluck_daemon.environment.wheels import Wheel, fetch
from potluck_daemon.updates.manifest import MAX_BYTES, Offer, OfferedFile, parse_key, read_offer
from potluck_daemon.updates.versions import Versions

KIND = "run"  # of the files of an offer that `Versions` can install
_TIMEOUT_S = 30.0
_UNPACK_TIMEOUT_S = 600.0

OnProgress = Callable[[str, int, int], None]
"""What is done, bytes of it, and bytes in all (0 and 0 where nothing is fetched)."""


@dataclass(frozen=True, slots=True)
class Source:
    """`url`: of the manifest, whose signature lies beside it as `.sig`."""

    url: str
    key: str


class Daemon:
    """How an update ends and starts the daemon; the command line's way."""

    def __init__(self, drain: Callable[[], bool], start: Callable[[Path], str]) -> None:
        self.drain = drain
        """End it in order; returns whether one ran."""
        self.start = start
        """Start the one of this folder; returns the version that answers. Raises PotluckError if none does."""


def look(source: Source) -> Offer:
    """Raises NetworkError, or BadManifestError for what the publisher did not sign."""
    key = parse_key(source.key)
    return read_offer(_get(source.url), _get(f"{source.url}.sig"), key)


def stage(offer: Offer, source: Source, versions: Versions, on_progress: OnProgress) -> None:
    """Have the offered version lie complete beside the current one.

    Raises:
        PotluckError: it cannot be fetched, is not what was signed, or does not run here. Nothing changed.
    """
    file = offer.files.get(KIND)
    if file is None:
        raise PotluckError(f"version {offer.version} comes without a file for this installation")
    versions.downloads.mkdir(exist_ok=True)
    url = urllib.parse.urljoin(source.url, file.name)
    wheel = Wheel(file.name, url, file.sha256)
    path = fetch(wheel, versions.downloads, lambda done: on_progress("fetching", done, file.num_bytes))
    _check_size(path, file)
    on_progress("unpacking", 0, 0)
    _run("sh", path, "--stage", versions.root)
    python = versions.folder(offer.version) / "bin" / "python3"  # its scripts name the current version's
    answer = _run(python, "-m", "potluck_daemon.cli.main", "--version")
    if answer.split()[-1:] != [offer.version]:
        raise PotluckError(f"the update says it is {answer.strip()!r}, not {offer.version}")


def switch(version: str, versions: Versions, daemon: Daemon, on_progress: OnProgress) -> None:
    """Let the staged version take over, and take it back if it does not come up.

    Raises:
        PotluckError: the version before runs again.
    """
    on_progress("letting open sessions end", 0, 0)
    was_running = daemon.drain()
    versions.begin_trial(version)
    on_progress("starting the new version", 0, 0)
    try:
        answer = daemon.start(versions.root / "current")
        if answer != version:
            raise PotluckError(f"version {answer} answers instead of {version}")
    except PotluckError as error:
        old = versions.roll_back()
        daemon.start(versions.root / "current")
        raise PotluckError(f"version {version} did not come up ({error}); {old} is in use again") from error
    versions.end_trial()
    if not was_running:
        daemon.drain()


def _check_size(path: Path, file: OfferedFile) -> None:
    if path.stat().st_size != file.num_bytes:
        path.unlink()
        raise PotluckError("the update has another size than was signed")


def _get(url: str) -> bytes:
    """A small file. Raises NetworkError."""
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
            content: bytes = answer.read(MAX_BYTES + 1)
            return content
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise NetworkError(f"updates cannot be looked up: {reason}", hint="see the setting updates.url") from error


def _run(*command: str | Path) -> str:
    """Raises PotluckError."""
    try:
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, timeout=_UNPACK_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PotluckError("the update does not run here") from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise PotluckError(f"the update does not run here: {said[-1] if said else done.returncode}")
    return done.stdout


def wait_for_version(ask: Callable[[], str | None], timeout_s: float) -> str:
    """What `ask` answers once it answers anything. Raises PotluckError when the time is over."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if (version := ask()) is not None:
            return version
        time.sleep(0.1)
    raise PotluckError("the daemon does not answer")
