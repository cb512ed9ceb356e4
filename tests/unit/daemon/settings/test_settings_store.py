"""Reading and changing the settings file: what is obeyed, what is named, and what is kept."""

import errno
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from potluck_control.places import Places
from potluck_control.settings import Settings, entries
from potluck_daemon.settings.store import Loaded, SettingsStore, load_settings
from potluck_daemon.settings.values import convert, entry_of, shown

from potluck.errors import UsageError

MINE = """\
# my machine
version = 2

[serve]
num_blocks = 3  # small
name = "attic"  # under the roof

[yield]
always = ["blender"]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    return tmp_path / "config" / "settings.toml"


def change(path: Path, values: Mapping[str, object]) -> dict[str, Any]:
    """Change settings as a command does; the backup lies in another folder."""
    state = path.parent.with_name("state")
    return SettingsStore(Places(path.parent, state, state, state), {}).change(values)


def test_the_file_overrides_defaults_and_the_environment_overrides_the_file(path: Path) -> None:
    assert load_settings(path, {}) == Loaded(Settings())
    path.write_text('[serve]\nnum_blocks = 3\ndevice = "cuda"\n[yield]\nalways = ["a", "b"]\n')
    variables = {"POTLUCK_SERVE_NUM_BLOCKS": "5", "POTLUCK_YIELD_GAMEMODE": "off", "POTLUCK_YIELD_NEVER": "one, two,"}
    loaded = load_settings(path, variables)
    assert (loaded.settings.serve.num_blocks, loaded.settings.serve.device) == (5, "cuda")
    given = loaded.settings.yield_
    assert (given.always, given.never, given.gamemode) == (("a", "b"), ("one", "two"), False)
    assert (loaded.is_valid, loaded.notices) == (True, ())
    for name, text in (("SERVE_NUM_BLOCKS", "many"), ("SERVE_NAME", "a\udcff"), ("YIELD_NEVER", "a,b\udcff")):
        loaded = load_settings(path, {f"POTLUCK_{name}": text})
        assert loaded.is_valid
        assert f"POTLUCK_{name} is ignored" in str(loaded.notices[0])


def test_a_file_that_is_no_toml_is_named_and_left_alone_also_by_commands(path: Path) -> None:
    for data in (
        b"serve = [",
        b"\x00",
        b"[serve]\nx = 3\n[serve]\n",
        b"just words",
        b"\xff\xfe",
        b"a = " + b"9" * 5000,
        b"a = " + b"[" * 5000,
    ):
        path.write_bytes(data)
        loaded = load_settings(path, {})
        assert loaded.settings == Settings()
        assert "not valid TOML" in str(loaded.problems[0])
        with pytest.raises(UsageError) as raised:
            change(path, {"serve.num_blocks": "1"})
        assert "config edit" in (raised.value.hint or "")
        assert path.read_bytes() == data


def test_a_file_from_an_editor_of_windows_is_understood(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf[serve]\r\nthreads = 3\r\n")
    assert (load_settings(path, {}).settings.serve.threads, load_settings(path, {}).problems) == (3, ())
    change(path, {"serve.name": "x"})
    assert (load_settings(path, {}).settings.serve.threads, load_settings(path, {}).settings.serve.name) == (3, "x")


def test_a_mistake_is_named_with_its_line_and_has_its_default(path: Path) -> None:
    path.write_text('[serve]\ndevice = "cpu\n')
    assert "line 2" in str(load_settings(path, {}).problems[0])
    for section, line in (
        ("serve", "num_blocks = -1"),
        ("serve", 'num_blocks = "many"'),
        ("serve", "num_blocks = 1.5"),
        ("serve", "num_blocks = true"),
        ("serve", "find_nearby = 3"),
        ("serve", "device = 3"),
        ("serve", "listen = [1]"),
        ("serve", 'models_folder = "models"'),
        ("serve", "threads = " + "9" * 400),
        ("limits", "price_kwh = " + "9" * 400),
        ("yield", "quiet_certain_s = inf"),
        ("yield", "quiet_likely_s = nan"),
    ):
        path.write_text(f"# mine\n[{section}]\n{line}\n")
        loaded = load_settings(path, {})
        assert loaded.settings == Settings()
        assert str(loaded.problems[0]).startswith(f"settings.toml line 3: {section}.{line.split()[0]}: expected")


def test_an_unknown_setting_is_named_with_what_may_have_been_meant(path: Path) -> None:
    path.write_text("[serve]\nnum_block = 3\nenabled = false\n[other]\nx = 1\n")
    loaded = load_settings(path, {})
    assert loaded.is_valid
    assert tuple(map(str, loaded.notices)) == (
        "settings.toml line 2: there is no setting serve.num_block; did you mean serve.num_blocks?",
        "settings.toml line 3: serve.enabled is gone; to stop serving: potluck pause until I resume",
        "settings.toml line 5: there is no setting other.x",
    )


def test_a_file_of_an_unknown_version_is_refused_and_not_touched(path: Path) -> None:
    for version in ('"2"', "0", "1", "1.5"):
        text = f"version = {version}\n[serve]\nnum_blocks = 2\n"
        path.write_text(text)
        loaded = load_settings(path, {})
        assert loaded.settings == Settings()
        assert "knows version 2" in str(loaded.problems[0])
        with pytest.raises(UsageError, match="version"):
            change(path, {"serve.num_blocks": "3"})
        assert path.read_text() == text


def test_settings_are_as_readable_as_their_folder_and_a_new_folder_is_private(tmp_path: Path) -> None:
    """The service reads what root changes in /etc/potluck; nobody reads a user's."""
    for folder, file in ((0o755, 0o644), (0o700, 0o600), (None, 0o600)):
        path = tmp_path / str(folder) / "settings.toml"
        if folder is not None:
            path.parent.mkdir()
            path.parent.chmod(folder)
        change(path, {"serve.threads": 2})
        assert path.stat().st_mode & 0o777 == file
        assert path.parent.stat().st_mode & 0o777 == (folder or 0o700)


