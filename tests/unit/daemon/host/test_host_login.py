"""What starts at log-in, on and off again, leaves what others made as it was. systemd is a few links here."""

from pathlib import Path

import pytest
from potluck_control.places import Places
from potluck_daemon.host import login
from potluck_daemon.host import login as launch_agents
from potluck_daemon.host import systemd as units
from potluck_daemon.host.systemd import UNIT, disable, enable, is_enabled

from potluck.errors import PotluckError, UsageError
from potluck.sentences import Sentence

EDITED = "[Unit]\nDescription=mine\n[Service]\nExecStart=/my/potluckd --verbose\n"
FORMER = "# Installed by `potluck service install`, which puts the program's path in.\n[Unit]\n"
ENTRY = "[Desktop Entry]\nName=My Potluck\nExec=/my/app --hidden\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's, with a systemd that makes and removes the links which the real one does."""
    config = tmp_path / "config" / "systemd" / "user"
    link = config / "default.target.wants" / UNIT
    everyone = tmp_path / "etc"

    def run(*command: str, **_: object) -> str:
        links = [link, everyone / "default.target.wants" / UNIT]
        if "is-enabled" in command:
            return "enabled\n" if any(item.is_symlink() for item in links) else "disabled\n"
        if "enable" in command:
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(units.unit_path(is_system=False))
        elif "disable" in command and link.is_symlink():
            link.unlink()
            link.parent.rmdir()
        return ""

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(units, "run", run)
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


@pytest.mark.parametrize("given", ["nothing", "package", "edited", "earlier version"])
def test_the_daemon_on_and_off_leaves_files_and_links_of_others_as_they_were(home: Path, given: str) -> None:
    match given:
        case "package":
            write(home / "usr" / "user" / UNIT, "[Unit]\n")
        case "edited":
            write(own_unit(home), EDITED)
    before = snapshot(home)
    if given == "earlier version":
        write(own_unit(home), FORMER)
    for _ in range(2):
        enable(is_system=False)
        assert is_enabled(is_system=False)
    for _ in range(2):
        disable(is_system=False)
        assert not is_enabled(is_system=False)
    assert snapshot(home) == before


def test_a_unit_of_an_installation_that_moved_is_written_anew(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enable(is_system=False)
    monkeypatch.setattr(units, "program", lambda name: Path("/new/place", name))
    enable(is_system=False)
    assert "/new/place/potluckd" in own_unit(home).read_text()


def test_without_systemd_nothing_is_written_and_the_reason_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*command: str, hint: Sentence | None = None, **_: object) -> str:
        raise PotluckError("no bus", hint=hint)

    monkeypatch.setattr(units, "run", run)
    before = snapshot(home)
    with pytest.raises(PotluckError, match="no bus") as refused:
        enable(is_system=False)
    assert "potluck start" in str(refused.value.advice)
    assert snapshot(home) == before
    write(own_unit(home), EDITED)
    assert "no bus" in str(login.read_login(app_environment(home), Places(home, home, home, home)).daemon_problem)


def test_what_an_administrator_arranged_is_not_said_to_be_off(home: Path) -> None:
    write(home / "usr" / "user" / UNIT, "[Unit]\n")
    link = home / "etc" / "default.target.wants" / UNIT
    link.parent.mkdir(parents=True)
    link.symlink_to(home / "usr" / "user" / UNIT)
    with pytest.raises(UsageError, match="for all users") as refused:
        disable(is_system=False)
    assert "mask" in (refused.value.hint or "")
    assert link.is_symlink()
    now = login.read_login(app_environment(home), Places(home, home, home, home))
    assert (now.daemon, str(now.daemon_problem)) == (True, "an administrator starts it for all users")


# --- the app ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("for_all", ["", ENTRY, f"{ENTRY}Hidden=true\n", f"{ENTRY}X-GNOME-Autostart-enabled = false\n"])
def test_the_app_has_an_entry_of_its_own_only_to_differ_from_that_for_all_users(home: Path, for_all: str) -> None:
    environment, is_on = app_environment(home), for_all == ENTRY
    if for_all:
        write(home / "xdg" / "autostart" / login.ENTRY, for_all)
    assert login._starts_app(environment) is is_on
    before = snapshot(home)
    for is_wanted in (not is_on, not is_on, is_on, is_on):
        login.set_app(environment, is_wanted)
        assert login._starts_app(environment) is is_wanted
    assert snapshot(home) == before


def test_an_entry_that_a_desktop_switched_off_can_be_switched_on(home: Path) -> None:
    environment = app_environment(home)
    login.set_app(environment, True)
    entry = login.entry_path(environment)
    entry.write_text(entry.read_text() + "X-GNOME-Autostart-enabled=false\n")
    assert not login._starts_app(environment)
    login.set_app(environment, True)
    assert login._starts_app(environment)
