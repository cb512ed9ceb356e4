"""Rules for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_TESTS = Path(__file__).parent

# Torch shall compute with one thread, here and in the processes that tests start: sums in another order differ in their
# last bits, and the processes of a swarm would fight for the processors.
os.environ["OMP_NUM_THREADS"] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who fails gets a second try, for machines that are busy; the summary names who needed it.

    Not on a GPU's bare machine, which may lack the plug-in.
    """
    for item in items:
        if item.path.relative_to(_TESTS).parts[0] != "gpu":
            item.add_marker(pytest.mark.flaky(reruns=1))
