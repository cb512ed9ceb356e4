"""Games of launchers, by the programs above them and by their environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers.made_processes import MadeProcesses
from helpers.probe_reports import watching
from potluck_control.states import Certainty, Reason
from potluck_daemon.presence.launchers import launched_game
from potluck_daemon.presence.probe import Sighting
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.presence.program_probes import ProgramProbe


def seen(made: MadeProcesses, **ambient: str) -> list[tuple[str, Certainty]]:
    table, judge = ProcessTable(made.surroundings), launched_game(ambient)
    found = (judge(program, table) for program in table.look().values())
    return [(sighting.who, sighting.certainty) for sighting in found if sighting is not None]


def test_lutris_tells_the_title_of_native_and_windows_games(made: MadeProcesses) -> None:
    made.add(400, "lutris-wrapper:", "lutris-wrapper: Braid: Anniversary Edition", "0", "0", "/games/braid/run.sh")
    made.add(401, "bash", "/bin/bash", "/games/braid/run.sh", parent=400)
    made.add(402, "braid.x86_64", "/games/braid/braid.x86_64", parent=401)
    assert set(seen(made)) == {("Braid: Anniversary Edition", Certainty.LIKELY)}
    made.remove(402)
    made.add(402, "wineserver", "/opt/wine/bin/wineserver", parent=400)
    made.add(403, "Overwatch.exe", "C:\\games\\Overwatch.exe", parent=400)
    made.add(404, "explorer.exe", "C:\\windows\\explorer.exe", parent=400)
    assert seen(made) == [("Braid: Anniversary Edition", Certainty.LIKELY)]


@pytest.mark.parametrize(
    ("variables", "is_seen"),
    [
        ({"SteamAppId": "504230"}, True),
        ({"SteamAppId": "0"}, False),
        ({"SteamGameId": "504230"}, True),
        ({"HEROIC_APP_NAME": "Fortnite"}, True),
        ({"LUTRIS_GAME_UUID": "a-b"}, True),
        ({"WINEPREFIX": "/home/me/.wine"}, False),
        ({"STEAM_COMPAT_DATA_PATH": "/home/me/x"}, False),  # no Windows program
        ({}, False),
    ],
)
def test_variables_of_a_game_give_it_away(made: MadeProcesses, variables: dict[str, str], is_seen: bool) -> None:
    made.add(400, "braid", "/games/braid")
    made.set_environment(400, **variables)
    assert seen(made) == ([("braid", Certainty.LIKELY)] if is_seen else [])


@pytest.mark.parametrize(
    ("variables", "certainty"),
    [
        ({"STEAM_COMPAT_DATA_PATH": "/home/me/steamapps/compatdata/1"}, Certainty.LIKELY),
        ({"LEGENDARY_CONFIG_PATH": "/home/me/.config/heroic/legendaryConfig"}, Certainty.LIKELY),
        ({"WINEPREFIX": "/home/me/Games/Heroic/Prefixes/default/Braid"}, Certainty.LIKELY),
        ({}, Certainty.WEAK),
    ],
)
def test_a_windows_program_in_a_launchers_wine_is_likely_a_game(
    made: MadeProcesses, variables: dict[str, str], certainty: Certainty
) -> None:
    made.add(400, "Braid-Win64-Shi", "Z:\\games\\Braid-Win64-Shipping.exe")
    made.set_environment(400, **variables)
    assert seen(made) == [("Braid", certainty)]


@pytest.mark.parametrize(
    ("environment", "certainty"),
    [("Gaming", Certainty.LIKELY), ("Application", Certainty.WEAK), ("Custom", Certainty.WEAK), (None, Certainty.WEAK)],
)
def test_a_bottle_made_for_games_is_likely_to_run_one(
    made: MadeProcesses, tmp_path: Path, environment: str | None, certainty: Certainty
) -> None:
    bottle = tmp_path / "bottles" / "Braid"
    bottle.mkdir(parents=True)
    if environment is not None:
        (bottle / "bottle.yml").write_text(f"Arch: win64\nEnvironment: {environment}\nName: Gaming\n")
    made.add(400, "Braid.exe", "C:\\Program Files\\Braid\\Braid.exe")
    made.add(401, "explorer.exe", "C:\\windows\\explorer.exe")
    made.add(402, "bottles-cli", "/usr/bin/python3", "/usr/bin/bottles-cli")
    for pid in (400, 401, 402):
        made.set_environment(pid, WINEPREFIX=str(bottle))
    assert seen(made) == [("Braid", certainty)]


def test_a_bottle_that_cannot_be_read_stops_nothing(made: MadeProcesses, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "bottle.yml")
    for pid, prefix in ((400, str(tmp_path)), (401, "/no/such/folder"), (402, "x" * 5000)):
        made.add(pid, "Braid.exe", "C:\\Braid.exe")
        made.set_environment(pid, WINEPREFIX=prefix)
    assert seen(made) == [("Braid", Certainty.WEAK)] * 3


def test_what_the_whole_session_inherits_tells_nothing(made: MadeProcesses) -> None:
    made.add(400, "some-editor", "/usr/bin/some-editor")
    made.set_environment(400, SteamAppId="7", LUTRIS_GAME_UUID="a")
    assert seen(made, SteamAppId="7", LUTRIS_GAME_UUID="a") == []


def test_what_a_game_opens_and_idle_programs_of_wine_are_no_games(made: MadeProcesses) -> None:
    for pid, name in enumerate(("firefox", "bash", "wineserver", "pv-adverb", "mangohud", "discord"), 400):
        made.add(pid, name, f"/usr/bin/{name}")
        made.set_environment(pid, SteamAppId="504230")
    for pid, name in enumerate(("wordpad.exe", "notepad.exe", "winecfg.exe", "WINWORD.EXE"), 500):
        made.add(pid, name, f"C:\\Program Files\\{name}")
    assert seen(made) == []


@pytest.mark.parametrize(
    ("arguments", "is_game"),
    [
        (
            ["-Xmx2G", "-cp", "/home/me/.minecraft/a.jar:/x/1.20.1.jar", "net.minecraft.client.main.Main"],
            True,
        ),
        (["-Duser.language=en", "-cp", "/app/NewLaunch.jar", "org.prismlauncher.EntryPoint"], True),
        (["-jar", "/srv/minecraft/server.jar", "nogui"], False),
        (["-jar", "/opt/freeplane.jar"], False),
    ],
    ids=["Minecraft", "its launcher", "its server", "another program"],
)
def test_minecraft_is_called_minecraft_and_other_programs_in_java_are_no_games(
    made: MadeProcesses, arguments: list[str], is_game: bool
) -> None:
    made.add(400, "java", "/usr/bin/java", *arguments)
    assert seen(made) == ([("Minecraft", Certainty.LIKELY)] if is_game else [])


async def test_a_game_that_outlives_its_launcher_goes_on(made: MadeProcesses) -> None:
    game = Sighting(Reason.GAME, "Celeste", Certainty.LIKELY, "celeste.exe")
    made.add(400, "umu-run", "umu-run")
    made.add(401, "Celeste.exe", "Z:\\games\\Celeste.exe", parent=400)
    probe = ProgramProbe("launchers", ProcessTable(made.surroundings), launched_game({}), interval_s=0.01)
    async with watching(probe) as reports:
        await reports.until_seen(game)
        made.remove(400)
        made.add(401, "Celeste.exe", "Z:\\games\\Celeste.exe", parent=1)
        made.add(402, "true", "true")
        for _ in range(5):
            assert await reports.next() == (game,)
        made.remove(401)
        await reports.until_seen()
