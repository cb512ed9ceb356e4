from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from potluck_daemon.doctor.finding import Severity
from potluck_daemon.environment.machine import Hardware
from potluck_daemon.environment.preflight import Site, examine, visit
from potluck_daemon.environment.variants import choose_variant

MACHINE = Hardware(glibc=(2, 36))
MAC = Hardware(macos=(15, 1), architecture="arm64")
SITE = Site(Path("/home/me/potluck"), 100 * 10**9, is_writable=True, may_execute=True)


def errors(machine: Hardware = MACHINE, site: Site = SITE) -> list[str]:
    found = [item for item in examine(machine, choose_variant(machine), site) if item.severity is Severity.ERROR]
    assert all(finding.advice for finding in found)
    return [str(finding.check) for finding in found]


def test_an_ordinary_machine_has_nothing_in_the_way() -> None:
    found = examine(MAC, choose_variant(MAC), SITE)
    assert [str(finding.check) for finding in found] == ["system", "Python", "folder", "disk", "GPU"]
    assert str(found[0].text) == "macOS 15.1, arm64"
    foreign = replace(SITE, folder=Path("/home/jürgen müller/мои файлы"))
    assert errors() == errors(replace(MAC, macos=(14, 0))) == errors(site=foreign) == []


def test_a_machine_that_torch_is_not_built_for_is_refused() -> None:
    for machine, check in (
        (replace(MACHINE, glibc=None), "system"),
        (replace(MACHINE, glibc=(2, 17)), "system"),
        (replace(MACHINE, architecture="riscv64"), "system"),
        (replace(MAC, macos=(13, 6)), "system"),
        (replace(MAC, architecture="x86_64"), "system"),
        (replace(MACHINE, python=(3, 9)), "Python"),
        (replace(MACHINE, python=(3, 14)), "Python"),
    ):
        assert errors(machine) == [check]


def test_a_place_that_would_fail_later_is_refused_now() -> None:
    for site, check in (
        (replace(SITE, free_bytes=10**9), "disk"),
        (replace(SITE, is_writable=False), "folder"),
        (replace(SITE, may_execute=False), "folder"),
        (replace(SITE, is_lost=True), "folder"),
        (replace(SITE, folder=Path("/home/two\nlines")), "folder"),
        (replace(SITE, folder=Path("/home", *["a" * 200] * 10)), "folder"),
    ):
        assert errors(site=site) == [check]


def test_a_folder_that_is_not_there_yet_is_judged_by_the_one_above_and_what_was_fetched_need_not_fit_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = visit(tmp_path / "not" / "yet")
    assert site.is_writable
    assert site.free_bytes > 0
    assert visit(tmp_path / ("a" * 5000)).is_writable, "no disk takes such a name"
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=100))
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "torch.whl.part").write_bytes(b"x" * 30)
    assert visit(tmp_path).free_bytes == 130
