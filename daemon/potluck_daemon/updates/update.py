"""One update: fetch, unpack beside, drain, switch, start, watch, and go back if it fails.

The daemon ends as `potluck drain` ends it, so its sessions move to other servers; the process that updates outlives it.
The running version stays untouched until the new one lies complete beside it.
"""

from __future__ import annotations

import os
import subprocess
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from potluck_control.own_python import child_environment, python_command

from potluck.errors import PotluckError
from potluck.sentences import Sentence, sentence
from potluck_daemon.updates.download import fetch, get
from potluck_daemon.updates.freshness import KnownPublisher, accept
from potluck_daemon.updates.manifest import MAX_BYTES, Offer, read_offer
from potluck_daemon.updates.versions import Versions

KIND = "run"  # the kind of file that `Versions` can install
_UNPACK_TIMEOUT_S = 600.0

OnProgress = Callable[[Sentence, int, int], None]
"""Called with the step, the bytes so far and the bytes in total (0 and 0 if nothing is fetched)."""


class Successor(Protocol):
    """The change from the running daemon to another version's; see `succession`."""

    def drain(self) -> bool:
        """Drain the running daemon; return whether there was one. Raises PotluckError if it doesn't end."""

    def start(self, folder: Path) -> str:
        """Start the daemon in `folder`; return the version that answers. Raises PotluckError if none does."""

    def watch(self) -> None:
        """Return once the started daemon ran for a while. Raises PotluckError as soon as it doesn't answer."""

    def end(self) -> None:
        """End the daemon that was started."""


def look(url: str, seen: KnownPublisher, now: float) -> tuple[Offer, KnownPublisher]:
    """Return the offer at `url`, signed in `url`.sig, and what is then known of its publisher. `now`: Unix seconds.

    Raises:
        NetworkError: nobody answers.
        BadManifestError: the publisher did not sign it, or it is old.
    """
    offer, signer = read_offer(get(url, MAX_BYTES), get(f"{url}.sig", MAX_BYTES), seen.keys)
    return offer, accept(offer, signer, seen, now)


def stage(offer: Offer, url: str, versions: Versions, on_progress: OnProgress) -> None:
    """Fetch the offered version and unpack it beside the current one.

    Raises:
        PotluckError: it cannot be fetched, was not signed, or does not run here. Nothing changed.
    """
    file = offer.files.get(KIND)
    if file is None:
        raise PotluckError(
            sentence("version {version} comes without a file for this installation", version=offer.version)
        )
    versions.downloads.mkdir(exist_ok=True)
    for old in versions.downloads.iterdir():
        if not old.name.startswith(file.name):
            old.unlink()
    path = versions.downloads / file.name

    def tell(have: int) -> None:
        on_progress(sentence("fetching"), have, file.num_bytes)

    tell(0)
    fetch(urllib.parse.urljoin(url, file.name), path, file.num_bytes, file.sha256, tell)
    on_progress(sentence("unpacking"), 0, 0)
    try:
        _unpack(path, offer.version, versions)
    except PotluckError:
        versions.tidy()
        raise
    finally:
        path.unlink()
    os.sync()  # everything must be on the disk before a link leads to it


def switch(version: str, versions: Versions, successor: Successor, on_progress: OnProgress) -> None:
    """Switch to the staged version, and back if it doesn't prove itself.

    If no daemon ran, none is started: `Versions` counts the next start as the trial.

    Raises:
        PotluckError: the earlier version is in use again.
    """
    on_progress(sentence("waiting for open sessions to end"), 0, 0)
    was_running = successor.drain()
    try:
        versions.begin_trial(version)
        if not was_running:
            return
        on_progress(sentence("starting the new version"), 0, 0)
        answer = successor.start(versions.root / "current")
        if answer != version:
            raise PotluckError(sentence("version {version} answers instead", version=answer))
        on_progress(sentence("watching the new version"), 0, 0)
        successor.watch()
    except (PotluckError, OSError) as error:
        on_progress(sentence("going back to the earlier version"), 0, 0)
        successor.end()
        if versions.trial() is not None:  # it may have gone back itself at its third start
            versions.roll_back()
        if was_running:
            successor.start(versions.root / "current")
        versions.tidy()
        text = sentence(
            "version {offered} did not come up ({why}); {number} is in use again",
            offered=version,
            why=error.sentence if isinstance(error, PotluckError) else str(error),
            number=versions.current(),
        )
        raise PotluckError(text, hint="potluck logs") from error
    versions.end_trial()


def _unpack(path: Path, version: str, versions: Versions) -> None:
    _run("sh", path, "--stage", versions.root)
    python = versions.folder(version) / "bin" / "python3"  # its scripts name the current version's
    if not python.exists():
        raise PotluckError(
            sentence("the file does not hold version {version}", version=version), hint=sentence("tell the publisher")
        )
    answer = _run(*python_command(python, "-m", "potluck_cli.main", "--version"))
    if answer.split()[-1:] != [version]:
        raise PotluckError(
            sentence("the update says it is {version}, not {other}", version=repr(answer.strip()), other=version),
            hint=sentence("tell the publisher"),
        )


def _run(*command: str | Path) -> str:
    """Run a command and return its output. Raises PotluckError."""
    try:
        done = subprocess.run(
            [str(part) for part in command],
            env=child_environment(python=command[0]),
            capture_output=True,
            text=True,
            timeout=_UNPACK_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PotluckError(sentence("the update does not run here")) from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise PotluckError(sentence("the update cannot be unpacked: {why}", why=said[-1] if said else done.returncode))
    return done.stdout
