"""The Triton kernels without a GPU: their numbers under triton's interpreter, and that they compile for a GPU.

Both in processes of their own: the interpreter is chosen when triton is imported, for good. Skipped where triton is
missing, as it is beside torch for the CPU; docs/decisions/0011-cuda.md says how to run it all the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

TESTS = Path(__file__).parents[2]


def test_the_kernels_compute_what_they_should() -> None:
    succeed("-m", "pytest", "-q", "-c", "gpu/pytest.ini", "gpu/test_gpu_kernels.py", TRITON_INTERPRET="1")


def test_each_kernel_compiles_for_hopper() -> None:
    succeed("helpers/compile_kernels.py", TRITON_INTERPRET="0")


def succeed(*arguments: str, **environment: str) -> None:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=TESTS, env=os.environ | environment, capture_output=True, text=True, timeout=290)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
