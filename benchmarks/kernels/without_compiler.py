"""Kernels of the engine on machines that cannot compile C, as donors' machines are: `without_compiler`.

Each version of Python gets the Triton that its engine would get, no compiler and no headers, and a library in place of
NVIDIA's driver, which keeps what each launch was given. That must equal what Triton's own launcher gives it, which is
compiled beside that. A version of Python that is not on this machine is named and does not count.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.figures import Measured, figure
from benchmarks.kernels.interpreted import PYTHON, VERSIONS, installed
from tests.helpers.cuda_stub import build_driver

_PYTHONS = ("3.11", "3.12", "3.13")
_OLDER_TRITON, _TRITON = VERSIONS  # what comes with the torch before the engine's, and with the engine's
_MOST_RATIO = 1.5  # most of the time of a kernel's call, over Triton's own
_RUN_TIMEOUT_S = 100.0


@figure("without_compiler", unit="environments", reach=0)
def environments(soak: bool) -> Measured:
    """Engines of Python 3.11 to 3.13 whose kernels cannot be launched without a C compiler and headers.

    With Triton 3.7.1, and also 3.6.0: the stand-in for NVIDIA's driver must get the bytes that Triton's own
    launcher gives it, and a kernel's call take at most 1.5 times as long.
    """
    pythons = {version: _interpreter(version) for version in _PYTHONS}
    with tempfile.TemporaryDirectory(prefix="without-compiler-") as name:
        folder = Path(name)
        build_driver(folder)
        wanted = {triton: _run(folder, PYTHON, triton, "launch(True, False)") for triton in (_TRITON, _OLDER_TRITON)}
        ratios = {triton: _run(folder, PYTHON, triton, "compare()") for triton in wanted}
        older = _run(folder, PYTHON, _OLDER_TRITON, "launch(False, True)", has_compiler=False)
        alone = _run(folder, PYTHON, _TRITON, "launch(False, False)", has_compiler=False)
        found = {
            version: {"error": "not on this machine"}
            if python is None
            else _run(folder, version, _TRITON, "launch(False, True)", has_compiler=False, python=python)
            for version, python in pythons.items()
        }
    are_launched = {version: _are_equal(made, wanted[_TRITON]) for version, made in found.items()}
    detail = {
        "kernels": len(wanted[_TRITON].get("launches", ())),
        **{f"python {version}": found[version].get("error", are_launched[version]) for version in _PYTHONS},
        f"triton {_OLDER_TRITON}": older.get("error", _are_equal(older, wanted[_OLDER_TRITON])),
        "triton's own launcher": {triton: made["error"] for triton, made in wanted.items() if "error" in made},
        "and without a compiler": alone.get("error", "launches"),
        "call_us": ratios,
    }
    holds = None not in pythons.values() and _are_equal(older, wanted[_OLDER_TRITON]) and "error" in alone
    holds = holds and all(made.get("ratio", _MOST_RATIO + 1) <= _MOST_RATIO for made in ratios.values())
    return Measured(len(_PYTHONS) - sum(are_launched.values()), detail, holds)


def _are_equal(made: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return "launches" in made and made == wanted


def _run(
    folder: Path, version: str, triton: str, call: str, *, has_compiler: bool = True, python: str = sys.executable
) -> dict[str, Any]:
    """Return what a function of `launches` returns in a process with this Triton and the library in `folder`."""
    path = os.environ.get("PATH", "") if has_compiler else str(folder / "nothing")
    environment = {key: value for key, value in os.environ.items() if key not in ("CC", "TRITON_INTERPRET")}
    environment |= {
        "PATH": path,
        "PYTHONPATH": os.pathsep.join((str(installed(triton, version)), str(ROOT))),
        "LD_LIBRARY_PATH": str(folder),
        "TRITON_LIBCUDA_PATH": str(folder),
        "TRITON_CACHE_DIR": str(folder / f"kernels-{has_compiler}"),  # has Triton's launcher once it was compiled
    }
    code = f"import json; from benchmarks.kernels.driver import *; print(json.dumps({call}))"
    command = [python, "-W", "ignore", "-c", code]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=_RUN_TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1][:200]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _interpreter(version: str) -> str | None:
    """Return a Python of this version, without what is installed for the project if there is one."""
    for path in _candidates(version):
        code = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return path
    return None


def _candidates(version: str) -> Iterator[str]:
    if version == PYTHON:
        yield sys.executable
    yield from map(str, (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python{version}"))
    if (found := shutil.which(f"python{version}")) is not None:
        yield found
    if shutil.which("uv") is not None:
        command = ["uv", "python", "find", version]
        yield from subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()[:1]
