"""The files that a swarm pins by its manifest: checks those on the disk, and gets the others from members or the hub.

Members come first, because they are often near. If nobody sends a file, the hub is asked, if the model is on one, and
then members once more. Everything here blocks; run it in threads.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from potluck.checkpoint.hub import HubFiles
from potluck.errors import CheckpointError, PotluckError
from potluck.manifest import Manifest, ManifestFile, Manifests
from potluck.protocol.swarm import LOCAL_REVISION, Swarm
from potluck_engine.member_files import MemberFiles

log = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_S = 20.0  # without a piece, before the hub is asked
_LAST_S = 120.0  # for members, if the hub has no answer


@dataclass(frozen=True, slots=True)
class MemberSource:
    """Members' files, for threads besides the event loop `loop` of the node. They wait until the node has joined."""

    files: Callable[[], Awaitable[MemberFiles]]
    loop: asyncio.AbstractEventLoop

    def manifest(self, *, patience_s: float) -> Manifest:
        """Raises PotluckError."""
        return self._run(lambda files: files.manifest(patience_s=patience_s))

    def fetch(self, file: ManifestFile, path: Path, *, patience_s: float) -> None:
        """Raises PotluckError."""
        self._run(lambda files: files.fetch(file, path, patience_s=patience_s))

    def _run(self, work: Callable[[MemberFiles], Awaitable[T]]) -> T:
        async def run() -> T:
            return await work(await self.files())

        try:
            return asyncio.run_coroutine_threadsafe(run(), self.loop).result()
        except CancelledError:
            raise PotluckError("the engine leaves the swarm") from None


@dataclass(frozen=True, slots=True)
class PinnedFiles:
    """Implements `potluck.checkpoint.source.Files`.

    Args:
        folder: where the files are, or come.
        is_ours: Potluck fetched the folder, so a wrong file in it is replaced; a user's own is refused.
        members: None: files are checked, never fetched.
    """

    swarm: Swarm
    manifest: Manifest
    manifests: Manifests
    folder: Path
    is_ours: bool
    members: MemberSource | None

    def download(self, file: str) -> Path:
        """Return where a file is, after checking or fetching it. Raises CheckpointError."""
        path, pinned = self.folder / file, self.manifest.file(file)
        if pinned is None:
            raise CheckpointError(f"{file} is not a file of the swarm's model", hint="the folder has another model")
        if path.is_file():
            if self.manifests.is_right(path, pinned):
                return path
            if not self.is_ours:
                raise other_weights(self.swarm, path)
            log.warning("%s is damaged and is fetched again", file)
            path.replace(path.with_name(f"{file}.partial"))  # its right pieces stay
        self._obtain(pinned, path)
        return path

    def _obtain(self, file: ManifestFile, path: Path) -> None:
        if self.members is None:
            raise CheckpointError(f"{file.name} is missing from {self.folder}", hint="start the engine again")
        is_on_hub = self.swarm.revision != LOCAL_REVISION and self.is_ours
        try:
            self.members.fetch(file, path, patience_s=_FIRST_S if is_on_hub else _LAST_S)
            return
        except CheckpointError:
            raise
        except PotluckError as error:
            if not is_on_hub:
                raise CheckpointError(error.message, hint=error.hint) from error
        try:
            self._download(file, path)
        except CheckpointError as error:
            log.info("the hub does not help either: %s", error.message)
            try:
                self.members.fetch(file, path, patience_s=_LAST_S)
            except CheckpointError:
                raise
            except PotluckError:
                message = f"no member sends {file.name}, and {error.message}"
                raise CheckpointError(message, hint=error.hint) from error

    def _download(self, file: ManifestFile, path: Path) -> None:
        """Get a file from the hub. Raises CheckpointError if it does not answer or has other bytes."""
        swarm = self.swarm
        hub = HubFiles(swarm.model, swarm.revision, self.folder, {file.name}, None, progress=False)
        found = hub.download(file.name)
        if found != path:
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found, path)
        if not self.manifests.is_right(path, file):
            path.unlink()
            raise CheckpointError(f"the hub has another {file.name} than the swarm's founder had")


def other_weights(swarm: Swarm, path: Path) -> CheckpointError:
    """Return the error for a file of the user's that the swarm's servers do not have."""
    return CheckpointError(
        f"{path} differs from the file of {swarm.model} that the swarm {swarm.name} serves",
        hint="servers with other weights of the same name would compute nonsense together; take the swarm's files: "
        "potluck config set serve.checkpoint ''",
    )
