"""Which settings are obeyed while the file has a mistake."""

import os
import time
from pathlib import Path

import pytest
from potluck_control.places import Places
from potluck_control.settings import Settings
from potluck_daemon.settings.store import SettingsStore

from potluck.errors import UsageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings.toml"


def accepted(path: Path) -> SettingsStore:
    """As the next daemon would make it."""
    state = path.parent / "state"
    return SettingsStore(Places(path.parent, state, state, state), {})


def test_the_settings_before_a_mistake_stay_in_force_also_at_the_next_start(tmp_path: Path) -> None:
    for number, (mistake, said) in enumerate(
        (
            ("[serve", "before this mistake"),
            ("[serve]\nfind_nearby = 7\n", "before this mistake"),
            ("version = 1\n", "before this mistake"),
            ("[serve]\nfind_nearby = false\nthreads = 1", "breaks off"),
            ("", "is empty or missing"),
            (" \n\n", "is empty or missing"),
            (None, "is empty or missing"),
        )
    ):
        path = tmp_path / str(number) / "settings.toml"
        path.parent.mkdir()
        path.write_text("[serve]\nfind_nearby = false\nthreads = 12\n")
        file = accepted(path)
        before = file.read().settings
        path.unlink()
        if mistake is not None:
            path.write_text(mistake)
        for now in (file.read(), accepted(path).read(), accepted(path).read()):
            assert (now.settings, now.is_valid) == (before, False)
            assert any(said in str(problem) for problem in now.problems)


def test_without_earlier_settings_the_defaults_hold_where_the_file_cannot_be_obeyed(path: Path) -> None:
    assert accepted(path).read().settings == Settings()
    path.write_text("[serve]\nfind_nearby = 7\nthreads = 2\n")
    loaded = accepted(path).read()
    assert loaded.settings.serve.find_nearby is Settings().serve.find_nearby
    assert loaded.settings.serve.threads == 2
    assert "defaults hold" in str(loaded.problems[-1])
    for content in ("", "", "\n"):
        path.write_text(content)
        loaded = accepted(path).read()
        assert (loaded.is_valid, loaded.settings) == (True, Settings())


def test_a_change_of_an_empty_file_begins_with_the_settings_in_force(path: Path) -> None:
    path.write_text("[serve]\nfind_nearby = false\n")
    accepted(path).read()
    path.write_text("")
    accepted(path).change({"serve.threads": 3})
    settings = accepted(path).read().settings.serve
    assert (settings.find_nearby, settings.threads) == (False, 3)


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
    path.write_text("[serve]\nthreads = 2\nfind_nearby = false\n")
    accepted(path).read()
    path.write_text("[serve]\nthreads = 2\n")
    file = accepted(path)
    for _ in range(2):
        (notice,) = file.read().notices
        assert "serve.find_nearby" in str(notice)
    assert accepted(path).read().notices == ()


def test_a_setting_that_was_taken_back_on_purpose_is_no_loss(path: Path) -> None:
    file = accepted(path)
    accepted(path).change({"serve.threads": 2})
    file.read()
    accepted(path).change({"serve.find_nearby": False})
    file.read()
    accepted(path).change({"serve.find_nearby": None})
    assert file.read().notices == ()


def test_a_backup_that_cannot_be_kept_is_logged_and_stops_nothing(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (path.parent / "state").touch()
    path.write_text("[serve]\nthreads = 2\n")
    file = accepted(path)
    assert file.read().settings.serve.threads == 2
    path.write_text("[serve")
    assert file.read().settings.serve.threads == 2
    assert caplog.records[0].getMessage().startswith(f"cannot keep a copy of the settings in {path.parent}")


NEWER = """\
version = 3
[serve]
label = "attic"  # version 3 calls the name so
num_blocks = 3
find_nearby = false
dtype = "float4"
"""


def test_after_a_downgrade_what_is_known_stays_in_force_and_the_rest_stays_in_the_file(path: Path) -> None:
    path.write_text(NEWER)
    loaded = accepted(path).read()
    assert loaded.is_valid
    serve = loaded.settings.serve
    assert (serve.num_blocks, serve.find_nearby, serve.dtype) == (3, False, Settings().serve.dtype)
    assert len(loaded.notices) == 3
    for notice, said in zip(loaded.notices, ("of a newer Potluck", "serve.label", "float4"), strict=True):
        assert said in str(notice)
    accepted(path).change({"serve.num_blocks": 4})
    assert path.read_text() == NEWER.replace("= 3\nfind_nearby", "= 4\nfind_nearby")
    path.write_text("[serve")
    serve = accepted(path).read().settings.serve
    assert (serve.num_blocks, serve.find_nearby) == (4, False)


def test_a_mistake_does_not_overwrite_the_backup(path: Path) -> None:
    accepted(path).change({"serve.threads": 2})
    path.write_text("[serve]\nthreads = two\n")
    accepted(path).read()
    with pytest.raises(UsageError, match="not valid TOML"):
        accepted(path).change({"serve.threads": 3})
    path.write_text('[serve]\nthreads = "two"\n')
    accepted(path).change({"serve.num_blocks": 3})  # which leaves the mistake
    path.unlink()
    serve = accepted(path).read().settings.serve
    assert (serve.threads, serve.num_blocks) == (2, 0)


def test_the_switch_of_earlier_versions_counts_until_it_is_out_of_the_file(path: Path) -> None:
    path.write_text("[serve]\nenabled = false\n")
    accepted(path).read()
    path.write_text("[serve]\nenabled = true\nthreads = many\n")  # the file before this mistake counts
    for _ in range(2):
        assert accepted(path).drop_old_switch()
    for text, is_off in (("enabled = false\n", True), ("", False), ("enabled = true\n", False)):
        path.write_text(f"[serve]\n{text}threads = 2\n")
        assert accepted(path).drop_old_switch() is is_off
        assert path.read_text() == "[serve]\nthreads = 2\n"
    places = Places(path.parent, path.parent, path.parent, path.parent)
    assert SettingsStore(places, {"POTLUCK_SERVE_ENABLED": "Off"}).drop_old_switch()
    with pytest.raises(UsageError) as refused:
        accepted(path).change({"serve.enabled": False})
    assert "potluck pause until I resume" in str(refused.value.hint)
