"""Runs a part of a figure in Triton's interpreter or with its compiler, in a process of its own, without a GPU.

Triton is not among the project's packages, so where it is missing it is installed into `.cache/triton`, with the NumPy
that its interpreter needs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]
_FOLDER = _ROOT / ".cache" / "triton"
_PACKAGES = ("triton==3.6.0", "numpy>=2,<2.4")
_INSTALL_TIMEOUT_S, _RUN_TIMEOUT_S = 300.0, 280.0


def run(work: str, *arguments: int, interprets: bool = True) -> dict[str, Any]:
    """Call `module:function` of this package there with these arguments and return the JSON object that it returns.

    Raises subprocess.CalledProcessError with what it said: it failed, or Triton cannot be installed.
    """
    environment = os.environ | {"TRITON_INTERPRET": "1" if interprets else "0"}
    paths = [str(_ROOT), str(_ROOT / "tests")]
    if find_spec("triton") is None:
        paths.insert(0, str(_installed()))
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    module, _, function = work.partition(":")
    code = f"import json; from benchmarks.{module} import {function}; print(json.dumps({function}(*{arguments})))"
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(
        command, env=environment, cwd=_ROOT, stdout=subprocess.PIPE, text=True, timeout=_RUN_TIMEOUT_S, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _installed() -> Path:
    if not (_FOLDER / "triton" / "__init__.py").exists():
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(_FOLDER), *_PACKAGES]
        subprocess.run(command, timeout=_INSTALL_TIMEOUT_S, check=True)
    return _FOLDER
