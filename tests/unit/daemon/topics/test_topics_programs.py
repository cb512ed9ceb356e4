"""Programs to choose for a list, and the lists."""

import itertools
import os
from pathlib import Path

import pytest
from helpers.own_daemon import Ask
from potluck_control import schema
from potluck_control.client import ControlError
from potluck_control.methods import programs
from potluck_control.methods.programs import PlaceParams, ProgramPlace
from potluck_control.schema import ProgramQuestion
from potluck_control.states import Reason, State
from potluck_daemon.daemon import Daemon
from potluck_daemon.policy.decide import Decision, Rung
from potluck_daemon.presence.menu import MenuEntry
from potluck_daemon.presence.running import MAX_SHOWN, UserProcess, choose, look, placed


def process(proc: Path, pid: int, parent: int, *arguments: str, pages: int = 10) -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    comm = arguments[0].rsplit("/", 1)[-1][:15] if arguments else "kthread"
    (folder / "stat").write_text(f"{pid} ({comm}) S {parent} {'0 ' * 48}")
    (folder / "cmdline").write_text("".join(f"{item}\0" for item in arguments))
    (folder / "statm").write_text(f"99 {pages} 1")


def test_processes_of_one_name_are_one_program_and_ours_are_none(tmp_path: Path) -> None:
    process(tmp_path, 10, 1, "/usr/bin/blender", pages=100)
    process(tmp_path, 11, 10, "/usr/bin/blender", "--worker", pages=50)
    process(tmp_path, 12, 1, "/usr/bin/potluckd")
    process(tmp_path, 13, 12, "/usr/bin/engine")
    process(tmp_path, 14, 2)
    (tmp_path / "15").mkdir()  # ended while we looked
    (shown,) = choose(look(tmp_path, os.getuid(), {12}), {}, (), ())
    assert (shown.app, shown.memory_bytes) == ("blender", 150 * os.sysconf("SC_PAGE_SIZE"))
    assert look(tmp_path, os.getuid() + 1, ()) == [], "programs of other users are not shown"


def test_what_stands_in_the_menu_comes_first_and_the_list_is_bounded() -> None:
    seen = [*(UserProcess(f"daemon{number}", 1000 + number) for number in range(400)), UserProcess("supertux2", 1)]
    shown = choose(seen, {"supertux2": MenuEntry("SuperTux 2", "supertux2")}, ("SuperTux2",), ())
    assert len(shown) == MAX_SHOWN
    assert (shown[0].title, shown[0].icon, shown[0].place) == ("SuperTux 2", "supertux2", ProgramPlace.ALWAYS)
    assert [item.memory_bytes for item in shown[1:3]] == [1399, 1398]


def test_shells_and_names_that_fit_no_list_are_not_offered() -> None:
    assert choose([UserProcess(name, 1) for name in ("bash", "a,b", "", "a\nb")], {}, (), ()) == ()


async def test_a_program_stands_on_one_list_and_the_undo_puts_it_back(ask: Ask, daemon: Daemon) -> None:
    def lists() -> tuple[tuple[str, ...], tuple[str, ...]]:
        given = daemon.configuration.settings.yield_
        return given.always, given.never

    await ask(programs.PLACE, PlaceParams("Other", ProgramPlace.NEVER))
    for before, after in itertools.permutations(ProgramPlace, 2):
        await ask(programs.PLACE, PlaceParams("Game.exe", before))
        begin = lists()
        done = await ask(programs.PLACE, PlaceParams("game.exe", after))
        always, never = lists()
        assert ("game.exe" in map(str.lower, always)) is (after is ProgramPlace.ALWAYS)
        assert ("game.exe" in map(str.lower, never)) is (after is ProgramPlace.NEVER)
        assert "Other" in never
        await ask(programs.PLACE, PlaceParams("Game.exe", done.before))
        assert lists() == begin


def test_a_program_that_is_on_both_lists_is_taken_off_the_other() -> None:
    lists = placed("a", ProgramPlace.NEVER, ("A", "b"), ("c",))
    assert lists == {"yield.always": ("b",), "yield.never": ("c", "a")}


async def test_what_is_no_name_is_refused(ask: Ask) -> None:
    for app in ("a,b", "", " a", "a\n"):
        with pytest.raises((ControlError, ValueError), match="a program's name"):
            await ask(programs.PLACE, PlaceParams(app, ProgramPlace.NEVER))


async def test_a_question_stands_in_the_status_until_a_list_answers_it(ask: Ask, daemon: Daemon) -> None:
    unsure = Decision(State.YIELDED, Reason.FULL_SCREEN, "Giving way", Rung.ENDED, app="game", app_title="The Game")
    daemon._loop._ask(unsure)
    assert (await ask(schema.STATUS)).questions == (ProgramQuestion("game", "The Game"),)
    await ask(programs.PLACE, PlaceParams("game", ProgramPlace.NEVER))
    assert (await ask(schema.STATUS)).questions == ()
    await ask(programs.PLACE, PlaceParams("game", ProgramPlace.NONE))
    daemon._loop._ask(unsure)
    assert (await ask(schema.STATUS)).questions == ()
