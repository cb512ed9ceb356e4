"""Programs and what the probes take them for: on a made /proc for odd cases, and on the real one."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from helpers.made_processes import OWN_PID, Clock, MadeProcesses
from helpers.probe_reports import watching
from potluck_control.states import Certainty, Reason
from potluck_daemon.presence.games import (
    Judge,
    ProgramsProbe,
    gamescope_game,
    launched_game,
    listed_program,
    steam_game,
)
from potluck_daemon.presence.probe import Sighting, Surroundings, next_poll
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.presence.x11 import covers_screen

STEAM = "/home/me/.local/share/Steam"
REAPER = (f"{STEAM}/ubuntu12_32/reaper", "SteamLaunch", "AppId=1145360", "--")


class Looker:
    """Judges every program of a table, as the probes do."""

    def __init__(self, at: Surroundings) -> None:
        self.clock = Clock()
        self.table = ProcessTable(at, self.clock)
        self.found: frozenset[int] = frozenset()

    def listed(self, *names: str) -> list[str]:
        judge = listed_program(names)
        self.clock.now += 0.1
        judged = {pid: judge(program, self.table) for pid, program in self.table.refresh(self.found).items()}
        self.found = frozenset(pid for pid, sighting in judged.items() if sighting)
        return [sighting.who for sighting in judged.values() if sighting]

    def all_of(self, judge: Judge) -> list[Sighting]:
        judged = (judge(program, self.table) for program in self.table.refresh().values())
        return [sighting for sighting in judged if sighting]


@pytest.fixture
def looker(made: MadeProcesses) -> Looker:
    return Looker(made.surroundings)


def test_a_listed_program_is_found_by_any_of_its_names(made: MadeProcesses, looker: Looker) -> None:
    made.add(500, "blender", "/usr/bin/blender")
    made.add(501, "Blender", "/opt/Blender")
    made.add(502, "python3", "/usr/bin/python3", "/home/me/blender")
    made.add(503, "wine64-preload", "C:\\games\\Blender.exe")
    made.add(504, "reaper", "/steam/reaper", "SteamLaunch", "--", "proton", "Z:\\home\\me\\Blender.exe", "-windowed")
    for pid, comm in enumerate(("tricky) S 1 (", "a b", "", ")"), 505):
        made.add(pid, comm, "/opt/blender")
    assert looker.listed("blender", "blender.exe") == [*["blender"] * 3, *["blender.exe"] * 2, *["blender"] * 4]


def test_a_program_that_only_mentions_it_a_dead_one_and_all_below_ourselves_do_not_count(
    made: MadeProcesses, looker: Looker
) -> None:
    made.add(500, "blender", "blender", state="Z")
    made.add(OWN_PID, "potluckd", "potluckd")
    made.add(501, "python", "python", "-m", "engine", parent=OWN_PID)
    made.add(502, "blender", "blender", parent=501)
    made.add(503, "vim", "/usr/bin/vim", "-R", "blender")
    made.add(504, "blenderish", "/usr/bin/blenderish")
    made.add(505, "other", "")
    assert looker.listed("blender", "potluckd") == []


def test_a_start_and_an_end_leave_the_other_programs_as_they_were(made: MadeProcesses, looker: Looker) -> None:
    made.add(500, "blender", "blender")
    made.add(501, "vim", "vim")
    looker.listed()
    first = dict(looker.table.programs)
    made.add(502, "sleep", "sleep")
    looker.listed()
    assert list(looker.table.programs) == [*first, 502]
    assert all(looker.table.programs[pid] is program for pid, program in first.items())
    made.remove(502)
    made.add(503, "sleep", "sleep", state="Z")
    looker.listed()
    assert looker.table.programs == first


def test_what_gets_another_parent_is_ours_no_more(made: MadeProcesses, looker: Looker) -> None:
    made.add(OWN_PID, "potluckd", "potluckd")
    made.add(501, "python", "python", "-m", "engine", parent=OWN_PID)
    made.add(500, "blender", "blender", parent=501)  # its parent has a higher id
    assert looker.listed("blender") == []
    made.add(501, "python", "python", "-m", "engine", parent=1)
    looker.clock.now += 10
    assert looker.listed("blender") == ["blender"]


async def test_a_probe_sees_what_comes_and_goes_among_many(made: MadeProcesses) -> None:
    found = Sighting(Reason.EXCLUSIVE_APP, "blender", app="blender")
    probe = ProgramsProbe(ProcessTable(made.surroundings), [steam_game, listed_program(["blender"])])
    probe.interval_s = 0.01
    made.add(500, "blender", "blender")
    async with watching(probe) as reports:
        await reports.until_seen(found)
        for pid in range(501, 801):
            made.add(pid, "vim", "vim")
        made.remove(500)
        await reports.until_seen()
        made.add(801, "blender", "blender")
        await reports.until_seen(found)


def test_a_young_process_that_executes_another_program_is_found_by_twice_its_age(
    made: MadeProcesses, looker: Looker
) -> None:
    looker.listed()
    made.add(500, "bash", "bash")
    for _ in range(6):
        assert looker.listed("blender") == []
        looker.clock.now += 0.15  # and 0.1 more
    made.add(500, "blender", "blender")
    looker.clock.now += 0.25
    assert looker.listed("blender") == []
    looker.clock.now += 0.25
    assert looker.listed("blender") == ["blender"]


def test_a_thread_is_no_program_and_an_id_given_anew_is_another_program(made: MadeProcesses, looker: Looker) -> None:
    made.add(500, "vim", "vim")
    looker.listed()
    made.add(501, "blender", "blender", is_thread=True)
    made.add(502, "blender", "/opt/blender")
    assert looker.listed("blender") == ["blender"]
    assert list(looker.table.programs) == [500, 502]
    made.remove(500)
    made.add(500, "blender", "blender")  # all ids were given once
    looker.clock.now += 10
    assert looker.listed("blender") == ["blender"] * 2


def test_a_quiet_machine_is_read_again_only_now_and_then(made: MadeProcesses, looker: Looker) -> None:
    """An old process may execute another program: a launcher's shell script does."""
    made.add(500, "bash", "bash")
    looker.listed()
    (made.proc / "500" / "cmdline").write_bytes(b"not read\0")  # as long as it executes the same file
    looker.clock.now += 4
    looker.listed()
    assert looker.table.programs[500].arguments == ("bash",)
    made.add(500, "blender", "blender")  # the same last pid: nothing started since
    looker.clock.now += 0.5
    assert looker.listed("blender") == []
    looker.clock.now += 10
    assert looker.listed("blender") == ["blender"]


