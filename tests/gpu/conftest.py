"""Where the tests of a GPU run: on the GPU, or with TRITON_INTERPRET=1 on the CPU with interpreted kernels.

With the settings of `pytest.ini` beside this file a GPU is asked for, so a lack of it fails; without them the tests are
skipped where there is none. Imports nothing of the project but `potluck.blocks`, `potluck.checkpoint` and
`benchmarks.gpu`, and no plugin: a machine with a GPU may have neither hivemind nor what the other tests need.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.gpu.requirements import what_lacks

IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
SETTINGS = Path(__file__).with_name("pytest.ini")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--out", type=Path, metavar="FOLDER", help="append each test's result to tests.jsonl there")


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("--out", None)
    if folder is not None and not hasattr(config, "workerinput"):  # which xdist gives to its other processes
        config.pluginmanager.register(_Results(folder / "tests.jsonl"))


def pytest_sessionstart(session: pytest.Session) -> None:
    if session.config.inipath == SETTINGS and (lack := what_lacks(needs_gpu=not IS_INTERPRETED)):
        pytest.exit(lack, returncode=1)


class _Results:
    """Writes down each test's result as it ends, for runs that are cut off."""

    def __init__(self, file: Path) -> None:
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        line: dict[str, Any] = {"test": report.nodeid, "outcome": report.outcome, "seconds": round(report.duration, 2)}
        line |= dict(report.user_properties)
        if not report.passed:
            line["why"] = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longreprtext
        with self._file.open("a") as file:
            file.write(json.dumps(line) + "\n")


@pytest.fixture(scope="session")
def device() -> torch.device:
    if IS_INTERPRETED:
        return torch.device("cpu")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    return torch.device("cuda")


@pytest.fixture
def gpu(device: torch.device) -> torch.device:
    """For what only a real GPU can do."""
    if device.type != "cuda":
        pytest.skip("needs a GPU")
    return device


@pytest.fixture(autouse=True)
def _interpreted_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the interpreter, the CPU counts as a device with kernels, and does nothing in its own ways."""
    if IS_INTERPRETED:
        monkeypatch.setattr("potluck.blocks.span.trial.uses_kernels", lambda device: True)
        monkeypatch.setattr("potluck.blocks.span.trial.why_no_kernels", lambda device: None)
        monkeypatch.setattr("potluck.blocks.span.block_span.multiply_natively", lambda block: None)
        monkeypatch.setattr("potluck.blocks.formats.matrices._is_for_kernel", lambda *arguments: False)
        interpret_bfloat16(monkeypatch)


def interpret_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute with bfloat16 as a GPU does.

    Triton's interpreter 3.6 and 3.7 holds it as integers, which it multiplies as such, and cuts numbers off instead of
    rounding them.
    """
    import numpy as np
    from triton import language
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

    dot, cast = InterpreterBuilder.create_dot, InterpreterBuilder.cast_impl

    def widened(handle: Any) -> Any:
        if handle.dtype.scalar != language.bfloat16:
            return handle
        return TensorHandle((handle.data.astype(np.uint32) << 16).view(np.float32), language.float32)

    def rounding_cast(builder: Any, source: Any, kind: Any) -> Any:
        if kind.scalar != language.bfloat16 or source.dtype.scalar == language.bfloat16:
            return cast(builder, source, kind)
        numbers = torch.from_numpy(np.ascontiguousarray(source.data, np.float32)).bfloat16().view(torch.int16).numpy()
        return TensorHandle(numbers.view(np.uint16).reshape(source.data.shape), language.bfloat16)

    widening_dot = lambda builder, left, right, *rest: dot(builder, widened(left), widened(right), *rest)  # noqa: E731
    monkeypatch.setattr(InterpreterBuilder, "create_dot", widening_dot)
    monkeypatch.setattr(InterpreterBuilder, "cast_impl", rounding_cast)


@pytest.fixture(scope="session")
def family_folder(device: torch.device, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A random checkpoint of a family, made once."""
    from helpers.tiny_models import save_random  # after `device`: without one, nothing heavy is imported

    made: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in made:
            made[family] = save_random(family, tmp_path_factory.mktemp(family))
        return made[family]

    return folder
