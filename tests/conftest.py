"""Rules for all tests."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.programs import MARKED_ONLY, NEEDS, why_not

# Torch computes with one thread, here and in the processes that tests start: sums in another order differ in their last
# bits, and the processes of a swarm would compete for the cores.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

# Settings, keys and swarms of tests that choose no place for them never reach the home of the person who runs them.
# Each worker of pytest-xdist has a folder of its own within that of the process that started it.
if "PYTEST_XDIST_WORKER" in os.environ:
    _home = Path(os.environ["XDG_CONFIG_HOME"]).parent / os.environ["PYTEST_XDIST_WORKER"]
else:
    _removed_at_exit = tempfile.TemporaryDirectory(prefix="potluck-tests-")
    _home = Path(_removed_at_exit.name)
os.environ |= {"XDG_CONFIG_HOME": str(_home / "config"), "XDG_STATE_HOME": str(_home / "state")}

_running: list[pytest.Item] = []


def pytest_configure(config: pytest.Config) -> None:
    for marker, need in NEEDS.items():
        config.addinivalue_line("markers", f"{marker}: needs {need.why}")
    sys.addaudithook(_refuse_unmarked)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    made: pytest.Module = _Module.from_parent(parent, path=module_path)
    return made


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _running.append(item)
    try:
        return (yield)
    finally:
        _running.clear()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in NEEDS:
        if item.get_closest_marker(marker) is not None and (reason := why_not(marker)) is not None:
            pytest.skip(reason)


class _Module(pytest.Module):
    """A module whose tests are skipped if Qt's libraries are not on this system, and PySide6 cannot be imported."""

    def _getobj(self) -> Any:
        try:
            return super()._getobj()
        except self.CollectError as error:
            if "cannot open shared object file" in str(error) and (reason := why_not("qt")) is not None:
                pytest.skip(reason, allow_module_level=True)
            raise


def _refuse_unmarked(event: str, arguments: tuple[Any, ...]) -> None:
    """Fail a test that starts a program of the table and does not say so."""
    if event != "subprocess.Popen" or not _running:
        return
    program = os.path.basename(os.fsdecode(arguments[0]))
    needed = [marker for marker, need in NEEDS.items() if program in need.programs]
    if program in MARKED_ONLY and not any(_running[0].get_closest_marker(marker) for marker in needed):
        raise AssertionError(f"a test that starts {program} needs the marker {' or '.join(needed)}")
