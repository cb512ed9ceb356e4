"""The machine's own service starts with the machine once root has joined or started it. systemd is a list here."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.members import founded, invited
from potluck_cli.everyday import start_stop
from potluck_cli.main import EXIT_USAGE, main
from potluck_cli.swarm import join
from potluck_control.api import schema
from potluck_control.places import system_places
from potluck_daemon.host import login, systemd
from potluck_daemon.host.systemd import STARTS_WITH_MACHINE, UNIT, enable_system_service

from potluck.errors import PotluckError, UsageError
from potluck.membership.identity import Identity
from potluck.membership.invite import encode_invite

PRERM = Path(__file__).parents[4] / "installer" / "linux" / "debian" / "prerm"
ENABLE = ("systemctl", "enable", UNIT)


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What root asks of systemd on a machine with the packaged unit, which is disabled at first."""
    made: list[tuple[str, ...]] = []

    def run(*command: str, **_: object) -> str:
        if command[1:] == ("is-enabled", UNIT):
            return "enabled\n" if ENABLE in made else "disabled\n"
        made.append(command)
        return ""

    unit = tmp_path / "usr" / "system" / UNIT
    unit.parent.mkdir(parents=True)
    unit.touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(systemd, "_BOOTED", tmp_path)
    monkeypatch.setattr(systemd, "_PACKAGED", tmp_path / "usr")
    monkeypatch.setattr(systemd, "_SYSTEM_FOLDER", tmp_path / "etc")
    monkeypatch.setattr(systemd, "run", run)
    monkeypatch.setattr(start_stop, "hello_or_none", lambda **_: None)
    return made


class Daemon:
    def call(self, method: object, params: object) -> schema.Joined:
        return schema.Joined("home", "model")


def joined_at_once(made: schema.Joined, patience_s: float) -> tuple[join.JoinProgress, str]:
    return join.JoinProgress(made.name, made.model, is_joined=True, is_confirmed=True), ""


def test_start_as_root_has_the_service_start_with_the_machine_and_says_so_once(
    calls: list[tuple[str, ...]], capsys: pytest.CaptureFixture[str]
) -> None:
    options = argparse.Namespace(demo=False, json=False)
    for _ in range(2):
        start_stop.start(options)
    assert calls == [("systemctl", "start", UNIT), ENABLE, ("systemctl", "start", UNIT)]
    assert capsys.readouterr().out.count(STARTS_WITH_MACHINE) == 1


