"""What a Mac starts at log-in, with a `launchctl` that keeps its state in files and answers as Apple's does."""

import os
import plistlib
import sys
from pathlib import Path

import pytest
from potluck_cli.main import EXIT_USAGE, main
from potluck_control.places import user_places
from potluck_daemon.host import login
from potluck_daemon.host import login as launch_agents
from potluck_daemon.host.login import APP, DAEMON, agent, agent_path

from potluck.errors import PotluckError
from potluck.sentences import NOTHING

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
    monkeypatch.setattr(launch_agents, "is_mac", lambda: True)
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
        launch_agents.set_start_at_login(DAEMON, mac / "bin" / "potluckd")
    assert "launchctl print-disabled" in str(login.read_login(os.environ, user_places()).daemon_problem)
    monkeypatch.setenv("PATH", str(mac))
    with pytest.raises(PotluckError, match="this machine has no launchctl"):
        launch_agents.set_start_at_login(DAEMON, mac / "bin" / "potluckd")


def test_the_command_knows_no_system_service_there(mac: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["autostart", "--daemon", "on"]) == 0
    assert agent_path(DAEMON).exists()
    assert "The daemon starts at log-in" in capsys.readouterr().out
    assert main(["autostart", "--system", "--daemon", "on"]) == EXIT_USAGE
    assert "no system service" in capsys.readouterr().err
