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
from potluck.locks import locked_folder
from potluck.model_files import Manifest, ManifestFile, Manifests, hub_folder, inside
from potluck.protocol.swarm import LOCAL_REVISION, Swarm
from potluck.sentences import sentence
from potluck_engine.weights.member_files import MemberFiles

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
class PinnedFiles:
    """Implements `potluck.checkpoint.source.Files`.

    Args:
        folder: what has the files, or the one of the manifest's digest, into which they come.
        members: None: files are checked, never fetched.
    """

    swarm: Swarm
    manifest: Manifest
    manifests: Manifests
    folder: Path
    members: MemberSource | None

    def download(self, file: str) -> Path:
        """Return where a file is, after checking or fetching it. Raises CheckpointError."""
        path, pinned = self.folder / file, self.manifest.file(file)
        if pinned is None:
            raise CheckpointError(f"{file} is not a file of the swarm's model", hint="the folder has another model")
        if self.members is None and not self.manifests.is_right(path, pinned):
            raise wrong_weights(self.swarm, path)
        if self.members is not None:
            try:
                with locked_folder(self.folder):  # engines of one computer share the folder
                    self._complete(inside(self.folder, file), pinned, self.members)
            except OSError as error:
                raise CheckpointError(
                    sentence("cannot write {path}: {why}", path=self.folder, why=error.strerror)
                ) from error
        return path

    def _complete(self, path: Path, file: ManifestFile, members: MemberSource) -> None:
        if self.manifests.is_right(path, file):
            return
        if path.exists():
            log.warning("%s is damaged and is fetched again", file.name)
            if path.stat().st_nlink == 1:
                path.replace(inside(self.folder, f"{file.name}.partial"))  # its right pieces stay
            path.unlink(missing_ok=True)  # the hub's library has it, too
        swarm, is_on_hub = self.swarm, self.swarm.revision != LOCAL_REVISION
        hubs = hub_folder(swarm, self.folder.parents[2])
        patience_s = _FIRST_S if is_on_hub else _LAST_S
        if self._adopt(hubs / file.name, path, file):
            return
        if members.run(lambda files: files.fetch(file, self.folder, patience_s=patience_s)):
            self.manifests.mark_right(path, file)
            return
        if not is_on_hub:
            raise CheckpointError(f"no member sends {file.name}", hint="it goes on where it stopped")
        found = HubFiles(swarm.model, swarm.revision, hubs, {file.name}, None, progress=False).download(file.name)
        if not self._adopt(found, path, file):
            raise CheckpointError(f"no member sends {file.name}, and the hub has another one than the swarm's founder")

    def _adopt(self, source: Path, path: Path, file: ManifestFile) -> bool:
        """Link a file that the hub's library downloaded. Return whether it is the right one."""
        source = source.resolve()
        if not source.is_relative_to(self.folder.parents[1]) or not self.manifests.is_right(source, file):
            return False
        try:
            os.link(source, path)
        except OSError:  # a disk without links
            shutil.copyfile(source, partial := inside(self.folder, f"{file.name}.partial"))
            partial.replace(path)
        self.manifests.mark_right(path, file)
        return True


def wrong_weights(swarm: Swarm, path: Path) -> CheckpointError:
    """Return the error for a file of the user's that the swarm's servers do not have."""
    return CheckpointError(
        f"{path} is missing or differs from the file of {swarm.model} that the swarm {swarm.name} serves",
        hint="servers with other weights of the same name would compute nonsense together; take the swarm's files: "
        "potluck config set serve.checkpoint ''",
    )
