"""Rules for all tests."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_TESTS = Path(__file__).parent
_HAS_FAILED = pytest.StashKey[bool]()
_TIMER = pytest.StashKey[Any]()

# Torch computes with one thread, here and in the processes that tests start: sums in another order differ in their last
# bits, and the processes of a swarm would compete for the cores.
os.environ["OMP_NUM_THREADS"] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a flaky test without a reason: a second try hides a race, so it has to be worth it."""
    for item in items:
        for mark in item.iter_markers("flaky"):
            if not mark.kwargs.get("reason"):
                raise pytest.UsageError(f"{item.nodeid} is marked flaky without a reason")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember whether this try has failed so far."""
    report = yield
    item.stash[_HAS_FAILED] = report.failed or (report.when != "setup" and item.stash[_HAS_FAILED])
    return report


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Tear down module fixtures after a failure, so that a second try and the tests after it begin with fresh ones.

    A failed test may leave a shared daemon in any state, and pytest-rerunfailures keeps module fixtures for the
    second try. Session fixtures stay. This is the innermost wrapper, so that output is captured.
    """
    state = item.session._setupstate  # no public way leads to it; pytest-rerunfailures uses the same one
    try:
        if item.stash[_HAS_FAILED]:
            _give_as_much_time_again(item)
            state.teardown_exact(item.session)
        yield
    except BaseException:
        state.teardown_exact(item.session)
        raise


@pytest.hookimpl(optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> None:
    """Remember the time limit of the test."""
    item.stash[_TIMER] = settings


def _give_as_much_time_again(item: pytest.Item) -> None:
    """Restart pytest-timeout's timer, which covers all tries: a first try that hung would leave no time."""
    if (settings := item.stash.get(_TIMER, None)) is not None:
        item.ihook.pytest_timeout_cancel_timer(item=item)
        item.ihook.pytest_timeout_set_timer(item=item, settings=settings)
