"""`settings.*` over a real socket."""

from dataclasses import replace

import pytest
from helpers.own_daemon import Ask
from potluck_control.client import ControlError
from potluck_control.methods import settings
from potluck_control.methods.settings import Change, Setting, SettingKind, SettingsPage
from potluck_daemon.daemon import Daemon
from potluck_daemon.settings.desired_state import read_desired_state
from potluck_daemon.settings.schema import Settings, entries
from potluck_daemon.settings.store import Loaded
from potluck_daemon.settings.values import value_of

from potluck.membership.joined import JoinedSwarms
from potluck.protocol.swarm import new_swarm


@pytest.fixture
def environment(environment: dict[str, str]) -> dict[str, str]:
    return environment | {"POTLUCK_LIMITS_RAM_MB": "77"}


def setting(page: SettingsPage, key: str) -> Setting:
    return next(item for section in page.sections for item in section.settings if item.key == key)


async def test_every_setting_is_told_with_its_kind_range_default_and_help(ask: Ask) -> None:
    page = await ask(settings.GET)
    shown = [item for section in page.sections for item in section.settings]
    assert [item.key for item in shown] == [entry.key for entry in entries()]
    assert all(item.help and item.kind is not SettingKind.UNKNOWN for item in shown)
    assert all(section.title for section in page.sections)
    share = setting(page, "when.active_percent")
    assert (share.kind, share.value, share.low, share.high, share.unit) == (SettingKind.NUMBER, 50.0, 10, 100, "%")
    assert setting(page, "serve.quantization").choices == ("none", "int8", "int4")
    decided = setting(page, "limits.ram_mb")
    assert (decided.value, decided.overridden_by) == (77, "POTLUCK_LIMITS_RAM_MB")
    assert not setting(page, "limits.disk_mb").overridden_by


async def test_several_are_changed_at_once_and_taken_back_comments_stay_and_it_is_obeyed(
    ask: Ask, daemon: Daemon
) -> None:
    file, begin = daemon.places.settings_file, "# mine\nversion = 2\n[limits]  # caps\nram_mb = 5 # five\n"
    file.write_text(f"{begin}[yield]\nnever = ['a']\n")
    changes = (Change("limits.disk_mb", 9), Change("yield.never", ("a", "Game.exe")), Change("serve.name", "me"))
    done = await ask(settings.SET, settings.SetParams(changes))
    assert [setting(done.page, item.key).value for item in changes] == [item.value for item in changes]
    assert daemon.configuration.settings.limits.disk_mb == 9
    assert file.read_text().startswith(begin)
    page = (await ask(settings.SET, settings.SetParams(done.undo))).page
    assert [setting(page, item.key).value for item in changes] == [0, ("a",), ""]
    assert "disk_mb" not in file.read_text()


async def test_a_mistake_changes_nothing_and_says_what_is_meant(ask: Ask, daemon: Daemon) -> None:
    for change, words in (
        (Change("limits.disk_mbb", 1), "did you mean limits.disk_mb?"),
        (Change("limits.disk_mb", -1), "limits.disk_mb: expected 0 to"),
        (Change("serve.quantization", "int3"), "none of none, int8, int4"),
        (Change("when.hours", ("moon",)), "when.hours"),
        (Change("serve.enabled", 3), "serve.enabled: expected true or false"),
    ):
        with pytest.raises(ControlError) as refused:
            await ask(settings.SET, settings.SetParams((Change("serve.threads", 3), change)))
        assert words in f"{refused.value.message} {refused.value.hint}"
    assert not daemon.places.settings_file.exists()


def test_exactly_the_settings_that_an_engine_is_started_with_restart_it(daemon: Daemon) -> None:
    JoinedSwarms(daemon.places.swarms_file).create(new_swarm("home", "demo-model", 4, "local"), is_open=True)
    other = {bool: lambda old: not old, int: lambda old: old + 1, float: lambda old: old + 1, tuple: lambda _: ("x",)}
    usual = read_desired_state(Loaded(Settings()), daemon.places, port=1).launch
    for entry in entries():
        if entry.key in ("serve.swarm", "serve.python"):  # another swarm, another interpreter: seen elsewhere
            continue
        value = value_of(Settings(), entry)
        changed = other.get(type(value), lambda _: "x")(value)
        section = replace(getattr(Settings(), entry.attribute), **{entry.name: changed})
        loaded = Loaded(replace(Settings(), **{entry.attribute: section}))
        launch = read_desired_state(loaded, daemon.places, port=1).launch
        assert (launch != usual) is entry.restarts_engine, entry.key
