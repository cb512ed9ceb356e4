"""What the active window is taken for, and how long a game goes on after it was left."""

from dataclasses import replace
from pathlib import Path

from helpers.made_processes import Clock, MadeProcesses
from potluck_control.states import Certainty, Reason
from potluck_daemon.presence.active_window import (
    ASK_AFTER_S,
    HOLD_S,
    ActiveWindow,
    Judgement,
    Play,
    Signs,
    WindowObserver,
    controllers,
    has_open,
    judge,
    plays_after_look,
    sightings_of,
)
from potluck_daemon.presence.applications import MenuEntry, app_id_of, not_games, read_menu
from potluck_daemon.presence.probe import Sighting, Surroundings
from potluck_daemon.presence.processes import ProcessTable, Program

MINES = MenuEntry("Mines", "", frozenset({"GNOME", "Game"}))
VIEWER = MenuEntry("Viewer", "", frozenset({"Graphics", "Viewer"}))
UNTOLD = MenuEntry("Thing", "")
PROGRAM = Program(500, 1, "thing", ("/usr/bin/thing",))
FULL, SMALL = ActiveWindow(500, "Thing", is_full_screen=True), ActiveWindow(500, "Thing", is_full_screen=False)


def certainty(window: ActiveWindow, signs: Signs) -> Certainty | None:
    judged = judge(window, signs, busy_percent=25.0)
    return judged.sighting.certainty if judged is not None else None


def test_what_a_window_is_taken_for() -> None:
    for window, signs, expected in (
        (FULL, Signs(PROGRAM, MINES), Certainty.CERTAIN),
        (FULL, Signs(PROGRAM), Certainty.WEAK),
        (FULL, Signs(PROGRAM, UNTOLD), Certainty.WEAK),
        (FULL, Signs(PROGRAM, cpu_percent=25), Certainty.LIKELY),
        (FULL, Signs(PROGRAM, cpu_percent=24), Certainty.WEAK),
        (FULL, Signs(PROGRAM, has_controller=True), Certainty.LIKELY),
        (replace(FULL, wants_no_compositor=True), Signs(PROGRAM), Certainty.LIKELY),
        (SMALL, Signs(PROGRAM, cpu_percent=100), None),
        (replace(SMALL, wants_no_compositor=True), Signs(PROGRAM, cpu_percent=100), None),
        (SMALL, Signs(PROGRAM, MINES), Certainty.WEAK),
        (SMALL, Signs(PROGRAM, MINES, cpu_percent=10), Certainty.LIKELY),
        (SMALL, Signs(PROGRAM, MINES, cpu_percent=9), Certainty.WEAK),
    ):
        assert certainty(window, signs) is expected


def test_a_window_that_only_is_busy_for_long_is_asked_about() -> None:
    judged = judge(SMALL, Signs(PROGRAM, cpu_percent=30, busy_for_s=ASK_AFTER_S), busy_percent=25.0)
    assert judged is not None
    assert judged.sighting == Sighting(Reason.FULL_SCREEN, "Thing", Certainty.WEAK, "thing", is_unsure=True)
    assert judge(SMALL, Signs(PROGRAM, cpu_percent=30, busy_for_s=ASK_AFTER_S - 1), busy_percent=25.0) is None
    assert judge(SMALL, Signs(PROGRAM, VIEWER, busy_for_s=ASK_AFTER_S), busy_percent=25.0) is None


def test_other_programs_are_no_games_however_busy() -> None:
    for window, signs in (
        (FULL, Signs(PROGRAM, VIEWER)),  # by the menu
        (
            FULL,
            Signs(replace(PROGRAM, comm="xterm", arguments=("xterm",)), MINES),
        ),  # by its name, whatever the menu says
        (FULL, Signs(replace(PROGRAM, comm="python3", arguments=("python3", "/usr/bin/terminator")))),  # by its script
    ):
        busy = replace(signs, cpu_percent=100, has_controller=True)
        assert certainty(replace(window, wants_no_compositor=True), busy) is None


def test_a_game_that_is_given_the_name_of_another_program_is_a_game() -> None:
    """`love /opt/games/zoom` is no meeting."""
    love = Program(500, 1, "love", ("love", "/opt/games/zoom"))
    assert certainty(FULL, Signs(love, cpu_percent=50)) is Certainty.LIKELY


def test_the_list_of_other_programs_is_in_lower_case() -> None:
    assert {name for name in not_games() if name != name.lower().strip()} == set()


