"""On and off again leaves everything as it was, whoever had his hands in it. systemd is a few links here."""

from pathlib import Path

import pytest
from potluck_daemon.host import launch_agents, login, units
from potluck_daemon.host.login_entry import HIDDEN
from potluck_daemon.host.units import UNIT, set_start_at_login, starts_at_login

from potluck.errors import UsageError

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
    monkeypatch.setattr(units, "run", run)
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


def app_environment(home: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(home / "config"), "XDG_CONFIG_DIRS": str(home / "xdg")}


def own_unit(home: Path) -> Path:
    return home / "config" / "systemd" / "user" / UNIT


@pytest.mark.parametrize("given", ["nothing", "package", "edited", "service"])
def test_the_daemon_on_and_off_leaves_files_and_links_as_they_were(home: Path, given: str) -> None:
    match given:
        case "package":
            write(home / "usr" / "user" / UNIT, "[Unit]\n")
        case "edited":
            write(own_unit(home), EDITED)
        case "service":
            write(own_unit(home), units.unit_text(is_system=False))
    before = snapshot(home)
    for is_wanted in (True, True, False, False):
        set_start_at_login(is_wanted)
        assert starts_at_login() is is_wanted
    assert snapshot(home) == before


def test_a_unit_that_was_changed_meanwhile_or_enabled_by_hand_is_kept(home: Path) -> None:
    set_start_at_login(True)
    changed = own_unit(home).read_text() + "Nice=5\n"
    own_unit(home).write_text(changed)
    set_start_at_login(True)
    set_start_at_login(False)
    units._systemctl(False, "enable", UNIT)
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


def test_what_an_administrator_arranged_is_not_said_to_be_off(home: Path) -> None:
    write(home / "usr" / "user" / UNIT, "[Unit]\n")
    link = home / "etc" / "default.target.wants" / UNIT
    link.parent.mkdir(parents=True)
    link.symlink_to(home / "usr" / "user" / UNIT)
    with pytest.raises(UsageError, match="for all users") as refused:
        set_start_at_login(False)
    assert "mask" in (refused.value.hint or "")
    assert link.is_symlink()


# --- the app ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "for_all"),
    [
        (None, ""),
        (None, ENTRY),
        (HIDDEN, ENTRY),
        (f"{ENTRY}Hidden=true\n", f"{ENTRY}Hidden=true\n"),
        (f"{ENTRY}X-GNOME-Autostart-enabled=false\n[Desktop Action Quit]\nExec=x\n", ""),
    ],
)
def test_the_app_on_and_off_leaves_its_entries_as_they_were(home: Path, own: str | None, for_all: str) -> None:
    path = login.entry_path(app_environment(home))
    if for_all:
        write(home / "xdg" / "autostart" / login.ENTRY, for_all)
    login.set_app(app_environment(home), False)  # a hidden one is ours, and is there only while it hides something
    if own not in (None, HIDDEN):
        write(path, own or "")
    before = snapshot(home)
    assert not login._app(app_environment(home))
    for is_wanted in (True, True, False, False):
        login.set_app(app_environment(home), is_wanted)
        assert login._app(app_environment(home)) is is_wanted
    assert snapshot(home) == before


def test_an_entry_that_was_changed_by_hand_keeps_the_change(home: Path) -> None:
    path = write(login.entry_path(app_environment(home)), ENTRY)
    login.set_app(app_environment(home), True)
    assert path.read_text() == ENTRY
    login.set_app(app_environment(home), False)
    assert "Exec=/my/app --hidden\n" in path.read_text()
    assert not login._app(app_environment(home))
    path.write_text(f"{ENTRY}X-GNOME-Autostart-enabled = false\n")
    assert not login._app(app_environment(home))
