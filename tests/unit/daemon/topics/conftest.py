"""A daemon in folders of its own, without swarm and desktop."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from helpers.own_daemon import Ask, asking, own_daemon
from potluck_control.places import Places
from potluck_daemon import loop
from potluck_daemon.daemon import Daemon


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the daemon finds in its environment. It has no engine, so it serves nothing. A test may add to it."""
    monkeypatch.setattr(loop, "has_torch", lambda _python: False)
    return {"HF_HUB_CACHE": str(tmp_path / "hub"), "XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}


@pytest_asyncio.fixture()
async def daemon(places: Places, environment: dict[str, str]) -> AsyncIterator[Daemon]:
    async with own_daemon(places, environment) as made:
        yield made


@pytest.fixture
def ask(daemon: Daemon) -> Ask:
    return asking(daemon)
