"""The files that a swarm pins by its manifest: checks those on the disk, and gets the others from members or the hub.

What is fetched comes into one folder, named by the manifest's digest; nothing else is ever written. A file that the
hub's library has already is linked from there. Members come before the hub, because they are often near. Everything
here blocks; run it in threads.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from potluck.checkpoint.hub import HubFiles
from potluck.errors import CheckpointError, PotluckError
from potluck.files import alone
from potluck.manifest import Manifest, ManifestFile, Manifests
from potluck.model_folder import earlier_folder, inside, pinned_folder
from potluck.protocol.swarm import LOCAL_REVISION, Swarm
from potluck_engine.member_files import MemberFiles

log = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_S = 20.0  # without a piece, before the hub is asked
_LAST_S = 120.0  # for members, if the model is on no hub


@dataclass(frozen=True, slots=True)
class MemberSource:
    """Members' files, for threads besides the event loop `loop` of the node. They wait until the node has joined."""

    files: Callable[[], Awaitable[MemberFiles]]
    loop: asyncio.AbstractEventLoop

    def run(self, work: Callable[[MemberFiles], Awaitable[T]]) -> T:
        """Return what `work` returns. Raises PotluckError."""

        async def run() -> T:
            return await work(await self.files())

        try:
            return asyncio.run_coroutine_threadsafe(run(), self.loop).result()
        except CancelledError:
            raise PotluckError("the engine leaves the swarm") from None


@dataclass(frozen=True, slots=True)
class OwnFiles:
    """The files of a folder that the user chose, or that comes with Potluck. They are checked and never written.

    Implements `potluck.checkpoint.source.Files`.
    """

    swarm: Swarm
    manifest: Manifest
    manifests: Manifests
    folder: Path

    def download(self, file: str) -> Path:
        """Return where a file is, after checking it. Raises CheckpointError."""
        path = self.folder / file
        if not path.is_file():
            raise CheckpointError(f"{file} is missing from {self.folder}", hint="copy the whole checkpoint")
        if not self.manifests.is_right(path, _pinned(self.manifest, file)):
            raise other_weights(self.swarm, path)
        return path


@dataclass(frozen=True, slots=True)
class PinnedFiles:
    """The files in the folder of the manifest's digest in `cache`. Implements `potluck.checkpoint.source.Files`.

    Args:
        members: None: only what is on this computer.
    """

    swarm: Swarm
    manifest: Manifest
    manifests: Manifests
    cache: Path
    members: MemberSource | None

    @property
    def folder(self) -> Path:
        return pinned_folder(self.swarm, self.cache)

    def download(self, file: str) -> Path:
        """Return where a file is, after checking or fetching it. Raises CheckpointError."""
        path, pinned = inside(self.folder, file), _pinned(self.manifest, file)
        try:
            with alone(self.folder):  # engines of one computer share the folder
                if not self.manifests.is_right(path, pinned):
                    self._set_aside(path)
                    if not self._adopt(earlier_folder(self.swarm, self.cache) / file, path, pinned):
                        self._obtain(path, pinned)
        except OSError as error:
            raise CheckpointError(f"cannot write {self.folder}: {error.strerror}") from error
        return path

    def _set_aside(self, path: Path) -> None:
        """Make way for the right file. Right pieces of a damaged one stay, unless the hub's library has it, too."""
        if path.exists():
            log.warning("%s is damaged and is fetched again", path.name)
            if path.stat().st_nlink == 1:
                path.replace(inside(self.folder, f"{path.name}.partial"))
            else:
                path.unlink()

    def _adopt(self, source: Path, path: Path, file: ManifestFile) -> bool:
        """Link a file that the hub's library or an earlier version downloaded. Return whether it is the right one."""
        source = source.resolve()
        if not source.is_relative_to(self.folder.parents[1]) or not self.manifests.is_right(source, file):
            return False
        try:
            os.link(source, path)
        except OSError:  # a disk without links
            partial = inside(self.folder, f"{file.name}.partial")
            shutil.copyfile(source, partial)
            partial.replace(path)
        self.manifests.mark_right(path, file)
        return True

    def _obtain(self, path: Path, file: ManifestFile) -> None:
        if self.members is None:
            raise CheckpointError(f"{file.name} is missing from {self.folder}", hint="start the engine again")
        is_on_hub = self.swarm.revision != LOCAL_REVISION
        patience_s = _FIRST_S if is_on_hub else _LAST_S
        try:
            self.members.run(lambda files: files.fetch(file, self.folder, patience_s=patience_s))
            self.manifests.mark_right(path, file)
        except CheckpointError:
            raise
        except PotluckError as error:
            if not is_on_hub:
                raise CheckpointError(error.message, hint=error.hint) from error
            self._download(path, file)

    def _download(self, path: Path, file: ManifestFile) -> None:
        """Get a file that no member sends from the hub. Raises CheckpointError."""
        swarm, folder = self.swarm, earlier_folder(self.swarm, self.cache)
        hub = HubFiles(swarm.model, swarm.revision, folder, {file.name}, None, progress=False)
        if not self._adopt(hub.download(file.name), path, file):
            raise CheckpointError(f"no member sends {file.name}, and the hub has another one than the swarm's founder")


def other_weights(swarm: Swarm, path: Path) -> CheckpointError:
    """Return the error for a file of the user's that the swarm's servers do not have."""
    return CheckpointError(
        f"{path} differs from the file of {swarm.model} that the swarm {swarm.name} serves",
        hint="servers with other weights of the same name would compute nonsense together; take the swarm's files: "
        "potluck config set serve.checkpoint ''",
    )


def _pinned(manifest: Manifest, file: str) -> ManifestFile:
    pinned = manifest.file(file)
    if pinned is None:
        raise CheckpointError(f"{file} is not a file of the swarm's model", hint="the folder has another model")
    return pinned