def test_a_real_program_is_seen_and_its_end_too_and_one_that_we_started_is_ours(tmp_path: Path) -> None:
    looker, names = Looker(Surroundings(own_pid=OWN_PID)), ["my-little-game"]
    program = shutil.copy(shutil.which("sleep") or "/bin/sleep", tmp_path / names[0])
    assert looker.listed(*names) == []
    with subprocess.Popen([program, "600"]) as game:
        while looker.listed(*names) != names:
            pass
        programs = ProcessTable(Surroundings()).refresh()
        assert game.pid not in programs
        assert os.getppid() in programs
        game.kill()
    assert looker.listed(*names) == []


def test_a_program_has_the_name_by_which_one_would_list_it(made: MadeProcesses, looker: Looker) -> None:
    programs = {
        "supertux2": ("supertux2", "/usr/games/supertux2"),
        "averyveryverylongname": ("averyveryverylo", "/opt/averyveryverylongname"),
        "game.py": ("python3", "/usr/bin/python3", "-u", "/opt/game.py"),
        "hades.exe": ("wine64-preload", "Z:\\games\\Hades\\Hades.exe", "-fullscreen"),
        "main": ("Main", "/opt/unity/launcher-of-something"),
        "kworker": ("kworker",),
        "net.client": ("java", "java", "-Xmx2G", "-cp", "/mc/a.jar:/mc/1.20.1.jar", "net.Client"),
    }
    for pid, (comm, *arguments) in enumerate(programs.values(), 500):
        made.add(pid, comm, *arguments)
    assert [program.app for program in looker.table.refresh().values()] == [*programs]


def test_steam_tells_its_games_by_the_reaper(made: MadeProcesses, looker: Looker) -> None:
    games = f"{STEAM}/steamapps/common"
    proton = (f"{games}/Proton 9.0/proton", "waitforexitandrun", f"{games}/Hades II/Ship/Hades2.exe")
    made.add(500, "reaper", *REAPER, f"{games}/Hades II/Hades2")
    made.add(501, "reaper", *REAPER, f"{games}/SteamLinuxRuntime_sniper/_v2-entry-point", "--verb=x", "--", *proton)
    made.add(502, "reaper", *REAPER, "/opt/own/game")
    assert looker.all_of(steam_game) == [
        Sighting(Reason.GAME, who, Certainty.CERTAIN, "steam:1145360")
        for who in ("Hades II", "Hades II", "Steam game 1145360")
    ]