def test_a_setting_that_is_taken_out_has_its_default_again(path: Path) -> None:
    assert change(path, {"serve.num_blocks": "7"}) == {"serve.num_blocks": None}
    assert path.read_text().startswith("version = 2\n")
    assert change(path, {"serve.num_blocks": None}) == {"serve.num_blocks": 7}
    change(path, {"yield.always": None})
    assert load_settings(path, {}).settings == Settings()


def test_change_refuses_what_load_would_refuse(path: Path) -> None:
    for key, text in (
        ("serve.num_blocks", "-1"),
        ("serve.nothing", "1"),
        ("yield.gamemode", "perhaps"),
        ("serve.threads", "9" * 5000),
        ("serve.name", "a\x1bb"),
    ):
        with pytest.raises(UsageError):
            change(path, {key: text})
    for key in ("serve.num_block", "num_blocks", "yield.num_blocks"):
        with pytest.raises(UsageError) as raised:
            change(path, {key: "1"})
        assert raised.value.hint == "did you mean serve.num_blocks?"
    assert not path.exists()
    path.write_text("serve = 3\n")
    with pytest.raises(UsageError, match="serve is not a section"):
        change(path, {"serve.threads": 1})
    assert path.read_text() == "serve = 3\n"


def test_a_value_is_shown_as_it_is_typed() -> None:
    values = (("a", "b"), (), True, 0.5, 3, "", "auto")
    assert [shown(value) for value in values] == ["a,b", "(none)", "true", "0.5", "3", "(empty)", "auto"]


def test_a_number_at_its_bound_is_taken_and_one_beyond_is_refused_with_the_range() -> None:
    share, memory = entry_of("when.active_percent"), entry_of("serve.memory_limit_mb")
    assert (convert(share, "10"), convert(share, 100)) == (10.0, 100.0)
    with pytest.raises(ValueError, match=r"expected a number from 10 to 100 %, not 100\.1"):
        convert(share, 100.1)
    with pytest.raises(ValueError, match="expected a whole number from 0 to 16777216 MiB, not '-1'"):
        convert(memory, "-1")


def test_numbers_are_taken_as_people_type_them() -> None:
    memory, price = entry_of("serve.memory_limit_mb"), entry_of("limits.price_kwh")
    typed = ("2048", "6GB", "6 gb", "1.5 GiB", "512 MiB", "1,5 kB")
    assert [convert(memory, text) for text in typed] == [2048, 5722, 5722, 1536, 512, 0]
    heat, speed = entry_of("limits.gpu_temperature_c"), entry_of("limits.upload_mbps")
    assert [convert(heat, text) for text in ("80 °C", "80C", "80")] == [80.0] * 3
    assert [convert(speed, text) for text in ("20 Mbit/s", "2,5mbit/s")] == [20.0, 2.5]
    assert [convert(price, text) for text in ("0,32", "0.32", " 1 ")] == [0.32, 0.32, 1.0]
    for entry, text in ((memory, "6 GBs"), (price, "1,000"), (price, "6GB"), (heat, "80 W")):
        with pytest.raises(ValueError, match=r"expected a (whole )?number"):
            convert(entry, text)


def test_only_exact_origins_and_names_of_hosts_can_be_let_in() -> None:
    hosts, origins = entry_of("gateway.hosts"), entry_of("gateway.origins")
    assert convert(hosts, "host.docker.internal,desk") == ("host.docker.internal", "desk")
    exact = "http://localhost:3000,chrome-extension://abc,vscode-webview://0f,http://[::1]:80"
    assert convert(origins, exact) == tuple(exact.split(","))
    for entry, texts in ((hosts, ("*", "a:80", "http://a", "*.a")), (origins, ("null", "*", "https://*", "http://a/"))):
        for text in texts:
            with pytest.raises(ValueError, match="expected"):
                convert(entry, text)


def test_every_default_passes_its_own_check(path: Path) -> None:
    for entry in entries():
        text = ",".join(entry.default) if isinstance(entry.default, tuple) else str(entry.default)
        convert(entry, text)
    change(path, {entry.key: entry.default for entry in entries()})
    loaded = load_settings(path, {})
    assert (loaded.settings, loaded.problems, loaded.notices) == (Settings(), (), ())


def test_changes_at_the_same_time_lose_nothing(path: Path) -> None:
    def count(key: str) -> None:
        for number in range(1, 11):
            change(path, {key: str(number)})

    with ThreadPoolExecutor() as pool:
        list(pool.map(count, ("serve.num_blocks", "serve.threads")))
    serve = load_settings(path, {}).settings.serve
    assert (serve.num_blocks, serve.threads) == (10, 10)


def test_a_full_disk_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path.write_text(MINE)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        change(path, {"serve.checkpoint": "1"})
    assert path.read_text() == MINE
    assert os.listdir(path.parent) == [path.name]


def test_a_file_that_cannot_be_read_is_a_problem_and_the_environment_still_counts(path: Path) -> None:
    path.mkdir()
    loaded = load_settings(path, {"POTLUCK_SERVE_THREADS": "3"})
    assert "cannot be read" in str(loaded.problems[0])
    assert loaded.settings.serve.threads == 3


def test_a_change_keeps_the_comments(path: Path) -> None:
    path.write_text(MINE)
    change(path, {"serve.num_blocks": "7"})
    assert path.read_text() == MINE.replace("num_blocks = 3", "num_blocks = 7")
