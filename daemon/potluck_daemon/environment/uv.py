"""Finds and runs uv, the installer of Python packages that comes with Potluck.

Every call says where packages come from: a folder of wheels, or the indexes of the user's own configuration.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from potluck_control.own_python import child_environment

from potluck.processes import tied_to_parent
from potluck.sentences import sentence
from potluck_daemon.environment.failures import UvError, of_uv

_NAMED_BY_USERS = ("UV_FIND_LINKS", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_TORCH_BACKEND")


@dataclass(frozen=True, slots=True)
class WheelSources:
    """The sources of wheels.

    Attributes:
        folder: take all wheels from there, without a network.
        index: has the build of torch.
        build: torch's build by uv's own name for it, used if the user set no source.
    """

    folder: Path | None = None
    index: str = ""
    build: str = ""

    @property
    def arguments(self) -> list[str]:
        if self.folder is not None:
            return ["--no-index", "--find-links", str(self.folder)]
        if self.index:
            return ["--index", self.index, "--index-strategy", "unsafe-best-match"]
        if self.build and not any(os.environ.get(name) for name in _NAMED_BY_USERS):
            return ["--torch-backend", self.build]
        return []


def find_uv() -> Path:
    """Return the uv that packages install beside this program, or the user's own. Raises UvError."""
    beside = Path(sys.prefix) / "bin" / "uv"
    named = os.environ.get("POTLUCK_UV") or shutil.which("uv", path=f"{beside.parent}:{_package_folder()}")
    found = named or shutil.which("uv")
    if found is None or not os.access(found, os.X_OK):
        raise UvError(
            sentence("uv, which fetches the engine's packages, is missing"),
            hint=sentence("install Potluck again, or install uv"),
        )
    return Path(found)


def run_uv(uv: Path, arguments: Sequence[str | Path], *, cache: Path) -> str:
    """Run uv and return its standard output.

    A failure deletes uv's cache, which might be the reason and is quickly made again.

    Raises:
        PotluckError: uv failed; the message says why in plain words.
    """
    settings = {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "UV_CACHE_DIR": str(cache), "NO_COLOR": "1"}
    command = tied_to_parent([str(uv), "--no-config", *map(str, arguments)])
    done = subprocess.run(
        command, capture_output=True, text=True, env=child_environment(python=uv) | settings, check=False
    )
    if done.returncode != 0:
        shutil.rmtree(cache, ignore_errors=True)
        raise of_uv(done.stderr, cache.parent)
    return done.stdout


def _package_folder() -> Path:
    """Return the folder of programs beside a package's Python files."""
    return Path(__file__).resolve().parents[2] / "bin"
