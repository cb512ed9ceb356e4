from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from potluck_control.methods.health import Severity
from potluck_daemon.environment import plan as preflight
from potluck_daemon.environment.hardware import Gpu, Hardware, Vendor
from potluck_daemon.environment.plan import preflight_findings
from potluck_daemon.environment.variants import choose_variant

MACHINE = Hardware(glibc=(2, 36))
MAC = Hardware((Gpu(Vendor.APPLE, "Apple M2"),), macos=(15, 1), architecture="arm64")
Free = Callable[[int], None]


@pytest.fixture(autouse=True)
def free(monkeypatch: pytest.MonkeyPatch) -> Free:
    """Set how many bytes every disk has free; there is much at first."""

    def set_free(num_bytes: int) -> None:
        monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=num_bytes))

    set_free(10**12)
    return set_free


def errors(folder: Path, machine: Hardware = MACHINE, *, is_lost: bool = False) -> list[str]:
    found = preflight_findings(machine, choose_variant(machine), folder, is_lost=is_lost)
    wrong = [item for item in found if item.severity is Severity.ERROR]
    assert all(finding.advice for finding in wrong)
    return [str(finding.check) for finding in wrong]


def test_an_ordinary_machine_has_nothing_in_the_way(tmp_path: Path) -> None:
    found = preflight_findings(MAC, choose_variant(MAC), tmp_path)
    assert {finding.severity for finding in found} == {Severity.OK}
    assert str(found[0].text) == "macOS 15.1, arm64"
    assert errors(tmp_path / "not" / "yet" / "jürgen müller" / "мои файлы") == []
    assert errors(tmp_path / ("a" * 5000)) == [], "no disk takes such a name"
    assert errors(tmp_path, replace(MAC, macos=(14, 0))) == []


def test_a_machine_that_torch_is_not_built_for_is_refused(tmp_path: Path) -> None:
    for machine, check in (
        (replace(MACHINE, glibc=None), "Can this system run PyTorch?"),
        (replace(MACHINE, architecture="riscv64"), "Can this system run PyTorch?"),
        (replace(MAC, macos=(13, 6)), "Can this system run PyTorch?"),
        (replace(MAC, architecture="x86_64"), "Can this system run PyTorch?"),
        (replace(MACHINE, python=(3, 9)), "Does this Python fit?"),
        (replace(MACHINE, python=(3, 14)), "Does this Python fit?"),
    ):
        assert errors(tmp_path, machine) == [check]


def test_a_place_that_would_fail_later_is_refused_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    assert errors(tmp_path / "file") == ["Can the folder be used?"]
    assert errors(tmp_path, is_lost=True) == ["Can the folder be used?"]
    for name, answer in (("access", False), ("statvfs", SimpleNamespace(f_flag=preflight.os.ST_NOEXEC))):
        with monkeypatch.context() as patch:
            patch.setattr(preflight.os, name, lambda *_, answer=answer: answer)
            assert errors(tmp_path) == ["Can the folder be used?"]


def test_a_full_disk_is_refused_and_what_was_fetched_need_not_fit_again(tmp_path: Path, free: Free) -> None:
    variant = choose_variant(MACHINE).variant
    free(variant.download_bytes + variant.disk_bytes - 30)
    assert errors(tmp_path) == ["Is there room on the disk?"]
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "torch.whl.part").write_bytes(b"x" * 30)
    assert errors(tmp_path) == []
