"""How long the tests take, and whether they depend on anything but the code.

Without `--soak` a figure runs a sixth of the test files, chosen by their names, and scales times by what it left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from xml.etree import ElementTree

from benchmarks import ROOT
from benchmarks.code.house import code_lines
from benchmarks.figures import Measured, figure

_FOLDERS = {"test": ("tests/unit", "tests/integration", "tests/e2e"), "test-system": ("tests/system", "tests/faults")}
_SAMPLE = 6
_BAD = ("failure", "error", "skipped")


@figure("test_lines", unit="lines", reach=40_000)
def count_lines(_: bool) -> Measured:
    """Lines of tests that are neither blank, comment nor docstring."""
    files = sorted((ROOT / "tests").rglob("*.py"))
    return Measured(sum(code_lines(file) for file in files), {"files": len(files)})


@figure("suite_minutes", unit="minutes", reach=8, shown=True)
def suite_minutes(soak: bool) -> Measured:
    """Minutes of `make test`, environment ready, on an idle machine of two cores (a sixth of the files; all in
    soak).
    """
    return _minutes("test", soak)


@figure("system_minutes", unit="minutes", reach=17)
def system_minutes(soak: bool) -> Measured:
    """Minutes of `make test-system`, environment ready, on an idle machine of two cores (a sixth of the files; all in
    soak).
    """
    return _minutes("test-system", soak)


def _minutes(target: str, soak: bool) -> Measured:
    files = _files(target, soak)
    load, began = os.getloadavg()[0], time.monotonic()
    if target == "test" and not soak:  # it checks the whole source, however few files it tests
        subprocess.run(["make", "check"], cwd=ROOT, stdout=sys.stderr, check=True)
    fixed = (time.monotonic() - began) / 60
    began = time.monotonic()
    outcomes = _run(target, soak)
    minutes = (time.monotonic() - began) / 60
    wrong = sorted(name for name, outcome in outcomes.items() if outcome in ("failure", "error"))
    share = len(files) / len(_files(target, soak=True))
    detail = {"tests": len(outcomes), "failed": wrong, "files": len(files), "minutes_measured": round(minutes, 2)}
    return Measured(fixed + (minutes - fixed) / share, {**detail, "load_before": load}, bool(outcomes) and not wrong)


def _files(target: str, soak: bool) -> list[str]:
    found = [file for name in _FOLDERS[target] for file in (ROOT / name).rglob("test_*.py")]
    files = sorted(str(file.relative_to(ROOT)) for file in found)
    return [file for file in files if soak or zlib.crc32(file.encode()) % _SAMPLE == 0]


def _run(target: str, soak: bool) -> dict[str, str]:
    """Run `make TARGET` and return the outcome of each test by its name."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        subprocess.run(
            ["make", "--no-print-directory", target, *_chosen(target, soak)],
            cwd=ROOT,
            env={**os.environ, "PYTEST_ADDOPTS": f"--junitxml={report}"},
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            check=False,
        )
        return _outcomes(report)


def _chosen(target: str, soak: bool) -> list[str]:
    return [] if soak else [f"TESTS={' '.join(_files(target, soak))}"]


def _outcomes(report: Path) -> dict[str, str]:
    """Return "passed", "failure", "error" or "skipped" of each test; nothing if there is no report."""
    if not report.exists():
        return {}
    outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        found = [kind for kind in _BAD if case.find(kind) is not None]
        outcomes[f"{case.get('classname')}::{case.get('name')}"] = found[0] if found else "passed"
    return outcomes
