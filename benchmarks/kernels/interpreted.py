"""Runs a part of a figure in Triton's interpreter or with its compiler, in a process of its own, without a GPU.

Triton is not among the project's packages, so each version is installed into a folder of `.cache` for each version of
Python, with the NumPy that its interpreter needs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Lock
from typing import Any

from benchmarks import ROOT

VERSIONS = ("3.6.0", "3.7.1")
"""Versions of Triton, which torch 2.11 and 2.13 for CUDA bring."""

PYTHON = ".".join(map(str, sys.version_info[:2]))
"""The version of the running Python."""

_NUMPY = "numpy>=2,<2.4"
_INSTALL_TIMEOUT_S, _RUN_TIMEOUT_S = 300.0, 900.0
_installing = Lock()


def run(work: str, *arguments: int, version: str = VERSIONS[0], interprets: bool = True) -> dict[str, Any]:
    """Call `module:function` of this package there with these arguments and return the JSON object that it returns.

    Raises subprocess.CalledProcessError with what it said: it failed, or Triton cannot be installed.
    """
    with _installing:
        paths = (installed(version), ROOT, ROOT / "tests")
    module, _, function = work.partition(":")
    code = f"import json; from benchmarks.{module} import {function}; print(json.dumps({function}(*{arguments})))"
    command = [sys.executable, "-W", "ignore", "-c", code]
    with tempfile.TemporaryDirectory() as cache:  # a new one, for what is compiled is to be compiled now
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "TRITON_CACHE_DIR": cache,
            "TRITON_INTERPRET": str(int(interprets)),
        }
        done = subprocess.run(
            command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=_RUN_TIMEOUT_S, check=True
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def installed(version: str, python: str = PYTHON) -> Path:
    """Return a folder with this Triton for a version of Python, installed if it is not there."""
    folder = ROOT / ".cache" / f"triton-{version}-python-{python}"
    if not (folder / "triton" / "__init__.py").exists():
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--only-binary=:all:"]
        command += ["--python-version", python, "--target", str(folder), f"triton=={version}", _NUMPY]
        subprocess.run(command, timeout=_INSTALL_TIMEOUT_S, check=True)
    return folder
