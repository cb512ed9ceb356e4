"""The first half hour with a GPU, tried without one: `gpu_ready`.

The commands are those of docs/decisions/0011-cuda.md for a bare machine. They run in an environment that has its
packages, in `.cache/gpu_ready`: Python 3.12, torch for CUDA with Triton, and a Transformers that is too old. The right
one and msgspec come as wheels. Making it takes 5 GB and a minute, once. Triton's interpreter replaces the GPU in tests.
The code of speed and memory runs with tiny blocks, and its commands must say in a sentence that there is no GPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from importlib import import_module
from pathlib import Path

from benchmarks import ROOT
from benchmarks.figures import Measured, figure

_FOLDER = ROOT / ".cache" / "gpu_ready"
_PACKAGES = ("torch==2.11.0", "triton==3.6.0", "transformers==5.17.0", "psutil", "pytest", "pytest-xdist")
_NUMPY = "numpy>=2,<2.4"  # the interpreter fails with later ones
_WHEELS = ("transformers==5.23.0", "msgspec==0.22.0")
_FOR_ANOTHER = ("--no-deps", "--only-binary=:all:", "--python-version", "3.12", "--implementation", "cp")
_PLATFORMS = ("--platform", "manylinux_2_28_x86_64", "--platform", "manylinux_2_17_x86_64")
_SITE = (
    "python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade "
    "--target {site} {folder}/wheels/*.whl && export PYTHONPATH={site}"
)
_TESTS = "TRITON_INTERPRET=1 PATIENCE=20 benchmarks/gpu/run --out {out} correctness int8"
_TINY = "python3 -m pytest -q -c tests/gpu/pytest.ini tests/unit/benchmarks/test_gpu_benchmarks.py"
_REFUSED = (
    "benchmarks/gpu/run --out {out} correctness",
    "benchmarks/gpu/run --out {out} speed memory",
    "python3 -m benchmarks.gpu gpu_decode_1 --soak --out {out}",
)
_NO_GPU = "there is no GPU: nothing was run"
_FAMILIES = ("qwen3", "mixtral")  # families without --soak; each takes half a minute of a processor's time
_INSTALL_TIMEOUT_S, _RUN_TIMEOUT_S = 1200.0, 3000.0


@figure("gpu_ready", unit="failures", reach=0)
def failures(soak: bool) -> Measured:
    """Commands for the first contact with a GPU that fail without one for another reason than the want of it.

    The commands of docs/decisions/0011-cuda.md, in Python 3.12 with torch 2.11 for CUDA, which takes 5 GB in
    `.cache` and a minute the first time, Triton 3.6.0 and its interpreter; steps of two families (16 in soak);
    speed and memory with tiny blocks on the CPU.
    """
    _make_environment()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        out, site = Path(folder, "out"), Path(folder, "site")

        def run(command: str, options: str = "") -> subprocess.CompletedProcess[str]:
            whole = f"{_SITE} && {command}".format(site=site, folder=_FOLDER, out=out)
            return _run(whole, {"PYTEST_ADDOPTS": options, "CUDA_VISIBLE_DEVICES": ""})

        for command in _REFUSED:
            done = run(command)
            if done.returncode != 1 or done.stderr.strip() != _NO_GPU:
                found.append(f"{command}: {done.returncode}, {(done.stderr or done.stdout)[-500:]}")
        run(_TESTS, "" if soak else _without_other_families())
        done = run(_TINY)
        if done.returncode:
            found.append(f"{_TINY}: {done.stdout[-500:]}")
        results = [json.loads(line) for line in (out / "tests.jsonl").read_text().splitlines()]
        found += [result["test"] for result in results if result["outcome"] == "failed"]
        parts = (out / "summary.txt").read_text().splitlines()
        found += [part for part in parts if ": ok after" not in part]
    outcomes = [result["outcome"] for result in results]
    detail = {"failures": found, "passed": outcomes.count("passed"), "skipped": outcomes.count("skipped")}
    return Measured(len(found), detail | {"parts": parts}, holds="passed" in outcomes)


def _make_environment() -> None:
    """Make the environment of a bare machine, and fetch the wheels that travel there, unless they are there.

    Raises:
        OSError: there is no Python 3.12 on this machine.
        subprocess.CalledProcessError: the packages cannot be installed.
    """
    wanted = "\n".join((*_PACKAGES, _NUMPY, *_WHEELS))
    stamp = _FOLDER / "packages.txt"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    python, pip = _FOLDER / "bin" / "python3", ("-m", "pip", "-qq", "--disable-pip-version-check")
    version = {
        **os.environ,
        "PYENV_VERSION": "3.12",
    }  # Otherwise pyenv's python3.12 may be of another environment's choice.
    for command in (
        ("python3.12", "-m", "venv", "--clear", _FOLDER),
        (python, *pip, "install", *_PACKAGES, _NUMPY),
        (python, *pip, "download", *_FOR_ANOTHER, *_PLATFORMS, "-d", _FOLDER / "wheels", *_WHEELS),
    ):
        subprocess.run(command, env=version, timeout=_INSTALL_TIMEOUT_S, check=True)
    stamp.write_text(wanted)


def _without_other_families() -> str:
    """Return pytest's options that leave out the tests of most families."""
    others = set(import_module("gpu.test_gpu_steps").FUSED).difference(_FAMILIES)
    tests = (
        "test_steps_over_int8_pages_equal_those_of_plain_torch",
        "test_a_step_of_decode_rows_and_prefill_chunks_equals_each_row_in_eager_code",
        "test_steps_in_bfloat16_err_little_more_than_eager_code",
    )
    return " ".join(f"--deselect test_gpu_steps.py::{test}[{family}]" for test in tests for family in others)


def _run(command: str, more: dict[str, str]) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PATH": f"{_FOLDER / 'bin'}{os.pathsep}{os.environ['PATH']}", **more}
    return subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=_RUN_TIMEOUT_S
    )