def test_join_as_root_has_the_service_start_with_the_machine_and_says_so(
    calls: list[tuple[str, ...]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, invite = invited(founded(Identity.generate()))
    monkeypatch.setattr(join, "read_invite", lambda args: encode_invite(invite))
    monkeypatch.setattr(join, "lacks_engine", lambda places: False)
    monkeypatch.setattr(join, "daemon", Daemon)
    monkeypatch.setattr(join, "_wait_until_in", joined_at_once)
    join.join(argparse.Namespace(json=False, code=False, person="Ana", computer="desk"))
    assert ENABLE in calls
    assert STARTS_WITH_MACHINE in capsys.readouterr().out


def test_autostart_writes_the_systems_unit_and_its_users_files_and_removes_them(
    calls: list[tuple[str, ...]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(systemd, "_PACKAGED", tmp_path / "none")
    monkeypatch.setattr(systemd, "_HIDDEN", ())
    monkeypatch.setattr(systemd, "_SYSTEM_FILES", {"potluck.sysusers": (tmp_path / "etc" / "users.conf", ("made",))})
    monkeypatch.setattr(systemd, "program", lambda name: Path("/opt/bin", name))
    assert main(["autostart", "--system", "--daemon", "on"]) == 0
    assert "The daemon starts with the machine" in capsys.readouterr().out
    asked = ("systemctl", "show-environment")
    assert calls == [asked, ("made", f"{tmp_path}/etc/users.conf"), ("systemctl", "daemon-reload"), ENABLE, asked]
    assert "ExecStart=/opt/bin/potluckd --system" in (tmp_path / "etc" / UNIT).read_text()
    assert main(["autostart", "--system", "--daemon", "off"]) == 0
    assert list((tmp_path / "etc").iterdir()) == []


@pytest.mark.parametrize("part", ["program", "link to the program", "package", "interpreter"])
def test_autostart_refuses_a_system_service_whose_sandbox_would_hide_a_part_of_potluck(
    calls: list[tuple[str, ...]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    part: str,
) -> None:
    home = tmp_path / "home"
    place = home / "ana" / "potluck"
    place.mkdir(parents=True)
    (tmp_path / "potluckd").symlink_to(place)
    program = {"program": place, "link to the program": tmp_path / "potluckd"}.get(part, Path("/opt/bin/potluckd"))
    monkeypatch.setattr(systemd, "program", lambda name: program)
    monkeypatch.setattr(systemd, "__file__", str(place if part == "package" else "/opt/systemd.py"))
    monkeypatch.setattr(sys, "base_prefix", str(place if part == "interpreter" else "/usr"))
    monkeypatch.setattr(systemd, "_PACKAGED", tmp_path / "none")
    monkeypatch.setattr(systemd, "_HIDDEN", (str(home),))
    assert main(["autostart", "--system", "--daemon", "on"]) == EXIT_USAGE
    said = capsys.readouterr().err
    assert "sandbox hides home and temporary folders" in said
    assert "docs/headless.md" in said
    assert not (tmp_path / "etc").exists()
    assert calls == [("systemctl", "show-environment")]


def test_the_sandbox_of_the_system_service_hides_the_folders_that_autostart_refuses() -> None:
    text = systemd.unit_text(is_system=True)
    assert "\nProtectHome=yes\n" in text
    assert "\nPrivateTmp=yes\n" in text
    assert set(systemd._HIDDEN) == {"/home", "/root", "/run/user", "/tmp", "/var/tmp"}  # as systemd.exec(5) lists them


def test_only_root_changes_the_system_service(monkeypatch: pytest.MonkeyPatch, calls: list[tuple[str, ...]]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UsageError, match="only root") as refused:
        login.set_daemon(system_places(), True)
    assert refused.value.hint == "sudo potluck autostart --system --daemon on"
    assert "only root" in str(login.read_login({}, system_places()).daemon_problem)
    assert set(calls) == {("systemctl", "show-environment")}  # which changes nothing


def test_a_service_that_is_not_merely_disabled_stays_as_it_is_and_a_user_enables_nothing(
    calls: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for answer, user in (("enabled", 0), ("masked", 0), ("static", 0), ("disabled", 1000)):
        monkeypatch.setattr(systemd, "_enablement", lambda is_system, answer=answer: answer)
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert not enable_system_service()
        assert calls == []


def test_what_systemd_refuses_is_said_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(
        "#!/bin/sh\necho 'Job failed because a timeout was exceeded.' >&2\necho See more >&2\nexit 1\n"
    )
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(
        PotluckError, match=r"start.* failed: Job failed because a timeout was exceeded\. See more"
    ) as refused:
        systemd._systemctl(True, "start", UNIT)
    assert refused.value.hint == f"journalctl --unit={UNIT}"


def test_an_upgrade_starts_a_service_that_ran_or_is_enabled(tmp_path: Path) -> None:
    for path in ("run/systemd/system", "usr/lib/systemd/system", "bin"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "usr/lib/systemd/system" / UNIT).touch()
    systemctl, was_running = tmp_path / "bin" / "systemctl", tmp_path / "run" / "potluckd.was-running"
    systemctl.touch(mode=0o755)
    script = tmp_path / "prerm"
    script.write_text(PRERM.read_text().replace(" /run/", f" {tmp_path}/run/").replace(" /usr/", f" {tmp_path}/usr/"))
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    for active, enabled, is_started_again in (
        ("true", "false", True),
        ("false", "true", True),  # drained, but enabled
        ("false", "false", False),
    ):
        systemctl.write_text(f"#!/bin/sh\ncase $* in *is-active*) {active};; *is-enabled*) {enabled};; esac\n")
        subprocess.run(["sh", script, "upgrade", "2"], env=os.environ | {"PATH": path}, check=True)
        assert was_running.exists() is is_started_again
        was_running.unlink(missing_ok=True)
