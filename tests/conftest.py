"""Rules for all tests."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

# Torch computes with one thread, here and in the processes that tests start: sums in another order differ in their last
# bits, and the processes of a swarm would compete for the cores.
os.environ["OMP_NUM_THREADS"] = "1"

# Settings, keys and swarms of tests that choose no place for them never reach the home of the person who runs them.
# Each worker of pytest-xdist has a folder of its own within that of the process that started it.
if "PYTEST_XDIST_WORKER" in os.environ:
    _home = Path(os.environ["XDG_CONFIG_HOME"]).parent / os.environ["PYTEST_XDIST_WORKER"]
else:
    _removed_at_exit = tempfile.TemporaryDirectory(prefix="potluck-tests-")
    _home = Path(_removed_at_exit.name)
os.environ |= {"XDG_CONFIG_HOME": str(_home / "config"), "XDG_STATE_HOME": str(_home / "state")}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a flaky test without a reason: a second try hides a race, so it has to be worth it."""
    for item in items:
        for mark in item.iter_markers("flaky"):
            if not mark.kwargs.get("reason"):
                raise pytest.UsageError(f"{item.nodeid} is marked flaky without a reason")
