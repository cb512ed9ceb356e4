from pathlib import Path

import pytest
from potluck_daemon.environment import store as module
from potluck_daemon.environment.setup import roll_back
from potluck_daemon.environment.store import EnvironmentManifest, Store, interpreter, read_manifest

from potluck.errors import PotluckError, UsageError

MANIFEST = EnvironmentManifest("cpu", "2.13.0", "abc", "3.11", ("cpu",), made_at=1.0)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "engines")
    made.root.mkdir()
    return made


def environment(store: Store, name: str) -> Path:
    folder = store.root / name
    interpreter(folder).parent.mkdir(parents=True)
    interpreter(folder).touch()
    store.finish(folder, MANIFEST)
    return folder


def test_a_switch_keeps_the_one_before_and_removes_older_ones_and_leftovers_and_going_back_swaps_the_two(
    store: Store,
) -> None:
    assert store.current() is None
    with pytest.raises(UsageError, match="no earlier environment"):
        roll_back(store, lambda progress: None)
    one = environment(store, "one")
    store.switch(one)
    two = environment(store, "two")
    store.switch(two)
    three, half = environment(store, "three"), store.root / "half"
    half.mkdir()
    store.wheels.mkdir()
    store.switch(three)
    assert (store.current(), store.previous()) == (three, two)
    assert not any(path.exists() for path in (one, half, store.wheels))
    roll_back(store, lambda progress: None, lambda folder: ("cpu",))
    assert (store.current(), store.previous()) == (two, three)


def test_an_environment_whose_manifest_is_damaged_or_whose_interpreter_is_gone_does_not_count(store: Store) -> None:
    folder = environment(store, "one")
    store.switch(folder)
    manifest = folder / "environment.json"
    whole = manifest.read_text()
    for text in (
        "",
        '{"variant": "cpu"',
        "[]",
        whole.replace('"2.13.0"', "2"),
        whole.replace('["cpu"]', "[[]]"),
        "\xff\xfe",
        "[" * 100_000,
    ):
        manifest.write_bytes(text.encode("latin-1"))
        assert read_manifest(folder) is None
        assert store.current() is None
    manifest.write_text(whole)
    assert store.current() == folder
    interpreter(folder).unlink()
    assert store.current() is None


def test_an_environment_that_is_being_removed_does_not_count_any_more(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut in the middle must not leave half of one that a later set-up takes for whole."""
    old = environment(store, "old")
    monkeypatch.setattr(module.shutil, "rmtree", lambda *_, **__: None)
    store.switch(environment(store, "new"))
    assert old.is_dir()
    assert read_manifest(old) is None


def test_a_new_one_is_not_made_where_one_is_in_use(store: Store) -> None:
    assert store.free("cpu") == store.root / "cpu"
    store.switch(environment(store, "cpu"))
    assert store.free("cpu") == store.root / "cpu-2"
    store.switch(environment(store, "cpu-2"))
    assert store.free("cpu") == store.root / "cpu-3"


def test_two_set_ups_at_once_are_refused(store: Store) -> None:
    with store.lock(), pytest.raises(PotluckError, match="being set up already"), Store(store.root).lock():
        pass