def test_programs_around_games_are_no_games(made: MadeProcesses, looker: Looker) -> None:
    made.add(500, "steam", f"{STEAM}/ubuntu12_32/steam", "-silent")
    made.add(501, "steamwebhelper", f"{STEAM}/ubuntu12_64/steamwebhelper", "-lang=en")
    made.add(502, "fossilize_repla", f"{STEAM}/ubuntu12_64/fossilize_replay", f"{STEAM}/steamapps/shadercache/7/x.foz")
    made.add(503, "pgrep", "pgrep", "-f", "reaper SteamLaunch AppId=1145360")
    made.add(504, "reaper", "/usr/bin/reaper", "project.rpp")  # the audio workstation
    made.add(505, "vim", "vim", "SteamLaunch", "AppId=1")
    made.add(506, "7z", "7z", "x", "/home/me/Game.exe")
    made.add(507, "gamescope-wl", "gamescope", "-e", "--", "steam", "-gamepadui")  # a console's whole session
    for judge in (steam_game, launched_game, gamescope_game):
        assert looker.all_of(judge) == []


def test_gamescope_tells_the_game_within_once(made: MadeProcesses, looker: Looker) -> None:
    made.add(400, "gamescope-wl", "gamescope", "-W", "1920", "-f", "--", "/usr/games/supertux2", "--fullscreen")
    made.add(401, "gamescopereaper", "gamescopereaper", "--", "/usr/games/supertux2", parent=400)
    assert looker.all_of(gamescope_game) == [Sighting(Reason.GAME, "supertux2", app="supertux2")]


@dataclass(frozen=True)
class Placed:
    """A window with its upper left corner on the screen; X tells where a point of one window lies in another."""

    x: int
    y: int
    width: int = 1920
    height: int = 1080

    def get_geometry(self) -> Placed:
        return self

    def translate_coords(self, source: Placed, x: int, y: int) -> Placed:
        return Placed(source.x + x - self.x, source.y + y - self.y)


def test_a_window_covers_the_screen_if_it_has_the_place_of_all_of_it_or_of_a_monitor() -> None:
    for x, width, covers in ((0, 3840, True), (1920, 1920, True), (640, 1920, False)):
        monitors = [(0, 0, 3840, 1080), (1920, 0, 1920, 1080)]
        assert covers_screen(Placed(0, 0), Placed(x, 0, width), monitors) is covers


async def test_looks_are_taken_at_multiples_of_their_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    for now, slept_s in ((10.0, 0.5), (10.2, 0.3), (10.48, 0.52), (10.44, 0.06)):
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda now=now: now)
        await next_poll(0.5)
        assert slept.pop() == pytest.approx(slept_s)


# -- games of launchers, by their environment --------------------------------------------------------------------------


def seen(made: MadeProcesses) -> list[tuple[str, Certainty]]:
    table = ProcessTable(made.surroundings)
    found = (launched_game(program, table) for program in table.refresh().values())
    return [(sighting.who, sighting.certainty) for sighting in found if sighting is not None]


def test_lutris_tells_the_title_of_native_and_windows_games(made: MadeProcesses) -> None:
    made.add(400, "lutris-wrapper:", "lutris-wrapper: Braid", "0", "0", "/games/braid/run.sh")
    made.add(401, "bash", "/bin/bash", "/games/braid/run.sh")
    made.add(402, "braid.x86_64", "/games/braid/braid.x86_64")
    made.add(403, "wineserver", "/opt/wine/bin/wineserver")
    made.add(404, "Braid.exe", "C:\\games\\Braid.exe")
    made.add(405, "explorer.exe", "C:\\windows\\explorer.exe")
    for pid in range(400, 406):
        made.set_environment(pid, LUTRIS_GAME_UUID="a-b", GAME_NAME="Braid: Anniversary Edition")
    assert seen(made) == [("Braid: Anniversary Edition", Certainty.LIKELY)] * 2


