"""Rules for all tests."""

from __future__ import annotations

import os

import pytest

# Torch computes with one thread, here and in the processes that tests start: sums in another order differ in their last
# bits, and the processes of a swarm would compete for the cores.
os.environ["OMP_NUM_THREADS"] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a flaky test without a reason: a second try hides a race, so it has to be worth it."""
    for item in items:
        for mark in item.iter_markers("flaky"):
            if not mark.kwargs.get("reason"):
                raise pytest.UsageError(f"{item.nodeid} is marked flaky without a reason")
