"""A daemon in folders of its own, without swarm and desktop."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from helpers.own_daemon import Ask, asking, own_daemon
from potluck_control.places import Places
from potluck_daemon.daemon import Daemon


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What the daemon finds in its environment: it serves nothing. A test may add to it."""
    folders = {"HF_HUB_CACHE": str(tmp_path / "hub"), "XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}
    return folders | {"POTLUCK_SERVE_ENABLED": "off"}


@pytest_asyncio.fixture()
async def daemon(places: Places, environment: dict[str, str]) -> AsyncIterator[Daemon]:
    async with own_daemon(places, environment) as made:
        yield made


@pytest.fixture
def ask(daemon: Daemon) -> Ask:
    return asking(daemon)
