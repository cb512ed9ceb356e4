"""One update from its offer to its proof: fetch, unpack beside, drain, switch, start, watch, and back if it fails.

The daemon is ended as `potluck drain` does it, so sessions go on elsewhere; the process that updates outlives it. What
runs is never touched before the new version lies complete beside it.
"""

from __future__ import annotations

import os
import subprocess
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from potluck.errors import PotluckError
from potluck_daemon.updates.download import fetch, get
from potluck_daemon.updates.freshness import KnownPublisher, accept
from potluck_daemon.updates.manifest import MAX_BYTES, Offer, read_offer
from potluck_daemon.updates.versions import Versions

KIND = "run"  # of the files of an offer that `Versions` can install
_UNPACK_TIMEOUT_S = 600.0

OnProgress = Callable[[str, int, int], None]
"""What is done, bytes of it, and bytes in all (0 and 0 where nothing is fetched)."""


class Successor(Protocol):
    """How the daemon that runs is ended, and the one of another version takes over; see `succession`."""

    def drain(self) -> bool:
        """End it in order; returns whether one ran. Raises PotluckError if it does not end."""

    def start(self, folder: Path) -> str:
        """Start the one of this folder; returns the version that answers. Raises PotluckError if none does."""

    def watch(self) -> None:
        """Return when the started one ran for a while without a break. Raises PotluckError as soon as it does not."""

    def end(self) -> None:
        """Whatever was started is gone after this."""


def look(url: str, seen: KnownPublisher, now: float) -> tuple[Offer, KnownPublisher]:
    """What is offered, and what is known after that. `now`: Unix seconds; the signature lies beside `url` as `.sig`.

    Raises:
        NetworkError: nobody answers.
        BadManifestError: the publisher did not sign it, or it is an old one.
    """
    offer, signer = read_offer(get(url, MAX_BYTES), get(f"{url}.sig", MAX_BYTES), seen.keys)
    return offer, accept(offer, signer, seen, now)


def stage(offer: Offer, url: str, versions: Versions, on_progress: OnProgress) -> None:
    """Have the offered version lie complete beside the current one.

    Raises:
        PotluckError: it cannot be fetched, is not what was signed, or does not run here. Nothing changed.
    """
    file = offer.files.get(KIND)
    if file is None:
        raise PotluckError(f"version {offer.version} comes without a file for this installation")
    versions.downloads.mkdir(exist_ok=True)
    for old in versions.downloads.iterdir():
        if not old.name.startswith(file.name):
            old.unlink()
    path = versions.downloads / file.name

    def tell(have: int) -> None:
        on_progress("fetching", have, file.num_bytes)

    tell(0)
    fetch(urllib.parse.urljoin(url, file.name), path, file.num_bytes, file.sha256, tell)
    on_progress("unpacking", 0, 0)
    try:
        _unpack(path, offer.version, versions)
    except PotluckError:
        versions.tidy()
        raise
    finally:
        path.unlink()
    os.sync()  # all of it is on the disk before anything leads to it


def switch(version: str, versions: Versions, successor: Successor, on_progress: OnProgress) -> None:
    """Let the staged version take over, and take it back if it does not prove itself.

    Where no daemon ran none is started: the next start is the trial, as `Versions` counts it.

    Raises:
        PotluckError: the version before is in use again.
    """
    on_progress("letting open sessions end", 0, 0)
    was_running = successor.drain()
    try:
        versions.begin_trial(version)
        if not was_running:
            return
        on_progress("starting the new version", 0, 0)
        answer = successor.start(versions.root / "current")
        if answer != version:
            raise PotluckError(f"version {answer} answers instead")
        on_progress("watching the new version", 0, 0)
        successor.watch()
    except (PotluckError, OSError) as error:
        on_progress("going back to the version before", 0, 0)
        successor.end()
        if versions.trial() is not None:  # it may have gone back by itself, at its third start
            versions.roll_back()
        if was_running:
            successor.start(versions.root / "current")
        versions.tidy()
        text = f"version {version} did not come up ({error}); {versions.current()} is in use again"
        raise PotluckError(text, hint="see: potluck status, potluck logs") from error
    versions.end_trial()


def _unpack(path: Path, version: str, versions: Versions) -> None:
    _run("sh", path, "--stage", versions.root)
    python = versions.folder(version) / "bin" / "python3"  # its scripts name the current version's
    if not python.exists():
        raise PotluckError(f"the file does not hold version {version}", hint="tell the publisher")
    answer = _run(python, "-m", "potluck_cli.main", "--version")
    if answer.split()[-1:] != [version]:
        raise PotluckError(f"the update says it is {answer.strip()!r}, not {version}", hint="tell the publisher")


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
        raise PotluckError(f"the update cannot be unpacked: {said[-1] if said else done.returncode}")
    return done.stdout
