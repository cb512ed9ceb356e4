"""Opens the checkpoint of the swarm's model, and checks and fetches its files if the swarm pins them by a manifest.

Files that are missing come from members or the hub. Members come first, because they are often near. Everything that is
fetched comes into one folder, named by the manifest's digest, and nothing else is ever written. A file that the hub's
library has already is linked from there. Everything here blocks, so run it in threads.
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

from potluck_control.processes.launch_spec import LaunchSpec
from potluck_control.resources import bundled_checkpoint

from potluck.checkpoint.hub import HubFiles
from potluck.checkpoint.source import Checkpoint, open_checkpoint, open_folder
from potluck.errors import CheckpointError, PotluckError, UsageError
from potluck.locks import locked_folder
from potluck.model_files import (
    Manifest,
    ManifestFile,
    Manifests,
    downloaded,
    has_model,
    hub_cache,
    hub_folder,
    inside,
    make_manifest,
    pinned_folder,
)
from potluck.protocol.swarm import LOCAL_REVISION, Swarm
from potluck.sentences import sentence
from potluck_engine.weights.member_files import MemberFiles, known_manifests, own_folder

log = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_S = 20.0  # the wait for a piece from members before the hub is asked
_LAST_S = 120.0  # the same if the model is on no hub


_MANIFEST_S, _MANIFEST_LONG_S = 5.0, 120.0  # the wait for a member with the manifest, if the files are here and if not


@dataclass(frozen=True, slots=True)
class MemberSource:
    """Gives other threads access to members' files, in the node's event loop `loop`, once the node has joined."""

    files: Callable[[], Awaitable[MemberFiles]]
    loop: asyncio.AbstractEventLoop

    def run(self, work: Callable[[MemberFiles], Awaitable[T]]) -> T:
        """Run `work` in the event loop, and return its result. Raises PotluckError."""

        async def run() -> T:
            return await work(await self.files())

        try:
            return asyncio.run_coroutine_threadsafe(run(), self.loop).result()
        except CancelledError:
            raise PotluckError("the engine leaves the swarm") from None


@dataclass(frozen=True, slots=True)
class PinnedFiles:
    """The files of the swarm's model; implements `potluck.checkpoint.source.Files`.

    Args:
        folder: the folder that has the files, or the one named by the manifest's digest, into which they come.
        members: where files come from; None: files are checked and never fetched.
    """

    swarm: Swarm
    manifest: Manifest
    manifests: Manifests
    folder: Path
    members: MemberSource | None

    def download(self, file: str) -> Path:
        """Check or fetch a file, and return its path. Raises CheckpointError."""
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
                path.replace(inside(self.folder, f"{file.name}.partial"))  # its right pieces are kept
            path.unlink(missing_ok=True)  # the link; the hub's library has the file, too
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
        """Link a file of the hub's library. Return False if it is not the right one."""
        source = source.resolve()
        if not source.is_relative_to(self.folder.parents[1]) or not self.manifests.is_right(source, file):
            return False
        try:
            os.link(source, path)
        except OSError:  # some disks have no links
            shutil.copyfile(source, partial := inside(self.folder, f"{file.name}.partial"))
            partial.replace(path)
        self.manifests.mark_right(path, file)
        return True


def wrong_weights(swarm: Swarm, path: Path) -> CheckpointError:
    """Return the error for a user's file that differs from that of the swarm's servers."""
    return CheckpointError(
        f"{path} is missing or differs from the file of {swarm.model} that the swarm {swarm.name} serves",
        hint="servers with other weights of the same name would compute nonsense together; take the swarm's files: "
        "potluck config set serve.checkpoint ''",
    )


def open_for_swarm(config: LaunchSpec, members: MemberSource | None = None) -> Checkpoint:
    """Open the checkpoint, and check that it is the swarm's model.

    Files that the swarm pins are fetched if they are missing, and checked before they are read. If it pins none, only
    the number of blocks can be checked.

    Raises:
        CheckpointError: missing, damaged, or of another depth than the swarm's model.
        UsageError: the span does not exist.
    """
    swarm = config.swarm
    revision = None if swarm.revision in ("main", "local") else swarm.revision
    if swarm.weights:
        checkpoint = _open_pinned(config, members)
    else:
        checkpoint = open_checkpoint(str(config.checkpoint), revision=revision)
    if checkpoint.num_blocks != swarm.num_blocks:
        raise CheckpointError(
            f"{config.checkpoint} has {checkpoint.num_blocks} layers, the swarm's model {swarm.num_blocks}",
            hint=f"serve the checkpoint of {swarm.model}",
        )
    if config.span is not None and config.span.end > checkpoint.num_blocks:
        raise UsageError(f"layers {config.span.layers} do not exist: the model has layers 1-{checkpoint.num_blocks}")
    return checkpoint


def _open_pinned(config: LaunchSpec, members: MemberSource | None) -> Checkpoint:
    swarm, known = config.swarm, known_manifests()
    here = own_folder(config) or bundled_checkpoint(swarm.model)
    manifest = _manifest(swarm, here or downloaded(swarm, hub_cache()), known, members)
    if here is not None and (own_folder(config) or _is_whole(here, manifest, known)):
        members = None  # other people's folders are read and never written
    else:
        here = pinned_folder(swarm, hub_cache())
    files = PinnedFiles(swarm, manifest, known, here, members)
    for file in manifest.files:
        if file.is_small and members is not None:
            files.download(file.name)
    return open_folder(config.checkpoint, swarm.revision, here, files)


def _manifest(swarm: Swarm, here: Path | None, known: Manifests, members: MemberSource | None) -> Manifest:
    """Return the manifest: this computer's, a member's, or one made of the files here if they are the right ones."""
    found = known.find(swarm.weights)
    if found is not None:
        return found
    is_here, problem = here is not None and has_model(here), PotluckError("the list of the model's files is missing")
    if members is not None:
        patience_s = _MANIFEST_S if is_here else _MANIFEST_LONG_S
        try:
            found = members.run(lambda files: files.manifest(patience_s=patience_s))
        except PotluckError as error:
            problem = error
    if found is None and here is not None and is_here:
        found = make_manifest(here)
        if found.digest.hex() != swarm.weights:
            raise wrong_weights(swarm, here)
    if found is None:
        raise CheckpointError(problem.message, hint=problem.hint)
    known.keep(found)
    return found


def _is_whole(folder: Path, manifest: Manifest, known: Manifests) -> bool:
    return all(known.is_right(folder / file.name, file) for file in manifest.files)
