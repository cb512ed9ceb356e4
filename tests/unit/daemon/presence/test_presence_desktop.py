"""The desktop's session, its control groups and the windows of Wayland."""

import struct
from pathlib import Path

import pytest
from helpers.made_processes import Clock, MadeProcesses
from potluck_control.states import Certainty
from potluck_daemon.presence.applications import ApplicationProbe
from potluck_daemon.presence.probe import ProbeFailedError, ProbeUnavailableError, Surroundings
from potluck_daemon.presence.session import SessionEnvironment, judge_session, variables_in, with_session
from potluck_daemon.presence.toplevels import Toplevels, process_of
from potluck_daemon.presence.windows import HOLD_S

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
    assert variables_in(["DISPLAY=:1", "PATH=/evil", "XAUTHORITY=", "odd"]) == {"DISPLAY": ":1"}


def test_a_change_of_the_session_is_told_once() -> None:
    changes: list[str] = []
    environment = SessionEnvironment(OF_SYSTEMD, lambda: changes.append("changed"))
    assert environment.get("DISPLAY") is None
    environment.tell(NEW)
    environment.tell(NEW)
    assert (environment["DISPLAY"], changes) == (":1", ["changed"])


def test_a_desktop_that_cannot_be_seen_is_a_failure_and_no_desktop_is_none() -> None:
    judge_session({"WAYLAND_DISPLAY": "wayland-0"}, True)
    with pytest.raises(ProbeFailedError, match="not told"):
        judge_session({}, True)
    with pytest.raises(ProbeUnavailableError, match="no desktop"):
        judge_session({}, False)


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
    assert windows.active is None
    assert windows.apply(99, 1, text("of an object that is not known")) is None
    windows.apply(SECOND, 4, states(2, 3))
    assert windows.active is not None
    assert (windows.active.app_id, windows.active.states) == ("org.gnome.Mines", {2, 3})
    assert windows.apply(SECOND, 6, b"") == SECOND
    assert windows.active is None


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
    assert process_of(made.proc, "org.gnome.Mines") is None  # its group cannot be read
    (made.proc / "300/cgroup").write_text("0::/session.scope\n")
    assert [process_of(made.proc, name) for name in ("org.gnome.Mines", "org.x.Y", "other")] == [300, 301, None]


class Groups:
    """A desktop's control groups, and a menu that knows `org.x.Mines` and `org.x.Editor`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("os.getuid", lambda: 1000)
        self.clock = Clock()
        (folder / "applications").mkdir()
        for name, categories in (("Mines", "Game;"), ("Editor", "Utility;")):
            lines = "[Desktop Entry]", f"Name={name}", f"Exec={name.lower()}", f"Categories={categories}"
            (folder / "applications" / f"org.x.{name}.desktop").write_text("\n".join(lines))
        self._slice = folder / "sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice"
        self._slice.mkdir(parents=True)
        environment = {"XDG_DATA_HOME": str(folder), "XDG_DATA_DIRS": str(folder / "none")}
        at = Surroundings(folder, folder / "sys", environment)
        self.probe = ApplicationProbe(at, busy_percent=25.0, clock=self.clock)
        self._used_s: dict[str, float] = {}

    def use(self, app: str, percent: float) -> dict[str, Certainty]:
        """What is reported after two seconds in which it used so much."""
        self.clock.now += 2.0
        self._used_s[app] = self._used_s.get(app, 0.0) + 2.0 * percent / 100
        group = self._slice / f"app-gnome-org.x.{app}-7.scope"
        group.mkdir(exist_ok=True)
        (group / "cpu.stat").write_text(f"usage_usec {round(self._used_s[app] * 1e6)}\nuser_usec 0\n")
        return {sighting.who: sighting.certainty for sighting in self.probe.look()}


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Groups:
    return Groups(tmp_path, monkeypatch)


def test_a_busy_game_is_likely_one_on_every_desktop(groups: Groups) -> None:
    assert [groups.use("Mines", 60)["Mines"] for _ in range(3)] == [Certainty.WEAK, Certainty.WEAK, Certainty.LIKELY]


def test_a_game_that_is_busy_while_it_starts_only_is_a_weak_sign(groups: Groups) -> None:
    used = [groups.use("Mines", percent)["Mines"] for percent in (0, 90, 3, 3, 90, 3)]
    assert set(used) == {Certainty.WEAK}


def test_a_game_that_rests_goes_on_for_a_while(groups: Groups) -> None:
    for percent in (60, 60, 60):
        groups.use("Mines", percent)
    assert groups.use("Mines", 0) == {"Mines": Certainty.LIKELY}
    groups.clock.now += HOLD_S
    assert groups.use("Mines", 0) == {"Mines": Certainty.WEAK}


def test_other_applications_are_no_games(groups: Groups) -> None:
    assert [groups.use("Editor", 100) for _ in range(3)] == [{}, {}, {}]
