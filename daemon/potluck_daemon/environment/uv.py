"""Finds and runs uv, the installer of Python packages that comes with Potluck, and explains its failures.

Every call names the source of packages: a folder of wheels, or the indexes of the user's own configuration.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from potluck_control.processes.python_command import child_environment

from potluck.errors import NetworkError, PotluckError, explained
from potluck.processes import tied_to_parent
from potluck.sentences import sentence
from potluck.unreachable import why_unreachable

_NAMED_BY_USERS = ("UV_FIND_LINKS", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_TORCH_BACKEND")
_MAX_WORDS = 400  # letters of uv's output that people read
_OF_DISKS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)
_URL = re.compile(r"https?://[^\s)`]+")
_UNKNOWN = re.compile(r"Because (?:there is no version of )?([A-Za-z0-9._-]+)(?:\{[^}]*\})?(==[^\s,]+)?")


class PackagesMissingError(NetworkError):
    """No index has the packages, or none answers."""


def source_options(build: str, folder: Path | None = None) -> list[str]:
    """Return uv's options for the source of packages.

    Args:
        build: torch's build by uv's own name for it, whose index is used if the user set no source; empty: the default.
        folder: take all wheels from there, without a network.
    """
    if folder is not None:
        return ["--no-index", "--find-links", str(folder)]
    is_named = any(os.environ.get(name) for name in _NAMED_BY_USERS)
    return ["--torch-backend", build] if build and not is_named else []


def find_uv() -> Path:
    """Return the uv that packages install beside this program, or the user's own. Raises PotluckError."""
    beside = Path(sys.prefix) / "bin" / "uv"
    of_package = Path(__file__).resolve().parents[2] / "bin"
    named = os.environ.get("POTLUCK_UV") or shutil.which("uv", path=f"{beside.parent}:{of_package}")
    found = named or shutil.which("uv")
    if found is None or not os.access(found, os.X_OK):
        raise PotluckError(
            sentence("uv, which fetches the engine's packages, is missing"),
            hint=sentence("install Potluck again, or install uv"),
        )
    return Path(found)


def run_uv(arguments: Sequence[str | Path], *, cache: Path) -> None:
    """Run uv.

    A failure deletes uv's cache, which might be the reason and is quickly made again.

    Raises:
        PackagesMissingError: no index has the packages, or none answers.
        PotluckError: uv failed; the message says why in plain words.
    """
    uv = find_uv()
    settings = {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "UV_CACHE_DIR": str(cache), "NO_COLOR": "1"}
    command = tied_to_parent([str(uv), "--no-config", *map(str, arguments)])
    done = subprocess.run(
        command, capture_output=True, text=True, env=child_environment(python=uv) | settings, check=False
    )
    if done.returncode != 0:
        shutil.rmtree(cache, ignore_errors=True)
        raise uv_failure(done.stderr, cache.parent)


def uv_failure(output: str, folder: Path) -> PotluckError:
    """Return the error that explains what uv printed. `folder`: where it was to write."""
    words = " ".join(output.split()) or "it ended without a message; is there enough memory?"
    low = words.lower()
    number = next((number for number in _OF_DISKS if f"os error {number})" in low), 0)
    refused = explained(OSError(number, os.strerror(number)), folder) if number else None
    if refused is not None:
        return refused
    if "no solution found" in low:
        found = _UNKNOWN.search(words)
        text = sentence(
            "the package index does not have {what}", what=found[1] + (found[2] or "") if found else "torch"
        )
        advice = sentence("see that the index of packages is the right one (UV_DEFAULT_INDEX)")
    elif "error sending request" in low:
        found = _URL.search(words)
        text, advice = why_unreachable((found and urlsplit(found[0]).hostname) or "the index of packages", words)
    else:
        again = sentence("try again: it continues where it stopped")
        return PotluckError(sentence("packages cannot be installed: {why}", why=words[-_MAX_WORDS:]), hint=again)
    hint = sentence("{advice}, then try again: it continues where it stopped", advice=advice)
    return PackagesMissingError(text, hint=hint)
