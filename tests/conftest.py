"""Rules for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

_REAL = {"integration", "e2e", "system"}
_TESTS = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with real processes get a second try, for machines that are busy; the summary counts who needed it."""
    for item in items:
        if item.path.relative_to(_TESTS).parts[0] in _REAL:
            item.add_marker(pytest.mark.flaky(reruns=1))
