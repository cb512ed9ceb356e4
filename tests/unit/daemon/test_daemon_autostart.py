"""On and off again leaves everything as it was, whoever had his hands in it. systemd is a few links here."""

from __future__ import annotations

from pathlib import Path

import pytest
from potluck_daemon.host import launch_agents, login, units
from potluck_daemon.host.login_entry import HIDDEN
from potluck_daemon.host.units import UNIT, set_start_at_login, starts_at_login

from potluck.errors import PotluckError, UsageError

EDITED = "[Unit]\nDescription=mine\n[Service]\nExecStart=/my/potluckd --verbose\n"
ENTRY = "[Desktop Entry]\nName=My Potluck\nExec=/my/app --hidden\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's, with a systemd that makes and removes the links which the real one does."""
    config = tmp_path / "config" / "systemd" / "user"
    link = config / "default.target.wants" / UNIT
    everyone = tmp_path / "etc"

    def run(*command: str, hint: str | None = None) -> None:
        if "enable" in command:
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(units.unit_path(is_system=False))
        elif "disable" in command and link.is_symlink():
            link.unlink()
            link.parent.rmdir()

    def answer(*command: str) -> str:
        links = [link, everyone / "default.target.wants" / UNIT]
        return "enabled" if any(item.is_symlink() for item in links) else "disabled"

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(units, "_run", run)
    monkeypatch.setattr(units, "_answer", answer)
    monkeypatch.setattr(units, "_PACKAGED", tmp_path / "usr")
    monkeypatch.setattr(units, "_ALL_USERS", everyone)
    monkeypatch.setattr(units, "program", lambda name: Path("/opt/potluck/bin", name))
    monkeypatch.setattr(launch_agents, "is_mac", lambda: False)
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def snapshot(folder: Path) -> dict[str, str]:
    """Every file and folder, and where links lead."""
    found = {}
    for path in sorted(folder.rglob("*")):
        content = f"-> {path.readlink()}" if path.is_symlink() else path.read_text() if path.is_file() else "folder"
        found[str(path.relative_to(folder))] = content
    return found


def own_unit(home: Path) -> Path:
    return home / "config" / "systemd" / "user" / UNIT


@pytest.mark.parametrize("given", ["nothing", "package", "edited", "service"])
def test_the_daemon_on_and_off_leaves_files_and_links_as_they_were(home: Path, given: str) -> None:
    if given == "package":
        write(home / "usr" / "user" / UNIT, "[Unit]\n")
    if given == "edited":
        write(own_unit(home), EDITED)
    if given == "service":
        write(own_unit(home), units.unit_text(is_system=False))
    before = snapshot(home)
    for _ in range(2):
        set_start_at_login(True)
        assert starts_at_login()
    for _ in range(2):
        set_start_at_login(False)
        assert not starts_at_login()
    assert snapshot(home) == before


def test_a_unit_that_was_changed_meanwhile_is_kept(home: Path) -> None:
    set_start_at_login(True)
    with own_unit(home).open("a") as file:
        file.write("Nice=5\n")
    changed = own_unit(home).read_text()
    set_start_at_login(True)
    set_start_at_login(False)
    assert own_unit(home).read_text() == changed
    assert not starts_at_login()


def test_a_unit_of_an_installation_that_moved_is_written_anew(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_start_at_login(True)
    monkeypatch.setattr(units, "program", lambda name: Path("/new/place", name))
    set_start_at_login(True)
    assert "/new/place/potluckd" in own_unit(home).read_text()
    set_start_at_login(False)
    assert snapshot(home) == {}


def test_one_that_the_user_enabled_himself_is_switched_off_and_his_unit_stays(home: Path) -> None:
    write(own_unit(home), EDITED)
    units._systemctl(False, "enable", UNIT)
    set_start_at_login(False)
    assert not starts_at_login()
    assert own_unit(home).read_text() == EDITED


def test_what_an_administrator_arranged_is_not_said_to_be_off(home: Path) -> None:
    write(home / "usr" / "user" / UNIT, "[Unit]\n")
    link = home / "etc" / "default.target.wants" / UNIT
    link.parent.mkdir(parents=True)
    link.symlink_to(home / "usr" / "user" / UNIT)
    with pytest.raises(UsageError, match="for all users") as refused:
        set_start_at_login(False)
    assert "mask" in (refused.value.hint or "")
    assert link.is_symlink()


def test_a_failure_of_systemd_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*command: str, hint: str | None = None) -> None:
        raise PotluckError("`systemctl` failed")

    monkeypatch.setattr(units, "_run", fail)
    with pytest.raises(PotluckError, match="failed"):
        set_start_at_login(True)


# --- the app ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("for_all", ["", ENTRY, f"{ENTRY}Hidden=true\n"])
@pytest.mark.parametrize(
    "own",
    [None, HIDDEN, f"{ENTRY}Hidden=true\n", f"{ENTRY}X-GNOME-Autostart-enabled=false\n[Desktop Action Quit]\nExec=x\n"],
)
def test_the_app_on_and_off_leaves_its_entries_as_they_were(home: Path, own: str | None, for_all: str) -> None:
    environment = {"XDG_CONFIG_HOME": str(home / "config"), "XDG_CONFIG_DIRS": str(home / "xdg")}
    path = login.entry_path(environment)
    if for_all:
        write(home / "xdg" / "autostart" / login.ENTRY, for_all)
    login.set_app(environment, False)  # a hidden one is ours, and is there only while it hides something
    if own not in (None, HIDDEN):
        write(path, own or "")
    before = snapshot(home)
    for _ in range(2):
        login.set_app(environment, True)
        assert login._app(environment)
    for _ in range(2):
        login.set_app(environment, False)
        assert not login._app(environment)
    assert snapshot(home) == before


def test_an_entry_that_was_changed_by_hand_keeps_the_change(home: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(home / "config"), "XDG_CONFIG_DIRS": str(home / "xdg")}
    path = write(login.entry_path(environment), ENTRY)
    login.set_app(environment, True)
    assert path.read_text() == ENTRY
    login.set_app(environment, False)
    assert "Exec=/my/app --hidden\n" in path.read_text()
    assert not login._app(environment)
