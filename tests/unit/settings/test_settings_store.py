import os
from pathlib import Path

import pytest
from potluck_daemon.settings.schema import Settings, entries
from potluck_daemon.settings.store import change, load

from potluck.errors import UsageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings.toml"


def test_without_a_file_the_defaults_hold(path: Path) -> None:
    loaded = load(path, {})
    assert loaded.settings == Settings()
    assert loaded.notices == ()


def test_the_file_overrides_defaults_and_the_environment_overrides_the_file(path: Path) -> None:
    path.write_text('[serve]\nnum_blocks = 3\ndevice = "cuda"\n[yield]\nalways = ["a", "b"]\n')
    loaded = load(path, {"POTLUCK_SERVE_NUM_BLOCKS": "5", "POTLUCK_YIELD_GAMEMODE": "off"})
    assert loaded.settings.serve.num_blocks == 5
    assert loaded.settings.serve.device == "cuda"
    assert loaded.settings.yield_.always == ("a", "b")
    assert loaded.settings.yield_.gamemode is False
    assert loaded.notices == ()


def test_a_list_in_the_environment_is_separated_by_commas(path: Path) -> None:
    assert load(path, {"POTLUCK_YIELD_ALWAYS": "one, two,"}).settings.yield_.always == ("one", "two")


@pytest.mark.parametrize("text", ["serve = [", "\x00", "[serve]\nnum_blocks = 3\n[serve]\n", "just words"])
def test_a_file_that_is_no_toml_is_kept_aside_and_named(path: Path, text: str) -> None:
    path.write_text(text)
    loaded = load(path, {})
    assert loaded.settings == Settings()
    (aside,) = path.parent.glob("settings.toml.broken-*")
    assert aside.read_text() == text
    assert not path.exists()
    assert aside.name in loaded.notices[0]


def test_bytes_that_are_no_text_are_kept_aside(path: Path) -> None:
    path.write_bytes(b"\xff\xfe")
    assert "not valid TOML" in load(path, {}).notices[0]
    assert not path.exists()


@pytest.mark.parametrize(
    "line",
    [
        "num_blocks = -1",
        'num_blocks = "many"',
        "num_blocks = 1.5",
        "num_blocks = true",
        "enabled = 3",
        "device = 3",
        "listen = [1]",
    ],
)
def test_one_bad_value_costs_only_itself(path: Path, line: str) -> None:
    path.write_text(f'[serve]\n{line}\npublic_name = "attic"\n')
    loaded = load(path, {})
    assert loaded.settings.serve.public_name == "attic"
    key = line.split(" ")[0]
    assert getattr(loaded.settings.serve, key) == getattr(Settings().serve, key)
    assert f"serve.{key}" in loaded.notices[0]
    assert path.exists()


def test_infinite_times_are_refused(path: Path) -> None:
    path.write_text("[yield]\nquiet_certain_s = inf\nquiet_likely_s = nan\n")
    loaded = load(path, {})
    assert loaded.settings == Settings()
    assert len(loaded.notices) == 2


def test_an_unknown_setting_is_named(path: Path) -> None:
    path.write_text("[serve]\nspeed = 3\n[other]\nx = 1\n")
    assert len(load(path, {}).notices) == 2


def test_a_newer_version_is_read_as_far_as_possible_and_said(path: Path) -> None:
    path.write_text("version = 99\n[serve]\nnum_blocks = 2\n")
    loaded = load(path, {})
    assert loaded.settings.serve.num_blocks == 2
    assert "version 99" in loaded.notices[0]


def test_change_keeps_comments_and_can_be_read_back(path: Path) -> None:
    path.write_text("# mine\n[serve]\nnum_blocks = 2 # small\n")
    change(path, "serve.num_blocks", "7")
    change(path, "yield.always", "blender, Game.exe")
    assert "# mine" in path.read_text()
    assert "# small" in path.read_text()
    loaded = load(path, {})
    assert loaded.settings.serve.num_blocks == 7
    assert loaded.settings.yield_.always == ("blender", "Game.exe")
    assert loaded.notices == ()


def test_change_refuses_what_load_would_refuse(path: Path) -> None:
    for key, text in (("serve.num_blocks", "-1"), ("serve.nothing", "1"), ("yield.gamemode", "perhaps")):
        with pytest.raises(UsageError):
            change(path, key, text)
    assert not path.exists()


def test_every_default_passes_its_own_check(path: Path) -> None:
    for entry in entries():
        text = ",".join(entry.default) if isinstance(entry.default, tuple) else str(entry.default)
        change(path, entry.key, text)
    loaded = load(path, {})
    assert loaded.notices == ()
    assert loaded.settings == Settings()


def test_every_setting_has_a_help_text_and_its_own_variable() -> None:
    assert all(entry.help for entry in entries())
    assert len({entry.variable for entry in entries()}) == len(entries())


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_said(path: Path) -> None:
    path.write_text("[serve]\n")
    path.chmod(0)
    assert "cannot be read" in load(path, {}).notices[0]
