"""Keeps the engine's environments on the disk: the current one, the one before it, and unfinished ones.

    ROOT/current, ROOT/previous    links to folders beside them; a switch replaces `current` in one step
    ROOT/cpu-1a2b3c4d/             an environment, with `environment.json` once it passed its trial
    ROOT/wheels/                   packages fetched for an environment that is being made

A folder without `environment.json` is unfinished; the next attempt deletes it.

Finds the Python that runs the engine: the settings' choice, the engine's environment, or this very one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from potluck_control.places import Places

from potluck.errors import PotluckError
from potluck.files import replace_link, write_atomically
from potluck.locks import open_locked
from potluck.protocol.codec import CodecError, decode, encode
from potluck.sentences import sentence

_MANIFEST = "environment.json"
_CURRENT, _PREVIOUS = "current", "previous"


@dataclass(frozen=True, slots=True)
class EnvironmentManifest:
    """The parts that an environment was made from, at `made_at` in Unix seconds."""

    variant: str
    torch: str
    requirements: str  # digest of the requirements file
    python: str  # such as `3.11`
    devices: tuple[str, ...]  # the devices that its trial computed on
    made_at: float


class Store:
    """The environments in the folder `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def wheels(self) -> Path:
        return self.root / "wheels"

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock. Raises PotluckError if another process holds it."""
        self.root.mkdir(parents=True, exist_ok=True)
        try:
            handle = open_locked(self.root / ".lock")
        except BlockingIOError:
            text = sentence("the engine is being set up already")
            raise PotluckError(text, hint=sentence("wait until that is done, or end it")) from None
        with open(handle, "w"):
            yield

    def free(self, name: str) -> Path:
        """Return a folder of that name, or another one beside it if that is still in use."""
        places = (self.root / other for other in (name, f"{name}-2", f"{name}-3"))
        return next(place for place in places if place not in (self.current(), self.previous()))

    def current(self) -> Path | None:
        """Return the folder of the environment in use; None if there is none."""
        return self._linked(_CURRENT)

    def previous(self) -> Path | None:
        """Return the folder of the environment before that; None if there is none."""
        return self._linked(_PREVIOUS)

    def orphan(self) -> EnvironmentManifest | None:
        """Return the manifest of the current environment if its Python is gone, as after a system's upgrade."""
        folder = self.root / _CURRENT
        return None if interpreter(folder).exists() else _manifest(folder)

    def finish(self, folder: Path, manifest: EnvironmentManifest) -> None:
        """Write the manifest that makes the environment count.

        Everything else is written to the disk first: a power cut must not leave a manifest without its environment.
        """
        os.sync()
        write_atomically(folder / _MANIFEST, encode(manifest), mode=0o644)

    def switch(self, folder: Path) -> None:
        """Switch to the environment in `folder`, keep the one before it, and remove everything else."""
        old = self.current()
        if old is not None and old != folder:
            replace_link(self.root / _PREVIOUS, old.name)
        replace_link(self.root / _CURRENT, folder.name)
        self.tidy()

    def tidy(self) -> None:
        """Remove fetched packages and every environment but the current and the previous one."""
        kept = {self.current(), self.previous()}
        for path in self.root.iterdir():
            if path.is_dir() and not path.is_symlink() and path not in kept:
                (path / _MANIFEST).unlink(missing_ok=True)  # whatever is left of it no longer counts
                shutil.rmtree(path, ignore_errors=True)

    def _linked(self, name: str) -> Path | None:
        link = self.root / name
        folder = link.parent / os.readlink(link) if link.is_symlink() else None
        return folder if folder is not None and read_manifest(folder) is not None else None


def read_manifest(folder: Path) -> EnvironmentManifest | None:
    """Return the manifest in `folder`; None if it holds no finished environment."""
    return _manifest(folder) if interpreter(folder).exists() else None


def interpreter(folder: Path) -> Path:
    """Return the Python of the environment in `folder`."""
    return folder / "bin" / "python"


def engine_python(places: Places, named: str) -> str:
    """Return the engine's interpreter; `named` is the setting `serve.python`."""
    folder = Store(places.engines).current()
    return named or (str(interpreter(folder)) if folder is not None else sys.executable)


def has_torch(python: str) -> bool:
    """Return whether an engine can run there. An interpreter that was made or named for it is trusted to have torch."""
    return python != sys.executable or find_spec("torch") is not None


def _manifest(folder: Path) -> EnvironmentManifest | None:
    try:
        return decode(EnvironmentManifest, (folder / _MANIFEST).read_bytes())
    except (OSError, CodecError):
        return None
