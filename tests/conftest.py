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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember whether this try has failed so far."""
    report = yield
    item.stash[_HAS_FAILED] = report.failed or (report.when != "setup" and item.stash[_HAS_FAILED])
    return report


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Who fails takes what its module shares down too: a second try, and the tests after it, begin with fresh things.

    A failed test may leave a shared daemon in any state, and pytest-rerunfailures keeps what a module shares
    for the second try. What the whole session shares stays. This is the innermost wrapper, so that output is captured.
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
    """Remember how much time the test has."""
    item.stash[_TIMER] = settings


def _give_as_much_time_again(item: pytest.Item) -> None:
    """pytest-timeout has one timer for all tries: a first one that hung would leave the second one none of it."""
    if (settings := item.stash.get(_TIMER, None)) is not None:
        item.ihook.pytest_timeout_cancel_timer(item=item)
        item.ihook.pytest_timeout_set_timer(item=item, settings=settings)
