"""The daemon's folders are its user's alone from its start on."""

import asyncio
import pwd
from pathlib import Path
from typing import NoReturn

import pytest
from potluck_cli import daemon
from potluck_control.places import Places, user_places
from potluck_daemon.doctor.bundle import words_of_person
from potluck_daemon.reporting import logs

from potluck.errors import UsageError


@pytest.mark.parametrize("is_system", [False, True])
def test_an_open_folder_of_state_or_configuration_is_closed_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_system: bool
) -> None:
    config, state = tmp_path / "config", tmp_path / "state"
    for folder in (config, state):
        folder.mkdir()
        (folder / "file").touch()
        (folder / "file").chmod(0o666)
        folder.chmod(0o777)
    places = Places(config=config, state=state, runtime=tmp_path, cache=tmp_path, is_system=is_system)
    monkeypatch.setattr(daemon, "user_places", lambda: places)
    monkeypatch.setattr(daemon, "system_places", lambda: places)
    monkeypatch.setattr(daemon, "own_versions", lambda: None)
    monkeypatch.chdir(tmp_path)  # which it leaves
    monkeypatch.setattr(daemon, "confine", lambda: None)
    monkeypatch.setattr(daemon, "drop_root", lambda places: None)
    monkeypatch.setattr(logs, "set_up_logging", lambda *args, **options: None)
    monkeypatch.setattr(asyncio, "run", lambda work: work.close())

    assert daemon.main(["--system"] if is_system else []) == 0

    assert [path.stat().st_mode & 0o777 for path in (state, state / "file")] == [0o700, 0o600]
    # root owns the folder of a system service, whose group may read it
    assert [path.stat().st_mode & 0o777 for path in (config, config / "file")] == (
        [0o777, 0o666] if is_system else [0o700, 0o600]
    )


def test_a_user_without_an_entry_is_told_to_name_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> NoReturn:
        raise KeyError(uid)

    for name in ("HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(UsageError) as refused:
        user_places()
    assert refused.value.hint == "set HOME to a folder"
    assert len(words_of_person()) == 2, "home and host"


def test_a_folder_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(daemon, "confine", lambda: None)  # which would change the process of the tests for good
    monkeypatch.chdir(tmp_path)  # which it leaves
    assert daemon.main([]) == daemon.EXIT_FAILED
    assert capsys.readouterr().err == f"potluckd: cannot use {tmp_path}/state/potluck: Not a directory\n"
