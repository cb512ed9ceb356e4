"""Versions side by side, and the switch from one to another."""

import contextlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from potluck_daemon.updates.update import switch
from potluck_daemon.updates.versions import Versions, own_versions

from potluck.errors import PotluckError


def ignore(text: str, done: int, total: int) -> None:
    pass


class Successor:
    """A daemon that starts as `comes_up` and `lasts` say; `order`: what was asked of it, and of which version."""

    def __init__(self, versions: Versions, *, ran: bool = True, comes_up: bool = True, lasts: bool = True) -> None:
        self._versions, self._ran, self._comes_up, self._lasts = versions, ran, comes_up, lasts
        self.order: list[str] = []

    def drain(self) -> bool:
        self.order.append("drain")
        return self._ran

    def start(self, folder: Path) -> str:
        version = self._versions.current()
        self.order.append(f"start {version}")
        if version == "0.2.0" and not self._comes_up:
            raise PotluckError("the daemon does not answer")
        return version

    def watch(self) -> None:
        self.order.append("watch")
        if not self._lasts:
            raise PotluckError("its daemon did not last")

    def end(self) -> None:
        self.order.append("end")


def installed(root: Path) -> Versions:
    for name in ("0.1.0", "0.2.0"):
        (root / "versions" / name / "bin").mkdir(parents=True)
        (root / "versions" / name / "bin" / "potluckd").touch()
    (root / "current").symlink_to("versions/0.1.0")
    return Versions(root)


@pytest.fixture
def versions(tmp_path: Path) -> Versions:
    return installed(tmp_path)


def test_the_previous_version_is_another_one_that_is_still_there(versions: Versions) -> None:
    for link, previous in (("0.2.0", "0.2.0"), ("0.1.0", None), ("0.0.9", None)):
        (versions.root / "previous").symlink_to(f"versions/{link}")
        assert versions.previous() == previous
        (versions.root / "previous").unlink()


@pytest.mark.parametrize("fault", [{"comes_up": False}, {"lasts": False}])
def test_a_version_that_does_not_come_up_or_last_gives_way_to_the_one_before(
    versions: Versions, fault: dict[str, bool]
) -> None:
    successor = Successor(versions, **fault)
    with pytest.raises(PotluckError, match=r"0\.2\.0 did not come up .*; 0\.1\.0 is in use again"):
        switch("0.2.0", versions, successor, ignore)
    assert successor.order[-2:] == ["end", "start 0.1.0"]
    assert (versions.current(), versions.trial()) == ("0.1.0", None)
    assert not versions.folder("0.2.0").exists()


def test_a_version_that_went_back_by_itself_is_not_taken_back_twice(versions: Versions) -> None:
    class Restarted(Successor):
        def watch(self) -> None:  # as systemd does it: start after start
            while versions.note_start():
                pass
            raise PotluckError("its daemon did not last")

    with pytest.raises(PotluckError, match=r"0\.1\.0 is in use again"):
        switch("0.2.0", versions, Restarted(versions), ignore)


def test_a_complete_version_that_lasts_stays_and_the_one_before_is_kept(versions: Versions) -> None:
    versions.folder("0.3.0").mkdir()
    with pytest.raises(PotluckError, match="not complete"):
        versions.begin_trial("0.3.0")
    successor = Successor(versions)
    switch("0.2.0", versions, successor, ignore)
    assert successor.order == ["drain", "start 0.2.0", "watch"]
    assert (versions.current(), versions.previous(), versions.trial()) == ("0.2.0", "0.1.0", None)


def test_where_no_daemon_runs_none_is_started_and_the_next_start_is_the_trial(versions: Versions) -> None:
    successor = Successor(versions, ran=False)
    switch("0.2.0", versions, successor, ignore)
    assert successor.order == ["drain"]
    assert versions.current() == "0.2.0"
    assert versions.trial() is not None


def test_a_version_that_never_proves_itself_is_left_at_its_third_start(versions: Versions) -> None:
    """As after power cuts, or when systemd starts a daemon that crashes again and again."""
    versions.begin_trial("0.2.0")
    assert [versions.note_start() for _ in range(3)] == [True, True, False]
    assert versions.current() == "0.1.0"
    assert versions.note_start()


def test_a_trial_ends_with_its_proof_and_older_versions_go(versions: Versions) -> None:
    old = versions.folder("0.0.9")
    old.mkdir()
    versions.begin_trial("0.2.0")
    versions.note_start()
    versions.end_trial()
    assert not old.exists()
    assert [versions.note_start() for _ in range(5)] == [True] * 5


def test_an_installation_of_another_tool_is_none_of_ours(versions: Versions, tmp_path: Path) -> None:
    assert own_versions("/usr/lib/potluck") is None
    assert own_versions(str(tmp_path / "venv")) is None
    found = own_versions(str(versions.root / "current"))
    assert found is not None
    assert found.root == versions.root


class _PowerCut(BaseException):
    """Nothing of this process happens after it."""


def switch_until_power_cut(
    versions: Versions, call: int, monkeypatch: pytest.MonkeyPatch, *, comes_up: bool = True
) -> bool:
    """The power goes at the `call`th of those that change what is on the disk. Return whether there were so many."""
    left = [call]

    def counting(real: Callable[..., object], *arguments: object, **more: object) -> object:
        left[0] -= 1
        if left[0] == 0:
            raise _PowerCut
        return real(*arguments, **more)

    with monkeypatch.context() as patch, contextlib.suppress(_PowerCut, PotluckError):
        for name in ("replace", "symlink", "unlink", "fsync", "rmdir"):
            patch.setattr(os, name, partial(counting, getattr(os, name)))
        switch("0.2.0", versions, Successor(versions, comes_up=comes_up), ignore)
    return left[0] <= 0


def test_whenever_the_power_goes_one_complete_version_is_in_use_and_updates_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, is_cut = 0, True
    while is_cut:
        call += 1
        versions = installed(tmp_path / str(call))
        (versions.folder("0.0.9") / "bin").mkdir(parents=True)
        is_cut = switch_until_power_cut(versions, call, monkeypatch)
        assert versions.note_start()
        version = versions.current()
        assert (versions.folder(version) / "bin" / "potluckd").exists()
        assert version in ("0.1.0", "0.2.0")
        versions.end_trial()
        if version == "0.1.0":  # what was unpacked was not in use yet, and is fetched again
            (versions.folder("0.2.0") / "bin").mkdir(parents=True)
            (versions.folder("0.2.0") / "bin" / "potluckd").touch()
            switch("0.2.0", versions, Successor(versions), ignore)
        assert (versions.current(), versions.trial()) == ("0.2.0", None)
    assert call > 10


def test_whenever_the_power_goes_a_version_that_fails_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call, is_cut = 0, True
    while is_cut:
        call += 1
        versions = installed(tmp_path / str(call))
        is_cut = switch_until_power_cut(versions, call, monkeypatch, comes_up=False)
        for _ in range(4):  # starts of a version that fails at once
            versions.note_start()
        assert versions.current() == "0.1.0"
        assert (versions.folder("0.1.0") / "bin" / "potluckd").exists()
    assert call > 10
