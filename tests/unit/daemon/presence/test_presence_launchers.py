"""Games of launchers, by the programs above them and by their environment."""

import os
from pathlib import Path

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


def test_variables_of_a_game_give_it_away(made: MadeProcesses) -> None:
    for pid, (name, variables) in enumerate(
        (
            ("one", {"SteamAppId": "504230"}),
            ("none", {"SteamAppId": "0"}),
            ("two", {"SteamGameId": "504230"}),
            ("three", {"HEROIC_APP_NAME": "Fortnite"}),
            ("four", {"LUTRIS_GAME_UUID": "a-b"}),
            ("none", {"WINEPREFIX": "/home/me/.wine"}),
            ("none", {"STEAM_COMPAT_DATA_PATH": "/home/me/x"}),  # no Windows program
            ("none", {}),
        ),
        400,
    ):
        made.add(pid, name, f"/games/{name}")
        made.set_environment(pid, **variables)
    assert seen(made) == [(name, Certainty.LIKELY) for name in ("one", "two", "three", "four")]


def test_a_windows_program_in_a_launchers_wine_is_likely_a_game(made: MadeProcesses) -> None:
    for pid, variables in enumerate(
        (
            {"STEAM_COMPAT_DATA_PATH": "/home/me/steamapps/compatdata/1"},
            {"LEGENDARY_CONFIG_PATH": "/home/me/.config/heroic/legendaryConfig"},
            {"WINEPREFIX": "/home/me/Games/Heroic/Prefixes/default/Braid"},
            {},
        ),
        400,
    ):
        made.add(pid, "Braid-Win64-Shi", "Z:\\games\\Braid-Win64-Shipping.exe")
        made.set_environment(pid, **variables)
    assert seen(made) == [*[("Braid", Certainty.LIKELY)] * 3, ("Braid", Certainty.WEAK)]


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


def test_minecraft_and_its_launchers_are_called_so_and_its_server_and_other_programs_in_java_are_no_games(
    made: MadeProcesses,
) -> None:
    client = "net.minecraft.client.main.Main"
    made.add(400, "java", "/usr/bin/java", "-Xmx2G", "-cp", "/home/me/.minecraft/a.jar:/x/1.20.1.jar", client)
    made.add(401, "java", "/usr/bin/java", "-Duser.language=en", "-cp", "/app/N.jar", "org.prismlauncher.EntryPoint")
    made.add(402, "java", "/usr/bin/java", "-jar", "/srv/minecraft/server.jar", "nogui")
    made.add(403, "java", "/usr/bin/java", "-jar", "/opt/freeplane.jar")
    assert seen(made) == [("Minecraft", Certainty.LIKELY)] * 2


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