def test_a_game_is_called_what_people_call_it() -> None:
    for name, entry, who in (
        ("Gnome-mines", MINES, "Mines"),
        ("MyGame", None, "MyGame"),
        ("perl", None, "thing"),
        ("", None, "thing"),
    ):
        judged = judge(replace(FULL, name=name), Signs(PROGRAM, entry), busy_percent=25.0)
        assert judged is not None
        assert (judged.sighting.who, judged.sighting.app) == (who, "thing")


LIKELY = Judgement(Sighting(Reason.FULL_SCREEN, "Thing", Certainty.LIKELY, "thing"))
KNOWN = Judgement(Sighting(Reason.GAME, "Thing", Certainty.LIKELY, "thing"), is_known=True)
CERTAIN = Judgement(Sighting(Reason.GAME, "Thing", Certainty.CERTAIN, "thing"), is_known=True)
WEAK = Judgement(Sighting(Reason.FULL_SCREEN, "Thing", Certainty.WEAK, "thing"))


def looks(*seen: Judgement | None) -> dict[int, Play]:
    plays: dict[int, Play] = {}
    for now, judgement in enumerate(seen):
        pair = (PROGRAM, judgement) if judgement is not None else None
        plays = plays_after_look(plays, pair, float(now), interval_s=1.0, is_alive=lambda _: True)
    return plays


def test_a_confirmed_game_goes_on_when_it_is_left() -> None:
    for seen, reported in (
        ((CERTAIN, None), [CERTAIN]),  # at once
        ((KNOWN, KNOWN, None, None), [KNOWN]),  # minimised
        ((LIKELY, LIKELY, None), [LIKELY]),  # left
        ((LIKELY, WEAK, LIKELY, None), [LIKELY]),  # a quiet second
        ((LIKELY, None), []),  # one look
        ((WEAK, WEAK, None), []),  # weak
        ((LIKELY, None, None, None, LIKELY, None), []),  # two flashes
    ):
        assert sightings_of(looks(*seen), None) == tuple(item.sighting for item in reported)


def test_a_window_that_only_was_busy_counts_for_a_while() -> None:
    for judgement, is_held in ((LIKELY, False), (KNOWN, True)):
        plays = plays_after_look(looks(judgement, judgement), None, 2 + HOLD_S, interval_s=1.0, is_alive=lambda _: True)
        assert bool(sightings_of(plays, None)) is is_held


def test_what_was_just_seen_is_reported_before_it_is_confirmed() -> None:
    assert sightings_of(looks(WEAK), (PROGRAM, WEAK)) == (WEAK.sighting,)
    assert sightings_of(looks(LIKELY), (PROGRAM, LIKELY)) == (LIKELY.sighting,)


def test_a_control_group_names_its_application() -> None:
    for group, app_id in (
        ("app.slice/app-gnome-org.gnome.Mines-12345.scope", "org.gnome.mines"),
        ("app.slice/app-org.kde.kpat-1a2b3c.scope", "org.kde.kpat"),
        ("app.slice/app-flatpak-net.openttd.OpenTTD-77.scope", "net.openttd.openttd"),
        (r"app.slice/app-gnome-firefox\x2desr-9.scope", "firefox-esr"),
        ("app.slice/app-org.gnome.Terminal.slice/app-gnome-tetris-4.scope/inner", "tetris"),
        ("app.slice/app-org.kde.kpat@0f.service", "org.kde.kpat"),
        ("app.slice/potluckd.service", ""),
        ("session-2.scope", ""),
    ):
        assert app_id_of(f"0::/user.slice/user-1000.slice/user@1000.service/{group}\n") == app_id


def test_controllers_are_devices_with_a_stick(tmp_path: Path) -> None:
    pad = tmp_path / "class/input/js0/device"
    for name in ("js0", "event7", "device/hidraw/hidraw3"):
        (pad / name).mkdir(parents=True)
    (tmp_path / "class/input/event2/device").mkdir(parents=True)  # the keyboard
    devices = controllers(tmp_path)
    assert devices == {"/dev/input/js0", "/dev/input/event7", "/dev/hidraw3"}
    for pid, path in ((10, "/dev/input/event2"), (11, "/dev/input/event7")):
        (tmp_path / f"{pid}/fd").mkdir(parents=True)
        (tmp_path / f"{pid}/fd/5").symlink_to(path)
    assert [has_open(tmp_path, [pid], devices) for pid in (9, 10, 11)] == [False, False, True]


def desktop_file(folder: Path, name: str, *lines: str) -> None:
    (folder / "applications").mkdir(parents=True, exist_ok=True)
    (folder / "applications" / name).write_text("\n".join(("[Desktop Entry]", "Type=Application", *lines)))


