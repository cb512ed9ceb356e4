"""Everyday commands on odd computers, which `benchmarks/faults/places` makes: `rough_places`.

Each has namespaces of its own for files, processes, the network and the host's name, so nothing is left of it. Needs
root, `unshare`, a C compiler and openssl. `python -m benchmarks.faults.rough_places NAME...` examines some of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import platformdirs

from benchmarks.faults.places.home import all_surroundings
from benchmarks.figures import Measured, figure
from potluck.errors import PotluckError

_LONGEST = ("frozen", "session_that_ends")
_NAMES = (*_LONGEST, *(name for name in all_surroundings() if name not in _LONGEST))
_NAMESPACES = ("unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--mount-proc", "--kill-child")
_REAPER = ("sh", "-c", '"$@"; exit $?', "sh")  # the first process of a namespace inherits the orphans there
_AT_ONCE = 6  # most of them wait more than they compute
_GIVE_UP_S = 900.0
_SHIM = Path(__file__).parent / "places" / "shim.c"


@figure("rough_places", unit="surroundings", reach=0, shown=True)
def rough(soak: bool) -> Measured:
    """Of 49 odd computers (a full disk, no flock, 100 s frozen, ...): those on which a person's day of commands goes
    wrong.

    Wrong is an internal error, a command that hangs, an untrue answer, no hint, or code run that is not ours. In
    soak, each computer serves and answers as well.
    """
    found = dict(_examine(_NAMES, soak=soak))
    return Measured(sum(map(bool, found.values())), {"surroundings": len(found), "found": found})


def _examine(names: Sequence[str], *, soak: bool) -> Iterator[tuple[str, list[str]]]:
    with _shared() as shared, ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from zip(names, pool.map(lambda name: _findings(name, shared, soak=soak), names), strict=True)


@contextlib.contextmanager
def _shared() -> Iterator[Path]:
    """A folder that every user can read, with what is compiled once. Raises PotluckError where that fails."""
    kernels = platformdirs.user_cache_path("potluck") / "kernels"
    kernels.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pl-") as folder:
        os.chmod(folder, 0o755)
        shutil.copytree(kernels, Path(folder, "kernels"))
        try:
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", f"{folder}/shim.so", _SHIM, "-ldl"], check=True)
            subprocess.run([*_NAMESPACES, "true"], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise PotluckError(f"no odd computers here: {error}", hint="run as root, with unshare and cc") from error
        yield Path(folder)


def _findings(name: str, shared: Path, *, soak: bool) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="pl-") as folder:
        words = (name, folder, str(shared), "serves" if soak else "-")
        inside = (sys.executable, "-m", "benchmarks.faults.places", *words)
        try:
            done = subprocess.run([*_NAMESPACES, *_REAPER, *inside], stdout=subprocess.PIPE, timeout=_GIVE_UP_S)
            return list(json.loads(done.stdout.splitlines()[-1]))
        except (subprocess.TimeoutExpired, IndexError, ValueError) as error:
            return [f"the examination itself failed: {error!r}"]


if __name__ == "__main__":
    for name, findings in _examine(sys.argv[1:] or _NAMES, soak=False):
        print(f"{name}: {len(findings)}", *findings, sep="\n  - ", flush=True)
