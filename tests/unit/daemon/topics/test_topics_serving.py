"""Pausing and resuming when the disk doesn't take it."""

from __future__ import annotations

import json

import pytest
from helpers.own_daemon import Ask
from potluck_control import schema
from potluck_control.client import ControlError
from potluck_control.places import Places
from potluck_control.states import State

pytestmark = pytest.mark.asyncio


async def test_a_pause_that_is_not_on_the_disk_is_not_confirmed(ask: Ask, places: Places) -> None:
    copy = places.state / "state.json.copy"
    copy.unlink()
    copy.mkdir()
    with pytest.raises(
        ControlError, match=r"^Potluck is paused, but forgets it when it restarts: cannot write .*state"
    ):
        await ask(schema.PAUSE, schema.PauseParams(3600))
    assert (await ask(schema.STATUS)).state is State.PAUSED
    assert json.loads(places.state_file.read_bytes()).get("pause") is None
    copy.rmdir()
    await ask(schema.PAUSE, schema.PauseParams(7200))
    assert json.loads(places.state_file.read_bytes())["pause"]["until"]
    copy.unlink()
    copy.mkdir()
    with pytest.raises(ControlError, match=r"^Potluck serves again, but forgets"):
        await ask(schema.RESUME)