def test_variables_of_a_game_give_it_away(made: MadeProcesses) -> None:
    for pid, (name, variables) in enumerate(
        (
            ("one", {"HEROIC_APP_NAME": "Fortnite"}),
            ("two", {"LUTRIS_GAME_UUID": "a-b"}),
            ("none", {"WINEPREFIX": "/home/me/.wine"}),
            ("none", {"STEAM_COMPAT_DATA_PATH": "/home/me/x"}),  # no Windows program
            ("none", {}),
        ),
        400,
    ):
        made.add(pid, name, f"/games/{name}")
        made.set_environment(pid, **variables)
    assert seen(made) == [(name, Certainty.LIKELY) for name in ("one", "two")]


def test_a_windows_program_in_proton_is_likely_a_game_and_alone_a_weak_sign(made: MadeProcesses) -> None:
    for pid, variables in enumerate(({"STEAM_COMPAT_DATA_PATH": "/home/me/steamapps/compatdata/1"}, {}), 400):
        made.add(pid, "Braid-Win64-Shi", "Z:\\games\\Braid-Win64-Shipping.exe")
        made.set_environment(pid, **variables)
    made.add(402, "pv-adverb", "/usr/lib/pressure-vessel/pv-adverb", "--", "wine", "Z:\\games\\Braid.exe")
    made.set_environment(402, STEAM_COMPAT_DATA_PATH="/home/me/steamapps/compatdata/1")
    assert seen(made) == [("Braid", Certainty.LIKELY), ("Braid", Certainty.WEAK)]


def test_a_bottle_made_for_games_is_likely_to_run_one(made: MadeProcesses, tmp_path: Path) -> None:
    for number, environment in enumerate(("Gaming", "Application", "Custom", None)):
        bottle = tmp_path / "bottles" / str(number)
        bottle.mkdir(parents=True)
        if environment is not None:
            (bottle / "bottle.yml").write_text(f"Arch: win64\nEnvironment: {environment}\nName: Gaming\n")
        pid = 400 + 10 * number
        made.add(pid, "Braid.exe", "C:\\Program Files\\Braid\\Braid.exe")
        made.add(pid + 1, "explorer.exe", "C:\\windows\\explorer.exe")
        made.add(pid + 2, "bottles-cli", "/usr/bin/python3", "/usr/bin/bottles-cli")
        for each in range(pid, pid + 3):
            made.set_environment(each, WINEPREFIX=str(bottle))
    assert seen(made) == [("Braid", Certainty.LIKELY), *[("Braid", Certainty.WEAK)] * 3]


def test_a_bottle_that_cannot_be_read_stops_nothing(made: MadeProcesses, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "bottle.yml")
    for pid, prefix in ((400, str(tmp_path)), (401, "/no/such/folder"), (402, "x" * 5000)):
        made.add(pid, "Braid.exe", "C:\\Braid.exe")
        made.set_environment(pid, WINEPREFIX=prefix)
    assert seen(made) == [("Braid", Certainty.WEAK)] * 3


def test_what_a_game_opens_and_idle_programs_of_wine_are_no_games(made: MadeProcesses) -> None:
    for pid, name in enumerate(("firefox", "bash", "wineserver", "pv-adverb", "mangohud", "discord"), 400):
        made.add(pid, name, f"/usr/bin/{name}")
        made.set_environment(pid, HEROIC_APP_NAME="Braid")
    for pid, name in enumerate(("wordpad.exe", "notepad.exe", "winecfg.exe", "WINWORD.EXE"), 500):
        made.add(pid, name, f"C:\\Program Files\\{name}")
    assert seen(made) == []


def test_minecraft_is_called_so_and_its_server_and_other_programs_in_java_are_no_games(
    made: MadeProcesses,
) -> None:
    client = "net.minecraft.client.main.Main"
    made.add(400, "java", "/usr/bin/java", "-Xmx2G", "-cp", "/home/me/.minecraft/a.jar:/x/1.20.1.jar", client)
    made.add(401, "java", "/usr/bin/java", "-Duser.language=en", "-cp", "/app/N.jar", "org.prismlauncher.EntryPoint")
    made.add(402, "java", "/usr/bin/java", "-jar", "/srv/minecraft/server.jar", "nogui")
    made.add(403, "java", "/usr/bin/java", "-jar", "/opt/freeplane.jar")
    assert seen(made) == [("Minecraft", Certainty.LIKELY)] * 2
