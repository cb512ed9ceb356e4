"""`settings.*` over a real socket."""

import itertools
import os
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.own_daemon import Ask, asking, own_daemon
from potluck_control.api import schema
from potluck_control.api.client import ControlError
from potluck_control.api.schema import ProgramQuestion
from potluck_control.methods import machine, settings
from potluck_control.methods.machine import PlaceParams, ProgramPlace
from potluck_control.methods.settings import Change, Setting, SettingKind, SettingsPage
from potluck_control.places import Places
from potluck_control.settings import Settings, entries, value_of
from potluck_control.states import Reason, State
from potluck_daemon.daemon import Daemon
from potluck_daemon.policy.model import Decision, Rung
from potluck_daemon.presence.applications import MenuEntry
from potluck_daemon.presence.probe import Surroundings
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.settings.configuration import launch_of
from potluck_daemon.topics.programs import MAX_SHOWN, choosable_programs, lists_after_placing, memory_by_program

from potluck.membership.joined import JoinedSwarms
from potluck.protocol.swarm import new_swarm
from potluck.sentences import verbatim


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
    assert daemon.parts.configuration.settings.limits.disk_mb == 9
    assert file.read_text().startswith(begin)
    page = (await ask(settings.SET, settings.SetParams(done.undo))).page
    assert [setting(page, item.key).value for item in changes] == [0, ("a",), ""]
    assert "disk_mb" not in file.read_text()


async def test_a_mistake_changes_nothing_and_says_what_is_meant(ask: Ask, daemon: Daemon) -> None:
    for change, words in (
        (Change("limits.disk_mbb", 1), "did you mean limits.disk_mb?"),
        (Change("limits.disk_mb", -1), "limits.disk_mb: expected a whole number from 0 to"),
        (Change("serve.quantization", "int3"), "none of none, int8, int4"),
        (Change("when.hours", ("moon",)), "when.hours"),
        (Change("serve.find_nearby", 3), "serve.find_nearby: expected true or false"),
    ):
        with pytest.raises(ControlError) as refused:
            await ask(settings.SET, settings.SetParams((Change("serve.threads", 3), change)))
        assert words in f"{refused.value.message} {refused.value.hint}"
    assert not daemon.places.settings_file.exists()


def test_exactly_the_settings_that_an_engine_is_started_with_restart_it(daemon: Daemon) -> None:
    home = JoinedSwarms(daemon.places.swarms_file).create(new_swarm("home", "demo-model", 4, "local"), is_open=True)
    other = {bool: lambda old: not old, int: lambda old: old + 1, float: lambda old: old + 1, tuple: lambda _: ("x",)}
    usual = launch_of(Settings(), home, daemon.places, 1)
    for entry in entries():
        if entry.key in ("serve.swarm", "serve.python"):  # another swarm, another interpreter: seen elsewhere
            continue
        value = value_of(Settings(), entry)
        changed = other.get(type(value), lambda _: "x")(value)
        section = replace(getattr(Settings(), entry.attribute), **{entry.name: changed})
        launch = launch_of(replace(Settings(), **{entry.attribute: section}), home, daemon.places, 1)
        assert (launch != usual) is entry.restarts_engine, entry.key


# -- programs on the lists ---------------------------------------------------------------------------------------------


def process(proc: Path, pid: int, parent: int, *arguments: str, pages: int = 10) -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    comm = arguments[0].rsplit("/", 1)[-1][:15] if arguments else "kthread"
    (folder / "stat").write_text(f"{pid} ({comm}) S {parent} {'0 ' * 48}")
    (folder / "cmdline").write_text("".join(f"{item}\0" for item in arguments))
    (folder / "statm").write_text(f"99 {pages} 1")
    (proc / "loadavg").write_text(f"0 0 0 1/1 {pid}")


def test_processes_of_one_name_are_one_program_and_ours_are_none(tmp_path: Path) -> None:
    process(tmp_path, 10, 1, "/usr/bin/blender", pages=100)
    process(tmp_path, 11, 10, "/usr/bin/blender", "--worker", pages=50)
    process(tmp_path, 12, 1, "/usr/bin/potluckd")
    process(tmp_path, 13, 12, "/usr/bin/engine")
    process(tmp_path, 14, 2)
    (tmp_path / "15").mkdir()  # ended while we looked
    table = ProcessTable(Surroundings(tmp_path, own_pid=12))
    (shown,) = choosable_programs(memory_by_program(table, os.getuid()), {}, (), ())
    assert (shown.app, shown.memory_bytes) == ("blender", 150 * os.sysconf("SC_PAGE_SIZE"))
    assert memory_by_program(table, os.getuid() + 1) == {}, "programs of other users are not shown"


