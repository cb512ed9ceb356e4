"""Folders of nodes: made side by side, removed once their node is dead, never before."""

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from potluck.p2p.runtime_dir import RuntimeDir, remove_dead


def test_nodes_that_start_together_leave_each_others_folders_alone(tmp_path: Path) -> None:
    def make(_: int) -> RuntimeDir:
        return RuntimeDir.create(tmp_path)

    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(make, range(40)))
    assert all((each.path / "lock").exists() for each in made)
    for each in made:
        each.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_whose_node_is_dead_is_removed_by_the_next_one(tmp_path: Path) -> None:
    dead = RuntimeDir.create(tmp_path)
    os.close(dead._lock)  # as the kernel does for a killed process
    alive = RuntimeDir.create(tmp_path)
    assert not dead.path.exists()
    assert alive.path.exists()
    alive.remove()


def test_a_parent_that_cannot_be_made_is_replaced_by_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="pl-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        Path(folder, "gone").touch()
        made = RuntimeDir.create(Path(folder, "gone", "nodes"))
        assert made.path.parent == Path(folder, "potluck")
        made.remove()


def test_folders_of_dead_nodes_are_removed_without_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="pl-") as folder:  # sockets need a short path
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        remove_dead()  # nothing is there
        dead, alive = RuntimeDir.create(), RuntimeDir.create()
        os.close(dead._lock)
        remove_dead()
        assert list(Path(folder, "potluck").iterdir()) == [alive.path]
        alive.remove()
