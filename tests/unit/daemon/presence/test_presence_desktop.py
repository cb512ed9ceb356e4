"""The desktop's session, its control groups and the windows of Wayland."""

import socket
import struct
from pathlib import Path

import pytest
from helpers.made_processes import MadeProcesses
from potluck_daemon.presence.active_window import ActiveWindow, game_groups
from potluck_daemon.presence.lookout import require_visible_windows, session_variables, with_session
from potluck_daemon.presence.probe import ProbeFailedError, ProbeUnavailableError, Surroundings
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.presence.wayland import Toplevels, process_of

OF_SYSTEMD = {"HOME": "/home/me", "INVOCATION_ID": "1"}
NEW = {"DISPLAY": ":1", "XAUTHORITY": "/run/x"}


def test_the_session_tells_what_a_daemon_lacks() -> None:
    for own, session, expected in (
        (OF_SYSTEMD, {}, OF_SYSTEMD),  # no desktop yet
        (OF_SYSTEMD, NEW, OF_SYSTEMD | NEW),  # it came
        (OF_SYSTEMD | {"DISPLAY": ":0"}, NEW, OF_SYSTEMD | NEW),  # another session
        (OF_SYSTEMD | {"WAYLAND_DISPLAY": "wayland-0"}, NEW, OF_SYSTEMD | NEW),  # another kind
        ({"HOME": "/"}, NEW, {"HOME": "/"} | NEW),  # by hand
        ({"DISPLAY": ":5"}, NEW, {"DISPLAY": ":5"}),  # in a terminal
        (OF_SYSTEMD | {"DISPLAY": ":0"}, {"XDG_SESSION_TYPE": "tty"}, OF_SYSTEMD | {"DISPLAY": ":0"}),  # no display
    ):
        assert with_session(own, session) == expected


def test_only_variables_of_the_desktop_are_taken_over() -> None:
    assert session_variables(["DISPLAY=:1", "PATH=/evil", "XAUTHORITY=", "odd"]) == {"DISPLAY": ":1"}


def test_a_desktop_that_cannot_be_seen_is_a_failure_and_no_desktop_is_none(tmp_path: Path) -> None:
    require_visible_windows({"WAYLAND_DISPLAY": "wayland-0"})
    with pytest.raises(ProbeUnavailableError, match="no desktop"):
        require_visible_windows({"XDG_RUNTIME_DIR": str(tmp_path)})
    with socket.socket(socket.AF_UNIX) as compositor:
        compositor.bind(str(tmp_path / "wayland-0"))
        with pytest.raises(ProbeFailedError, match="not told"):
            require_visible_windows({"XDG_RUNTIME_DIR": str(tmp_path)})


def text(value: str) -> bytes:
    data = value.encode() + b"\0"
    return struct.pack("=I", len(data)) + data.ljust(-(-len(data) // 4) * 4, b"\0")


def states(*values: int) -> bytes:
    return struct.pack(f"={1 + len(values)}I", 4 * len(values), *values)


MANAGER, FIRST, SECOND = 4, 0xFF000001, 0xFF000002


def test_the_active_window_is_the_one_that_the_compositor_says() -> None:
    windows = Toplevels()
    for window, app_id in ((FIRST, "foot"), (SECOND, "org.gnome.Mines")):
        windows.apply(MANAGER, 0, struct.pack("=I", window))
        windows.apply(window, 0, text("a title"))
        windows.apply(window, 1, text(app_id))
    assert windows.active == ("", False)
    assert windows.apply(99, 1, text("of an object that is not known")) is None
    windows.apply(SECOND, 4, states(2, 3))
    assert windows.active == ("org.gnome.Mines", True)
    assert windows.apply(SECOND, 6, b"") == SECOND
    assert windows.active == ("", False)


def test_a_compositor_that_says_nonsense_is_left() -> None:
    for sender, opcode, body in (
        (MANAGER, 1, b""),  # no more windows
        (MANAGER, 0, b""),  # no id
        (FIRST, 4, struct.pack("=I", 400)),  # fewer states than told
        (FIRST, 1, b"x"),  # no text
    ):
        windows = Toplevels()
        windows.apply(MANAGER, 0, struct.pack("=I", FIRST))
        with pytest.raises((ValueError, struct.error)):
            windows.apply(sender, opcode, body)


def test_the_process_of_an_application_is_found_by_its_group_or_its_name(tmp_path: Path) -> None:
    made = MadeProcesses(tmp_path)
    made.add(300, "mines", "/usr/games/mines")
    made.add(301, "thing", "/app/bin/thing")
    (made.proc / "301/cgroup").write_text("0::/app.slice/app-flatpak-org.x.Y-77.scope\n")
    table = ProcessTable(made.surroundings)
    assert [process_of(table, name) for name in ("org.gnome.Mines", "org.x.Y", "other")] == [300, 301, None]


class Groups:
    """A desktop's control groups, and a menu that knows `org.x.Mines`, `org.x.Chess` and `org.x.Editor`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("os.getuid", lambda: 1000)
        (folder / "applications").mkdir()
        for name, categories in (("Mines", "Game;"), ("Chess", "Game;"), ("Editor", "Utility;"), ("Steam", "Game;")):
            lines = "[Desktop Entry]", f"Name={name}", f"Exec={name.lower()}", f"Categories={categories}"
            (folder / "applications" / f"org.x.{name}.desktop").write_text("\n".join(lines))
        self._slice = folder / "sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice"
        self._slice.mkdir(parents=True)
        environment = {"XDG_DATA_HOME": str(folder), "XDG_DATA_DIRS": str(folder / "none")}
        self.at = Surroundings(folder, folder / "sys", environment)

    def use(self, app: str, used_us: int, pid: int) -> None:
        group = self._slice / f"app-gnome-org.x.{app}-7.scope"
        group.mkdir(exist_ok=True)
        (group / "cpu.stat").write_text(f"usage_usec {used_us}\nuser_usec 0\n")
        (group / "cgroup.procs").write_text(f"{pid}\n{pid + 1}\n")


async def test_the_busiest_game_of_the_menu_counts_as_the_window_in_front(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = Groups(tmp_path, monkeypatch)
    async with game_groups(groups.at) as busiest_game:
        for pid, app in ((10, "Editor"), (20, "Steam")):
            groups.use(app, 900, pid)
            assert await busiest_game() is None
        groups.use("Mines", 500, 30)
        assert await busiest_game() == ActiveWindow(30, "org.x.mines", is_full_screen=False)
        groups.use("Chess", 100, 40)
        await busiest_game()
        groups.use("Chess", 200, 40)
        groups.use("Editor", 9000, 10)
        assert await busiest_game() == ActiveWindow(40, "org.x.chess", is_full_screen=False)


async def test_a_desktop_without_groups_says_so(tmp_path: Path) -> None:
    with pytest.raises(ProbeUnavailableError, match="no control groups"):
        async with game_groups(Surroundings(tmp_path, tmp_path, {})):
            pass
