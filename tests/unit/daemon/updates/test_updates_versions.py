"""Versions side by side, and the switch from one to another."""

import contextlib
import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from potluck_cli import daemon
from potluck_daemon.updates.versions import MAX_STARTS, Versions, failed_update_notice, own_versions

from potluck.errors import PotluckError


def unpack(versions: Versions, name: str) -> None:
    (versions.folder(name) / "bin").mkdir(parents=True)
    (versions.folder(name) / "bin" / "potluckd").touch()


def installed(root: Path) -> Versions:
    versions = Versions(root)
    for name in ("0.1.0", "0.2.0"):
        unpack(versions, name)
    (root / "current").symlink_to("versions/0.1.0")
    return versions


@pytest.fixture
def versions(tmp_path: Path) -> Versions:
    return installed(tmp_path)


def start(versions: Versions) -> str:
    """Start the current version as its daemon does; return the version that runs."""
    while not versions.count_start():
        pass
    return versions.current()


def test_the_previous_version_is_another_one_that_is_still_there(versions: Versions) -> None:
    for link, previous in (("0.2.0", "0.2.0"), ("0.1.0", None), ("0.0.9", None)):
        (versions.root / "previous").symlink_to(f"versions/{link}")
        assert versions.previous() == previous
        (versions.root / "previous").unlink()


def test_after_two_failed_starts_the_third_runs_the_earlier_version_which_says_so(versions: Versions) -> None:
    versions.begin_trial("0.2.0")
    assert versions.is_on_trial()
    assert not failed_update_notice(versions)
    assert [start(versions) for _ in range(MAX_STARTS + 2)] == ["0.2.0", "0.2.0", "0.1.0", "0.1.0"]
    assert str(failed_update_notice(versions)) == "version 0.2.0 failed; 0.1.0 is in use again"
    assert not versions.folder("0.2.0").exists()
    unpack(versions, "0.2.0")
    versions.begin_trial("0.2.0")  # somebody tries it once more
    assert [start(versions) for _ in range(MAX_STARTS)] == ["0.2.0"] * MAX_STARTS
    versions.end_trial()
    assert (start(versions), str(failed_update_notice(versions))) == ("0.2.0", "")


def test_a_version_that_cannot_even_count_its_starts_is_abandoned_by_whoever_started_it(versions: Versions) -> None:
    versions.begin_trial("0.2.0")
    versions.abandon()
    assert (start(versions), str(failed_update_notice(versions))[:20]) == ("0.1.0", "version 0.2.0 failed")


