"""uv, the installer of Python packages that Potluck brings along: finding it and running it.

Every call says where packages come from: a folder of wheels, or the indexes that the user's own configuration names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from potluck.errors import PotluckError

_MAX_WORDS = 600  # of what it said, for people


class UvError(PotluckError):
    """uv failed; the message has its last words."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where wheels come from. `folder`: only from there, no network. `index`: has the build of torch."""

    folder: Path | None = None
    index: str = ""

    @property
    def arguments(self) -> list[str]:
        if self.folder is not None:
            return ["--no-index", "--find-links", str(self.folder)]
        return ["--index", self.index, "--index-strategy", "unsafe-best-match"] if self.index else []


def find_uv() -> Path:
    """Beside this program as the packages install it, or the user's own. Raises UvError."""
    beside = Path(sys.prefix) / "bin" / "uv"
    named = os.environ.get("POTLUCK_UV") or shutil.which("uv", path=f"{beside.parent}:{_package_folder()}")
    found = named or shutil.which("uv")
    if found is None or not os.access(found, os.X_OK):
        raise UvError("uv is missing, which fetches the engine's packages", hint="install Potluck again, or install uv")
    return Path(found)


def run_uv(uv: Path, arguments: Sequence[str | Path], *, cache: Path) -> str:
    """What it prints on its standard output.

    Raises:
        UvError: with the end of what it said.
    """
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    environment |= {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "UV_CACHE_DIR": str(cache), "NO_COLOR": "1"}
    command = [str(uv), "--no-config", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        said = " ".join(done.stderr.split())[-_MAX_WORDS:]
        raise UvError(f"packages cannot be installed: {said}", hint="`potluck setup` goes on where it stopped")
    return done.stdout


def _package_folder() -> Path:
    """Where a package keeps programs of its own: beside the folder of its Python packages."""
    return Path(__file__).resolve().parents[2] / "bin"
