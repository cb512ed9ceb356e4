"""Which settings are obeyed while the file has a mistake."""

import os
import time
from pathlib import Path

import pytest
from potluck_control.places import Places
from potluck_control.settings import Settings
from potluck_daemon.settings.accepted import AcceptedSettings, change_settings


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings.toml"


def accepted(path: Path) -> AcceptedSettings:
    return AcceptedSettings(path, path.parent / "state" / "copy.toml", {})


def test_the_settings_before_a_mistake_stay_in_force_also_at_the_next_start(tmp_path: Path) -> None:
    for number, (mistake, said) in enumerate(
        (
            ("[serve", "before this mistake"),
            ("[serve]\nenabled = 7\n", "before this mistake"),
            ("version = 99\n", "before this mistake"),
            ("[serve]\nenabled = false\nthreads = 1", "breaks off"),
            ("", "is empty or missing"),
            (" \n\n", "is empty or missing"),
            (None, "is empty or missing"),
        )
    ):
        path = tmp_path / str(number) / "settings.toml"
        path.parent.mkdir()
        path.write_text("[serve]\nenabled = false\nthreads = 12\n")
        file = accepted(path)
        before = file.read().settings
        path.unlink()
        if mistake is not None:
            path.write_text(mistake)
        for now in (file.read(), accepted(path).read(), accepted(path).read()):
            assert (now.settings, now.is_valid) == (before, False)
            assert any(said in problem for problem in now.problems)


def test_without_earlier_settings_the_defaults_hold_where_the_file_cannot_be_obeyed(path: Path) -> None:
    assert accepted(path).read().settings == Settings()
    path.write_text("[serve]\nenabled = 7\nthreads = 2\n")
    loaded = accepted(path).read()
    assert loaded.settings.serve.enabled is Settings().serve.enabled
    assert loaded.settings.serve.threads == 2
    assert "defaults hold" in loaded.problems[-1]
    for content in ("", "", "\n"):
        path.write_text(content)
        loaded = accepted(path).read()
        assert (loaded.is_valid, loaded.settings) == (True, Settings())


def test_a_change_of_an_empty_file_begins_with_the_settings_in_force(path: Path) -> None:
    path.write_text("[serve]\nenabled = false\n")
    accepted(path).read()
    path.write_text("")
    places = Places(config=path.parent, state=path.parent, runtime=path.parent, cache=path.parent)
    (path.parent / "state" / "copy.toml").rename(places.accepted_settings_file)
    change_settings(places, {"serve.threads": 3})
    settings = accepted(path).read().settings.serve
    assert (settings.enabled, settings.threads) == (False, 3)


def test_a_file_that_is_mended_or_emptied_on_purpose_is_obeyed(path: Path) -> None:
    path.write_text("[serve]\nthreads = 2\n")
    file = accepted(path)
    file.read()
    path.write_text("[")
    file.read()
    path.write_text("[serve]\nthreads = 3\n")
    assert file.read().settings.serve.threads == 3
    path.write_text("version = 2\n")
    assert file.read().settings == Settings()
    assert accepted(path).read().settings == Settings()


def rot(path: Path, old: bytes, new: bytes) -> None:
    """Change the content as a failing disk does, without the time."""
    times = path.stat()
    path.write_bytes(path.read_bytes().replace(old, new))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_content_that_nobody_wrote_is_repaired_and_an_edit_is_obeyed(path: Path) -> None:
    path.write_text("[serve]\nthreads = 2\n")
    os.utime(path, (0, 0))
    accepted(path).read()
    rot(path, b"2", b"3")
    assert accepted(path).read().settings.serve.threads == 2
    assert path.read_text() == "[serve]\nthreads = 2\n"
    assert len(list(path.parent.glob("settings.toml.repaired-*"))) == 1
    path.write_text("[serve]\nthreads = 3\n")
    os.utime(path, (time.time() + 3600, time.time() + 3600))  # however long the copy takes
    assert accepted(path).read().settings.serve.threads == 3
    rot(path, b"3", b"4")
    assert accepted(path).read().settings.serve.threads == 4, "two changes within one tick of the clock"


def test_a_file_that_lost_its_last_lines_is_obeyed_and_named(path: Path) -> None:
    path.write_text("[serve]\nthreads = 2\nenabled = false\n")
    accepted(path).read()
    path.write_text("[serve]\nthreads = 2\n")
    file = accepted(path)
    for _ in range(2):
        (notice,) = file.read().notices
        assert "serve.enabled" in notice
    assert accepted(path).read().notices == ()


def test_a_setting_that_was_taken_back_on_purpose_is_no_loss(tmp_path: Path) -> None:
    places = Places(config=tmp_path, state=tmp_path, runtime=tmp_path, cache=tmp_path)
    file = AcceptedSettings(places.settings_file, places.accepted_settings_file, {})
    change_settings(places, {"serve.threads": 2})
    file.read()
    change_settings(places, {"serve.enabled": False})
    file.read()
    change_settings(places, {"serve.enabled": None})
    assert file.read().notices == ()


def test_what_cannot_be_kept_or_taken_back_is_logged_and_stops_nothing(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (path.parent / "state").touch()
    path.write_text("[serve]\nthreads = 2\n")
    assert accepted(path).read().settings.serve.threads == 2
    path.unlink()
    path.mkdir()
    accepted(path).take_back()
    kept, taken_back = [record.getMessage() for record in caplog.records]
    assert kept.startswith(f"cannot keep a copy of the settings in {path.parent}")
    assert taken_back.startswith(f"{path} of a newer version cannot be taken back")


def test_after_a_way_back_the_daemon_obeys_what_it_knows_and_says_so(path: Path) -> None:
    path.write_text("version = 99\n[serve]\nenabled = false\nnew = 1\n")
    path.with_name("settings.toml.v2").write_text("version = 2\n[serve]\nthreads = 2\n")
    file = accepted(path)
    file.take_back()
    for _ in range(2):  # also after other changes
        loaded = file.read()
        assert loaded.is_valid
        assert (loaded.settings.serve.enabled, loaded.settings.serve.threads) == (False, 2)
        assert "was of a newer Potluck" in loaded.notices[-1]
