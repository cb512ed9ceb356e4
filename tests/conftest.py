"""Rules for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

_TESTS = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who fails gets a second try, for machines that are busy; the summary names who needed it.

    Not on a GPU's bare machine, which may lack the plug-in.
    """
    for item in items:
        if item.path.relative_to(_TESTS).parts[0] != "gpu":
            item.add_marker(pytest.mark.flaky(reruns=1))
