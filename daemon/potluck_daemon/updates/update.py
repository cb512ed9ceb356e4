"""The first part of an update: ask the publisher, fetch, and unpack the new version beside the running one.

The running version stays untouched. The caller then drains the daemon, switches by `Versions.begin_trial` and starts
the new version: `potluck update` after the daemon's end, or the daemon, which becomes the new version itself.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from urllib.parse import urljoin

from msgspec import structs
from potluck_control.methods.installation import WorkProgress
from potluck_control.processes.python_command import child_environment, python_command
from potluck_control.settings import UpdateSettings

from potluck.errors import PotluckError
from potluck.sentences import sentence
from potluck_daemon.child_process import OnProgress
from potluck_daemon.downloads import fetch, get
from potluck_daemon.updates.manifest import MAX_BYTES, Offer, read_offer, require_publisher
from potluck_daemon.updates.publisher import NotesFile, accept, known_publisher
from potluck_daemon.updates.versions import Versions

KIND = "run"  # the kind of file that `Versions` can install
_UNPACK_TIMEOUT_S = 600.0


def ask_publisher(settings: UpdateSettings, file: NotesFile, on_progress: OnProgress) -> Offer:
    """Fetch the publisher's offer and its signature, write it to the notes, and return it. The caller holds the lock.

    Raises:
        UsageError: the settings name no publisher.
        NetworkError: nobody answers.
        BadManifestError: the publisher did not sign it, or it is old.
    """
    require_publisher(settings)
    notes = structs.replace(file.read(), asked_at=time.time())
    file.write(notes)
    on_progress(WorkProgress(sentence("asking the publisher")))
    seen = known_publisher(settings.key, notes.seen)
    offer, signer = read_offer(get(settings.url, MAX_BYTES), get(f"{settings.url}.sig", MAX_BYTES), seen.keys)
    now = time.time()
    file.write(structs.replace(notes, seen=accept(offer, signer, seen, now), checked_at=now))
    return offer


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
    versions.tidy()  # an interrupted update may have left files
    versions.downloads.mkdir(exist_ok=True)
    for old in versions.downloads.iterdir():
        if not old.name.startswith(file.name):
            old.unlink()
    path = versions.downloads / file.name

    def on_bytes(have: int) -> None:
        on_progress(WorkProgress(sentence("fetching"), have, file.num_bytes))

    on_bytes(0)
    try:
        fetch(urljoin(url, file.name), path, file.sha256, on_bytes, num_bytes=file.num_bytes)
    except OSError as error:
        path.with_name(f"{path.name}.part").unlink(missing_ok=True)
        raise PotluckError(
            sentence("the update cannot be stored: {why}", why=str(error.strerror)),
            hint=sentence("make room on the disk"),
        ) from error
    on_progress(WorkProgress(sentence("unpacking")))
    try:
        _unpack(path, offer.version, versions)
    except PotluckError:
        versions.tidy()
        raise
    finally:
        path.unlink()
    os.sync()  # everything must be on the disk before a link leads to it


def _unpack(path: Path, version: str, versions: Versions) -> None:
    _run("sh", path, "--stage", versions.root)
    python = versions.folder(version) / "bin" / "python3"  # its scripts name the current version's
    _run(
        *python_command(python, "-m", "potluck_cli.daemon", "--help")
    )  # must work before the version can count its starts
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
        errors = done.stderr.strip().splitlines() or [str(done.returncode)]
        why = errors[-1].removeprefix("potluck: ")
        raise PotluckError(sentence("the update cannot be unpacked: {why}", why=why))
    return done.stdout