def test_the_menu_tells_games_also_those_of_scripts_and_sandboxes(tmp_path: Path) -> None:
    desktop_file(tmp_path, "armagetronad.desktop", "Name=Armagetron", "Exec=armagetronad", "Categories=Game;")
    flatpak = tmp_path / "flatpak/exports/share"
    desktop_file(flatpak, "org.x.Y.desktop", "Name=Y", "Exec=flatpak run org.x.Y", "Categories=Game;")
    menu = read_menu({"XDG_DATA_HOME": str(tmp_path), "XDG_DATA_DIRS": str(tmp_path / "none")})
    found = [menu.entry([name]) for name in ("armagetronad.real", "org.x.y", "other")]
    assert [entry.title if entry is not None else None for entry in found] == ["Armagetron", "Y", None]


def test_the_menu_knows_titles_by_executable(tmp_path: Path) -> None:
    desktop_file(tmp_path / "home", "a.desktop", "Name=My Blender", "Exec=/opt/blender/Blender %f", "Icon=blender")
    shared = tmp_path / "shared"
    desktop_file(shared, "b.desktop", "Name=Blender", "Exec=blender %f")
    desktop_file(shared, "c.desktop", "Name=Krita", "Exec=flatpak run --command=krita org.kde.krita @@")
    desktop_file(shared, "d.desktop", "Name=Env", 'Exec=env A=1 "unclosed', "[Desktop Action x]", "Name=No")
    desktop_file(shared, "e.desktop", "Name=Script", "Exec=python3 tool.py")
    found = read_menu({"XDG_DATA_HOME": str(tmp_path / "home"), "XDG_DATA_DIRS": str(shared)})
    assert found.by_executable == {"blender": MenuEntry("My Blender", "blender"), "krita": MenuEntry("Krita", "")}


def test_the_menu_is_read_again_when_something_was_installed(tmp_path: Path) -> None:
    environment = {"XDG_DATA_HOME": str(tmp_path), "XDG_DATA_DIRS": str(tmp_path / "none")}
    assert read_menu(environment).entry(["new"]) is None
    desktop_file(tmp_path, "new.desktop", "Name=New", "Exec=new", "Categories=Game;")
    assert read_menu(environment).entry(["new"]) is not None


def looking(made: MadeProcesses, folder: Path) -> WindowObserver:
    environment = {"XDG_DATA_HOME": str(folder), "XDG_DATA_DIRS": str(folder / "none")}
    at = Surroundings(made.proc, made.sys, environment)
    return WindowObserver(at, ProcessTable(at), busy_percent=25.0, interval_s=1.0)


def test_a_control_group_tells_a_game_but_clears_nobody(made: MadeProcesses, tmp_path: Path) -> None:
    """A terminal's group holds whatever was started in it, a game as well."""
    for categories, expected in (("Game;", Certainty.CERTAIN), ("System;", Certainty.WEAK)):
        folder = tmp_path / categories
        desktop_file(folder, "org.x.App.desktop", "Name=App", "Exec=flatpak run x", f"Categories={categories}")
        made.add(500, "thing", "/app/bin/thing")
        (made.proc / "500/cgroup").write_text("0::/user.slice/app.slice/app-flatpak-org.x.App-77.scope\n")
        (seen,) = looking(made, folder).observe(FULL)
        assert seen.certainty is expected


def test_a_game_stays_while_its_process_lives(made: MadeProcesses, tmp_path: Path) -> None:
    desktop_file(tmp_path, "thing.desktop", "Name=Thing", "Exec=thing", "Categories=Game;")
    made.add(500, "thing", "/usr/games/thing")
    probe = looking(made, tmp_path)
    assert probe.observe(FULL) == probe.observe(None) == (CERTAIN.sighting,)
    made.remove(500)
    assert probe.observe(None) == ()


def test_a_busy_window_is_watched_until_it_is_asked_about(made: MadeProcesses, tmp_path: Path) -> None:
    for rest_at, is_asked in ((None, True), (12, False)):
        clock = Clock()
        table = ProcessTable(made.surroundings, clock)
        looks = WindowObserver(made.surroundings, table, busy_percent=25.0, interval_s=1.0, clock=clock)
        ticks, seen = 0, ()
        for second in range(int(ASK_AFTER_S) + 2):
            ticks += 0 if second == rest_at else 50
            clock.now += 1
            made.add(500, "thing", "/usr/bin/thing", ticks=ticks)
            seen = looks.observe(SMALL)
            assert not seen or second > ASK_AFTER_S - 1
        assert [sighting.is_unsure for sighting in seen] == ([True] if is_asked else [])
