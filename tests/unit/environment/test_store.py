from __future__ import annotations

import os
from pathlib import Path

import pytest
from potluck_daemon.environment.store import Manifest, Store, interpreter, read_manifest

from potluck.errors import PotluckError, UsageError

MANIFEST = Manifest("cpu", "2.13.0", "abc", "3.11", ("cpu",), made_at=1.0)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "engines")
    made.root.mkdir()
    return made


def environment(store: Store, name: str) -> Path:
    folder = store.folder(name)
    interpreter(folder).parent.mkdir(parents=True)
    interpreter(folder).touch()
    store.finish(folder, MANIFEST)
    return folder


def test_nothing_is_current_at_first(store: Store) -> None:
    assert store.current() is None
    with pytest.raises(UsageError, match="no earlier environment"):
        store.roll_back()


def test_a_switch_keeps_the_one_before_and_removes_older_ones_and_leftovers(store: Store) -> None:
    one = environment(store, "one")
    store.switch(one)
    two = environment(store, "two")
    store.switch(two)
    three = environment(store, "three")
    half = store.folder("half")
    half.mkdir()
    store.wheels.mkdir()
    store.switch(three)
    assert (store.current(), store.previous()) == (three, two)
    assert not any(path.exists() for path in (one, half, store.wheels))


def test_rolling_back_swaps_the_two(store: Store) -> None:
    one = environment(store, "one")
    store.switch(one)
    two = environment(store, "two")
    store.switch(two)
    assert store.roll_back() == one
    assert (store.current(), store.previous()) == (one, two)


def test_an_environment_without_a_manifest_does_not_count(store: Store) -> None:
    folder = environment(store, "one")
    store.switch(folder)
    (folder / "environment.json").write_text('{"variant": "cpu"')
    assert read_manifest(folder) is None
    assert store.current() is None


def test_an_environment_whose_interpreter_is_gone_does_not_count(store: Store) -> None:
    folder = environment(store, "one")
    store.switch(folder)
    interpreter(folder).unlink()
    assert store.current() is None


def test_two_set_ups_at_once_are_refused(store: Store) -> None:
    text = f"being set up already, by the daemon .process {os.getpid()}."
    with store.lock("the daemon"), pytest.raises(PotluckError, match=text), Store(store.root).lock("somebody"):
        pass
