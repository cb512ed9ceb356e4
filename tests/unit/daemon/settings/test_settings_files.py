import os
from dataclasses import replace
from pathlib import Path

import pytest
from potluck_control.api.schema import SwarmStatus
from potluck_control.places import system_places, user_places
from potluck_daemon.settings.state import Pause, StateFile

from potluck.errors import PotluckError
from potluck.files import remove_temporary_files, write_atomically
from potluck.sentences import NOTHING


def test_what_killed_writers_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in (".state.json.ab12cd_e", "state.json", ".hidden", "settings.toml.broken-20260101T000000"):
        (tmp_path / name).write_text("x")
    now = (tmp_path / "state.json").stat().st_mtime
    remove_temporary_files(tmp_path, now)
    assert len(os.listdir(tmp_path)) == 4  # somebody may be writing just now
    remove_temporary_files(tmp_path, now + 3600)
    assert sorted(os.listdir(tmp_path)) == [".hidden", "settings.toml.broken-20260101T000000", "state.json"]
    remove_temporary_files(tmp_path / "none", now)


def test_a_file_is_private_and_a_failed_write_leaves_the_old_one_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new folder" / "f"
    write_atomically(path, b"old")
    assert path.stat().st_mode & 0o777 == 0o600

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == ["f"]


def test_state_survives_a_restart(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "state.json")
    swarm = SwarmStatus("s", "m", 4, (0, 2), (1, 1, 0, 0), 5.0)
    file.state = replace(file.state, pause=Pause(1.0, 2.0), port=7, swarm=swarm)
    file.save()
    again = StateFile(tmp_path / "state.json")
    assert again.load() == NOTHING
    assert again.state == file.state


def test_a_damaged_state_without_a_copy_is_kept_aside(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    for data in (b"", b"{", b'{"pause": 3}', b"\xff", b'{"port": "many"}'):
        path.write_bytes(data)
        file = StateFile(path)
        assert file.load() == NOTHING
        (aside,) = tmp_path.glob("state.json.broken-*")
        assert aside.read_bytes() == data
        assert file.state == StateFile(path).state
        aside.unlink()


def test_a_state_that_could_not_be_written_is_written_by_the_next_call(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "folder" / "state.json")
    (tmp_path / "folder").touch()
    file.state = replace(file.state, pause=Pause(1.0))
    with pytest.raises(PotluckError, match=r"cannot use .*folder: File exists"):
        file.save()
    (tmp_path / "folder").unlink()
    file.try_to_save()
    again = StateFile(tmp_path / "folder" / "state.json")
    again.load()
    assert again.state.pause == Pause(1.0)


def test_counters_alone_are_written_once_a_minute(tmp_path: Path) -> None:
    now = 1000.0
    file = StateFile(tmp_path / "state.json", clock=lambda: now)
    file.state = replace(file.state, port=1)
    file.save()
    file.state = replace(file.state, port=2)
    file.save_if_due()
    assert b'"port":1' in (tmp_path / "state.json").read_bytes()
    now += 61
    file.save_if_due()
    assert b'"port":2' in (tmp_path / "state.json").read_bytes()


def test_places_follow_the_platform_and_systemd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The service may write to its state folder only, root everywhere; both find the swarms there."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    (tmp_path / "run").mkdir()
    assert user_places().state_file == tmp_path / "state" / "potluck" / "state.json"
    assert user_places().socket == tmp_path / "run" / "potluck" / "potluckd.sock"
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("CONFIGURATION_DIRECTORY", str(tmp_path / "etc"))
    (tmp_path / "etc").mkdir()
    assert system_places().state_file == tmp_path / "state.json"
    assert system_places().swarms_file == tmp_path / "swarms.json"
    assert system_places().socket == Path("/run/potluck/potluckd.sock")
