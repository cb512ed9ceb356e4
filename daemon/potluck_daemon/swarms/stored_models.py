"""Lists, deletes and moves downloaded checkpoints.

The layout is huggingface_hub's: a folder `models--OWNER--NAME` for each model with `blobs`, `refs`, `snapshots`. Its
links are relative, so a folder can be moved as a whole. A running engine can still read files that it has mapped after
they were moved or deleted. Everything here blocks.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import structs
from potluck_control.methods.models import Move, Progress, StoredModel

from potluck.errors import PotluckError, UsageError
from potluck.files import free_bytes
from potluck.protocol.swarm import Swarm
from potluck.sentences import NOTHING, Size, sentence
from potluck_daemon.metering.meters import taken_bytes

PREFIX = "models--"
"""How the folder of a model begins."""
_PARTIAL = (".partial", ".incomplete")
_RESERVE_BYTES = 1 << 30  # that stays free on the disk that models are moved to


def stored_models(folder: Path, swarms: Sequence[Swarm], served: str) -> tuple[StoredModel, ...]:
    """Return the models in `folder`, largest first.

    Args:
        swarms: those that were joined.
        served: the model that is served now.
    """
    found = []
    for path in _folders(folder):
        name = path.name.removeprefix(PREFIX).replace("--", "/", 1)
        users = tuple(swarm.name for swarm in swarms if name in (swarm.model, swarm.draft_name))
        sizes = (taken_bytes(path), _partial_bytes(path), _used_at(path))
        found.append(StoredModel(name, *sizes, swarms=users, is_served=name == served))
    return tuple(sorted(found, key=lambda model: -model.bytes))


def delete_model(folder: Path, name: str) -> int:
    """Delete a model and return the bytes that were freed. Raises UsageError, PotluckError."""
    path = next((path for path in _folders(folder) if path.name == PREFIX + name.replace("/", "--")), None)
    if path is None:
        raise UsageError(
            sentence("{name} is not among the downloaded models", name=name), hint="potluck models list names them"
        )
    return delete_folder(path)


def delete_folder(path: Path) -> int:
    """Delete a folder, if it is there, and return the bytes that were freed. Raises PotluckError."""
    taken = taken_bytes(path)
    try:
        if path.is_dir():
            shutil.rmtree(path)
    except OSError as error:
        raise PotluckError(
            sentence("cannot delete {path}: {why}", path=str(path), why=str(error.strerror)),
            hint=sentence("does it belong to you?"),
        ) from error
    return taken


def check_target(source: Path, target: Path, num_bytes: int) -> None:
    """Refuse a folder that models cannot be moved to. Raises UsageError."""
    if not target.is_absolute():
        raise UsageError(sentence("the folder must be absolute"), hint=sentence("begin it with /"))
    if target.resolve() == source.resolve():
        raise UsageError(sentence("the models are already there"))
    if target.resolve().is_relative_to(source.resolve()) or source.resolve().is_relative_to(target.resolve()):
        raise UsageError(sentence("one of the folders is inside the other"), hint=sentence("choose a folder beside it"))
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            sentence("cannot make {path}: {why}", path=str(target), why=str(error.strerror)),
            hint=sentence("choose another folder"),
        ) from error
    if not os.access(target, os.W_OK):
        raise UsageError(sentence("{path} cannot be written", path=str(target)), hint=sentence("choose another folder"))
    is_same_disk = source.exists() and source.stat().st_dev == target.stat().st_dev
    free = free_bytes(target)
    if not is_same_disk and free < num_bytes + _RESERVE_BYTES:
        text = sentence(
            "{path} has {free} free, the models take {used}", path=str(target), free=Size(free), used=Size(num_bytes)
        )
        raise UsageError(text, hint=sentence("delete models that nobody uses, or choose another disk"))


class ModelMover:
    """Moves models to another folder, one after the other, in a thread.

    Each model stays complete in the old folder until it is complete in the new one.
    """

    def __init__(self, source: Path, target: Path, total_bytes: int) -> None:
        self._source = source
        self._target = target
        self._stopped = threading.Event()
        self._copied: dict[tuple[int, int], str] = {}  # inode -> its copy, in the folder that is being copied
        self.state = Move(str(target), Progress(0, total_bytes), is_done=False)

    def stop(self) -> None:
        """Stop after the present file. What was not moved stays where it was."""
        self._stopped.set()

    def run(self) -> None:
        """Move everything. `state` says afterwards whether that failed. Blocks."""
        problem = NOTHING
        try:
            for path in _folders(self._source):
                self._move(path)
        except shutil.Error as error:  # lists each file of a folder with its error
            file, _, why = error.args[0][0]
            problem = sentence("{file} could not be copied: {why}", file=str(file), why=str(why))
        except OSError as error:
            problem = sentence(
                "{file} could not be moved: {why}",
                file=str(error.filename or self._source),
                why=str(error.strerror),
            )
        if problem and self._stopped.is_set():
            problem = sentence("stopped before everything was moved")
        self.state = structs.replace(self.state, is_done=True, problem=problem)

    def _move(self, path: Path) -> None:
        target = self._target / path.name
        if target.exists():  # left by an earlier attempt or another program; it is kept as it is
            return
        try:
            size = taken_bytes(path)
            path.rename(target)
            self._add(size)
        except OSError:  # another disk
            self._copy(path, target)
            shutil.rmtree(path)

    def _copy(self, path: Path, target: Path) -> None:
        half = target.with_name(f".{target.name}.moving")
        shutil.rmtree(half, ignore_errors=True)
        self._copied.clear()
        try:
            shutil.copytree(path, half, symlinks=True, copy_function=self._copy_file)
            half.rename(target)
        except BaseException:
            shutil.rmtree(half, ignore_errors=True)
            raise

    def _copy_file(self, source: str, target: str) -> str:
        if self._stopped.is_set():
            raise InterruptedError
        found = os.lstat(source)
        first = self._copied.setdefault((found.st_dev, found.st_ino), target)
        if first != target:  # a second name of a file, as pinned files have
            os.link(first, target)
            return target
        copied = shutil.copy2(source, target)
        self._add(found.st_blocks * 512)
        return str(copied)

    def _add(self, num_bytes: int) -> None:
        progress = self.state.progress
        self.state = structs.replace(
            self.state, progress=structs.replace(progress, done_bytes=progress.done_bytes + num_bytes)
        )


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.name.startswith(PREFIX) and path.is_dir())
    except OSError:
        return []


def _partial_bytes(path: Path) -> int:
    return sum(_blocks(file) for file in _blobs(path) if file.name.endswith(_PARTIAL))


def _used_at(path: Path) -> float:
    return max(_times(_blobs(path)), default=0.0)


def _blobs(path: Path) -> list[Path]:
    try:
        return list((path / "blobs").iterdir())
    except OSError:  # moved or deleted while we looked
        return []


def _times(files: Iterable[Path]) -> Iterable[float]:
    for file in files:
        try:
            found = os.lstat(file)
        except OSError:
            continue
        yield max(found.st_mtime, found.st_atime)


def _blocks(file: Path) -> int:
    try:
        return os.lstat(file).st_blocks * 512
    except OSError:
        return 0