def test_what_stands_in_the_menu_comes_first_and_the_list_is_bounded() -> None:
    seen = {f"daemon{number}": 1000 + number for number in range(400)} | {"supertux2": 1}
    shown = choosable_programs(seen, {"supertux2": MenuEntry("SuperTux 2", "supertux2")}, ("SuperTux2",), ())
    assert len(shown) == MAX_SHOWN
    assert (shown[0].title, shown[0].icon, shown[0].place) == ("SuperTux 2", "supertux2", ProgramPlace.ALWAYS)
    assert [item.memory_bytes for item in shown[1:3]] == [1399, 1398]


def test_shells_and_names_that_fit_no_list_are_not_offered() -> None:
    assert choosable_programs(dict.fromkeys(("bash", "a,b", "", "a\nb"), 1), {}, (), ()) == ()


async def test_a_program_stands_on_one_list_and_the_undo_puts_it_back(ask: Ask, daemon: Daemon) -> None:
    def lists() -> tuple[tuple[str, ...], tuple[str, ...]]:
        given = daemon.parts.configuration.settings.yield_
        return given.always, given.never

    await ask(machine.PLACE_PROGRAM, PlaceParams("Other", ProgramPlace.NEVER))
    for before, after in itertools.permutations(ProgramPlace, 2):
        await ask(machine.PLACE_PROGRAM, PlaceParams("Game.exe", before))
        begin = lists()
        done = await ask(machine.PLACE_PROGRAM, PlaceParams("game.exe", after))
        always, never = lists()
        assert ("game.exe" in map(str.lower, always)) is (after is ProgramPlace.ALWAYS)
        assert ("game.exe" in map(str.lower, never)) is (after is ProgramPlace.NEVER)
        assert "Other" in never
        await ask(machine.PLACE_PROGRAM, PlaceParams("Game.exe", done.before))
        assert lists() == begin


def test_a_program_that_is_on_both_lists_is_taken_off_the_other() -> None:
    lists = lists_after_placing("a", ProgramPlace.NEVER, ("A", "b"), ("c",))
    assert lists == {"yield.always": ("b",), "yield.never": ("c", "a")}


async def test_what_is_no_name_is_refused(ask: Ask) -> None:
    for app in ("a,b", "", " a", "a\n"):
        with pytest.raises((ControlError, ValueError), match="a program's name"):
            await ask(machine.PLACE_PROGRAM, PlaceParams(app, ProgramPlace.NEVER))


async def test_a_question_stands_in_the_status_until_a_list_answers_it(ask: Ask, daemon: Daemon) -> None:
    unsure = Decision(
        State.YIELDED, Reason.FULL_SCREEN, verbatim("Giving way"), Rung.ENDED, app="game", app_title="The Game"
    )
    daemon.parts.loop._update_questions(unsure)
    assert (await ask(schema.STATUS)).questions == (ProgramQuestion("game", "The Game"),)
    await ask(machine.PLACE_PROGRAM, PlaceParams("game", ProgramPlace.NEVER))
    assert (await ask(schema.STATUS)).questions == ()
    await ask(machine.PLACE_PROGRAM, PlaceParams("game", ProgramPlace.NONE))
    daemon.parts.loop._update_questions(unsure)
    assert (await ask(schema.STATUS)).questions == ()


async def test_the_switch_of_earlier_versions_becomes_a_pause_that_outlives_restarts(
    places: Places, environment: dict[str, str]
) -> None:
    places.config.mkdir(parents=True, exist_ok=True)
    places.settings_file.write_text("[serve]\nthreads = 3\nenabled = false\n")
    for is_first in (True, False):
        async with own_daemon(places, environment) as daemon:
            status = await asking(daemon)(schema.STATUS)
        assert (status.state, status.reason, status.until) == (State.PAUSED, Reason.USER, None)
        assert any("serve.enabled is gone" in str(notice) for notice in status.notices) is is_first
        assert places.settings_file.read_text() == "[serve]\nthreads = 3\n"
    async with own_daemon(places, environment) as daemon:
        assert (await asking(daemon)(schema.RESUME)).state is not State.PAUSED
    async with own_daemon(places, environment) as daemon:
        assert (await asking(daemon)(schema.STATUS)).state is not State.PAUSED