def test_a_version_whose_starts_cannot_be_written_down_runs(
    versions: Versions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    versions.begin_trial("0.2.0")
    start(versions)
    with monkeypatch.context() as patch:
        patch.setattr(Versions, "_write", full)
        assert start(versions) == "0.2.0"
    assert [start(versions) for _ in range(2)] == ["0.2.0", "0.1.0"]
    unpack(versions, "0.2.0")
    versions.begin_trial("0.2.0")
    monkeypatch.setattr(Versions, "_write", full)
    versions.abandon()
    assert versions.current() == "0.1.0"


def test_a_start_whose_end_says_nothing_about_the_version_does_not_count(versions: Versions) -> None:
    versions.begin_trial("0.2.0")
    for _ in range(MAX_STARTS + 1):
        assert start(versions) == "0.2.0"
        versions.take_back_start()
    versions.end_trial()
    versions.take_back_start()
    assert (versions.current(), versions.is_on_trial()) == ("0.2.0", False)


def test_an_incomplete_version_is_no_successor(versions: Versions) -> None:
    versions.folder("0.3.0").mkdir()
    with pytest.raises(PotluckError, match="not complete"):
        versions.begin_trial("0.3.0")
    assert (versions.current(), versions.is_on_trial()) == ("0.1.0", False)


def test_an_update_during_a_trial_can_still_go_back_to_the_version_that_proved_itself(versions: Versions) -> None:
    unpack(versions, "0.3.0")
    versions.begin_trial("0.2.0")
    start(versions)
    versions.begin_trial("0.3.0")
    assert [start(versions) for _ in range(3)][-1] == "0.1.0"


def test_a_proof_ends_the_trial_and_keeps_only_the_version_before(versions: Versions) -> None:
    unpack(versions, "0.0.9")
    versions.begin_trial("0.2.0")
    versions.end_trial()
    assert sorted(path.name for path in (versions.root / "versions").iterdir()) == ["0.1.0", "0.2.0"]
    assert versions.earlier() == "0.1.0"
    versions.roll_back()
    assert (start(versions), str(failed_update_notice(versions))) == ("0.1.0", "")
    with pytest.raises(PotluckError, match="no earlier version"):
        versions.roll_back()


@pytest.mark.parametrize("content", [b"", b"{", b'{"old": "0.0.9", "new": "0.1.0", "starts": 9}'])
def test_a_damaged_trial_or_one_without_a_way_back_leaves_the_current_version(
    versions: Versions, content: bytes
) -> None:
    (versions.root / "trial.json").write_bytes(content)
    assert start(versions) == "0.1.0"


def test_an_installation_of_another_tool_is_none_of_ours(versions: Versions, tmp_path: Path) -> None:
    assert own_versions("/usr/lib/potluck") is None
    assert own_versions(str(tmp_path / "venv")) is None
    found = own_versions(str(versions.root / "current"))
    assert found is not None
    assert found.root == versions.root


@pytest.mark.parametrize("runs", [(), ("0.1.0",)])
def test_a_daemon_that_cannot_become_the_new_version_goes_on_as_the_one_before(
    versions: Versions, monkeypatch: pytest.MonkeyPatch, runs: tuple[str, ...]
) -> None:
    def execute(program: Path, words: list[str]) -> None:
        assert words == [str(program), "--verbose"]
        if versions.current() not in runs:
            raise FileNotFoundError(errno.ENOENT, "its Python is gone")
        raise SystemExit

    monkeypatch.setattr(os, "execv", execute)
    if runs:
        with pytest.raises(SystemExit):
            daemon._become("0.3.0", versions, ["--verbose"])  # its folder was removed
        with pytest.raises(SystemExit):
            daemon._become("0.2.0", versions, ["--verbose"])
        assert versions.failed() == "0.2.0"
    else:
        with pytest.raises(FileNotFoundError):
            daemon._become("0.2.0", versions, ["--verbose"])
    assert versions.current() == "0.1.0"


class _PowerCut(BaseException):
    """Nothing of this process happens after it."""


def is_cut(update: Callable[[], None], call: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Cut the power at the `call`th call that changes what is on the disk. Return whether there were so many."""
    left = [call]

    def counting(real: Callable[..., object], *arguments: object, **more: object) -> object:
        left[0] -= 1
        if left[0] == 0:
            raise _PowerCut
        return real(*arguments, **more)

    with monkeypatch.context() as patch, contextlib.suppress(_PowerCut):
        for name in ("replace", "symlink", "unlink", "fsync", "rmdir"):
            patch.setattr(os, name, partial(counting, getattr(os, name)))
        update()
    return left[0] <= 0


@pytest.mark.parametrize("is_good", [True, False])
def test_whenever_the_power_goes_a_good_version_is_kept_and_a_bad_one_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_good: bool
) -> None:
    def update() -> None:
        versions.begin_trial("0.2.0")
        for _ in range(1 if is_good else 3):
            start(versions)
        if is_good:
            versions.end_trial()

    call, goes_on = 0, True
    while goes_on:
        call += 1
        versions = installed(tmp_path / str(call))
        unpack(versions, "0.0.9")
        goes_on = is_cut(update, call, monkeypatch)
        runs = [start(versions) for _ in range(1 if is_good else 4)][-1]
        assert (versions.folder(runs) / "bin" / "potluckd").exists()
        assert runs in ("0.1.0", "0.2.0" if is_good else "0.1.0")
        if versions.is_on_trial():
            versions.end_trial()
        versions.tidy()
        if versions.current() == "0.1.0":  # what was unpacked was not in use yet, and is fetched again
            unpack(versions, "0.2.0")
            versions.begin_trial("0.2.0")
            versions.end_trial()
        assert (versions.current(), versions.is_on_trial()) == ("0.2.0", False)
    assert call > 10
