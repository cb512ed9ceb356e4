"""Start at log-in is switched on and off again, and what others made stays as it was.

systemd is a few links here, and `launchctl` a program that keeps its state in files and answers as Apple's does.
"""

import os
import plistlib
import sys
from pathlib import Path

import pytest
from potluck_cli.main import EXIT_USAGE, main
from potluck_control.places import Places, user_places
from potluck_daemon.host import login, systemd
from potluck_daemon.host.login import APP, DAEMON, agent, agent_path
from potluck_daemon.host.systemd import UNIT, disable, enable, is_enabled

from potluck.errors import PotluckError, UsageError
from potluck.sentences import NOTHING, Sentence

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
                link.symlink_to(systemd.unit_path(is_system=False))
        elif "disable" in command and link.is_symlink():
            link.unlink()
            link.parent.rmdir()
        return ""

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(systemd, "run", run)
    monkeypatch.setattr(systemd, "_PACKAGED", tmp_path / "usr")
    monkeypatch.setattr(systemd, "_ALL_USERS", everyone)
    monkeypatch.setattr(systemd, "program", lambda name: Path("/opt/potluck/bin", name))
    monkeypatch.setattr(login, "is_mac", lambda: False)
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
    monkeypatch.setattr(systemd, "program", lambda name: Path("/new/place", name))
    enable(is_system=False)
    assert "/new/place/potluckd" in own_unit(home).read_text()


def test_without_systemd_nothing_is_written_and_the_reason_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*command: str, hint: Sentence | None = None, **_: object) -> str:
        raise PotluckError("no bus", hint=hint)

    monkeypatch.setattr(systemd, "run", run)
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


LAUNCHCTL = """\
#!/bin/sh
echo "$@" >>"$HOME/calls"
case $1 in
    print-disabled)
        printf 'disabled services = {\\n\\t"com.apple.x" => enabled\\n'
        cat "$HOME/off" 2>/dev/null
        echo '}' ;;
    enable) rm -f "$HOME/off" ;;
    *) exit 64 ;;
esac
"""


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home on a machine that says it is a Mac, whose programs are beside Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("launchctl", LAUNCHCTL), ("potluckd", "#!/bin/sh\n"), ("potluck-app", "#!/bin/sh\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setattr(login, "is_mac", lambda: True)
    return tmp_path


def calls(home: Path) -> list[str]:
    return (home / "calls").read_text().splitlines()


def test_an_agent_is_started_at_log_in_and_again_only_after_a_crash() -> None:
    found = plistlib.loads(agent(DAEMON, Path("/A B/potluckd")))
    assert found == {
        "Label": DAEMON,
        "ProgramArguments": ["/A B/potluckd"],
        "RunAtLoad": True,
        "KeepAlive": {"Crashed": True},
    }


def test_autostart_is_off_until_asked_for_and_leaves_nothing_when_taken_back(mac: Path) -> None:
    environment, places = dict(os.environ), user_places()
    assert not login.read_login(environment, places).daemon
    login.set_daemon(places, True)
    login.set_app(environment, True)
    now = login.read_login(environment, places)
    assert (now.app, now.daemon, now.app_problem, now.daemon_problem) == (True, True, NOTHING, NOTHING)
    assert plistlib.loads(agent_path(APP).read_bytes())["ProgramArguments"] == [str(mac / "bin" / "potluck-app")]
    login.set_daemon(places, False)
    login.set_app(environment, False)
    now = login.read_login(environment, places)
    assert (now.app, now.daemon) == (False, False)
    assert list((mac / "Library" / "LaunchAgents").iterdir()) == []
    assert {line.split()[0] for line in calls(mac)} == {"print-disabled", "enable"}  # nothing started, nothing ended


def test_what_was_switched_off_in_the_systems_settings_is_shown_as_off_and_can_be_switched_on(mac: Path) -> None:
    login.set_daemon(user_places(), True)
    (mac / "off").write_text(f'\t"{DAEMON}" => disabled\n')
    assert not login.read_login(os.environ, user_places()).daemon
    login.set_daemon(user_places(), True)
    assert login.read_login(os.environ, user_places()).daemon


def test_older_systems_say_true_for_switched_off(mac: Path) -> None:
    login.set_daemon(user_places(), True)
    for said, is_on in (("true", False), ("false", True)):
        (mac / "off").write_text(f'\t"{DAEMON}" => {said}\n')
        assert login.read_login(os.environ, user_places()).daemon is is_on


def test_a_failure_of_launchd_is_told_in_its_words_and_its_absence_as_well(
    mac: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mac / "bin" / "launchctl").write_text("#!/bin/sh\necho 'Bad request.' >&2\nexit 125\n")
    with pytest.raises(PotluckError, match="Bad request"):
        login.set_start_at_login(DAEMON, mac / "bin" / "potluckd")
    assert "launchctl print-disabled" in str(login.read_login(os.environ, user_places()).daemon_problem)
    monkeypatch.setenv("PATH", str(mac))
    with pytest.raises(PotluckError, match="this machine has no launchctl"):
        login.set_start_at_login(DAEMON, mac / "bin" / "potluckd")


def test_the_command_knows_no_system_service_there(mac: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["autostart", "--daemon", "on"]) == 0
    assert agent_path(DAEMON).exists()
    assert "The daemon starts at log-in" in capsys.readouterr().out
    assert main(["autostart", "--system", "--daemon", "on"]) == EXIT_USAGE
    assert "no system service" in capsys.readouterr().err
