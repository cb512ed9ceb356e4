"""Which variants can be made here, where environments lie, and that nothing is exchanged unasked."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from potluck_control.methods.health import Severity
from potluck_control.methods.installation import BeginParams
from potluck_control.places import Places
from potluck_daemon.environment import plan as module
from potluck_daemon.environment.hardware import Gpu, Hardware, Vendor
from potluck_daemon.environment.plan import (
    list_for,
    make_plan,
    preflight_findings,
    read_state,
    requirements_of,
    root_for,
    settle_root,
)
from potluck_daemon.environment.store import EnvironmentManifest, Store, engine_python, interpreter
from potluck_daemon.environment.variants import choose_variant

from potluck.errors import UsageError

MACHINE = Hardware(glibc=(2, 36), python=(3, 11))
MANIFEST = EnvironmentManifest("cpu", "2.13.0", "older", "3.11", ("cpu",), made_at=1.0)


def environment(root: Path, name: str = "cpu") -> Path:
    folder = root / name
    interpreter(folder).parent.mkdir(parents=True)
    interpreter(folder).touch()
    Store(root).finish(folder, MANIFEST)
    Store(root).switch(folder)
    return folder


def errors(places: Places, machine: Hardware = MACHINE, variant: str = "") -> dict[str, str]:
    found = make_plan(places.engines, machine, variant, None).findings()
    return {str(item.check): f"{item.text} | {item.advice}" for item in found if item.severity is Severity.ERROR}


def test_a_variant_without_a_list_has_the_common_versions(places: Places) -> None:
    for variant, python in (("cpu", (3, 13)), ("rocm7.2", (3, 11)), ("cu126", (3, 12))):
        plan = make_plan(places.engines, replace(MACHINE, python=python), variant, None)
        assert (plan.is_listed, plan.requirements) == (False, requirements_of("cpu"))


def test_a_variant_that_cannot_be_had_is_refused_and_others_are_named(places: Places) -> None:
    machine = Hardware(macos=(15, 1), architecture="arm64", python=(3, 12))
    text = errors(places, machine, "rocm7.2")["Can this system run PyTorch?"]
    assert "no torch of variant rocm7.2 for this computer" in text
    assert "mps" in text


def test_another_folder_is_reached_by_a_link_and_may_be_chosen_until_an_environment_is_in_use(
    places: Places, tmp_path: Path
) -> None:
    (places.engines / "cpu-half").mkdir(parents=True)  # of a try that never came to an end
    for chosen in (tmp_path / "big", tmp_path / "bigger"):
        root = root_for(places.engines, chosen)
        settle_root(places.engines, root)
        assert places.engines.resolve() == root == chosen / "potluck-engines"
    environment(root)
    with pytest.raises(UsageError, match="already") as refused:
        root_for(places.engines, tmp_path / "big")
    assert str(root) in (refused.value.hint or "")
    assert root_for(places.engines, tmp_path / "bigger") == root


def test_a_chosen_folder_whose_disk_is_gone_is_not_made_anew_somewhere_else(places: Places, tmp_path: Path) -> None:
    settle_root(places.engines, root_for(places.engines, tmp_path / "disk"))
    (tmp_path / "disk" / "potluck-engines").rmdir()
    assert "is its disk connected?" in errors(places)["Can the folder be used?"]


def test_newer_packages_are_announced_and_never_taken_by_themselves(places: Places) -> None:
    folder = environment(places.engines)
    state = read_state(places, "", MACHINE, BeginParams())
    assert (state.outdated, state.variant, state.devices) == (True, "cpu", ("cpu",))
    assert engine_python(places, "") == str(interpreter(folder))
    assert Store(places.engines).current() == folder


def test_an_environment_that_was_removed_by_hand_or_lost_its_python_is_not_used(places: Places) -> None:
    """As after an upgrade of the distribution, which takes the old Python away."""
    folder = environment(places.engines)
    python = interpreter(folder)
    python.unlink()
    python.symlink_to("/usr/bin/python3.99")
    assert engine_python(places, "") != str(python)
    assert read_state(places, "/my/python", MACHINE, BeginParams()).variant == ""
    assert errors(places) == {}


def test_a_list_is_read_for_the_pythons_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list_for("cpu", MACHINE) == requirements_of("cpu")
    path = tmp_path / "cpu.txt"
    path.write_text("torch==2.13.0+cpu ; python_version == '3.11' or python_version == '3.12' \\\n  --hash=sha256:0\n")
    monkeypatch.setattr(module, "requirements_of", lambda _: path)
    assert [list_for("cpu", replace(MACHINE, python=(3, minor))) for minor in (11, 12, 13)] == [path, path, None]


def test_packages_for_another_machine_are_not_offered() -> None:
    mac = Hardware(macos=(15, 1), architecture="arm64", python=(3, 12))
    assert list_for("mps", mac) == requirements_of("mps")
    assert list_for("mps", MACHINE) is None
    assert list_for("cpu", mac) is None
    assert list_for("cpu", replace(MACHINE, macos=(13, 1))) is None


MAC = Hardware((Gpu(Vendor.APPLE, "Apple M2"),), macos=(15, 1), architecture="arm64")
Free = Callable[[int], None]


@pytest.fixture(autouse=True)
def free(monkeypatch: pytest.MonkeyPatch) -> Free:
    """Set how many bytes every disk has free; there is much at first."""

    def set_free(num_bytes: int) -> None:
        monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=num_bytes))

    set_free(10**12)
    return set_free


def refusals(folder: Path, machine: Hardware = MACHINE, *, is_lost: bool = False) -> list[str]:
    found = preflight_findings(machine, choose_variant(machine), folder, is_lost=is_lost)
    wrong = [item for item in found if item.severity is Severity.ERROR]
    assert all(finding.advice for finding in wrong)
    return [str(finding.check) for finding in wrong]


def test_an_ordinary_machine_has_nothing_in_the_way(tmp_path: Path) -> None:
    found = preflight_findings(MAC, choose_variant(MAC), tmp_path)
    assert {finding.severity for finding in found} == {Severity.OK}
    assert str(found[0].text) == "macOS 15.1, arm64"
    assert refusals(tmp_path / "not" / "yet" / "jürgen müller" / "мои файлы") == []
    assert refusals(tmp_path / ("a" * 5000)) == [], "no disk takes such a name"
    assert refusals(tmp_path, replace(MAC, macos=(14, 0))) == []


def test_a_machine_that_torch_is_not_built_for_is_refused(tmp_path: Path) -> None:
    for machine, check in (
        (replace(MACHINE, glibc=None), "Can this system run PyTorch?"),
        (replace(MACHINE, architecture="riscv64"), "Can this system run PyTorch?"),
        (replace(MAC, macos=(13, 6)), "Can this system run PyTorch?"),
        (replace(MAC, architecture="x86_64"), "Can this system run PyTorch?"),
        (replace(MACHINE, python=(3, 9)), "Does this Python fit?"),
        (replace(MACHINE, python=(3, 14)), "Does this Python fit?"),
    ):
        assert refusals(tmp_path, machine) == [check]


def test_a_place_that_would_fail_later_is_refused_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    assert refusals(tmp_path / "file") == ["Can the folder be used?"]
    assert refusals(tmp_path, is_lost=True) == ["Can the folder be used?"]
    for name, answer in (("access", False), ("statvfs", SimpleNamespace(f_flag=module.os.ST_NOEXEC))):
        with monkeypatch.context() as patch:
            patch.setattr(module.os, name, lambda *_, answer=answer: answer)
            assert refusals(tmp_path) == ["Can the folder be used?"]


def test_a_full_disk_is_refused_and_what_was_fetched_need_not_fit_again(tmp_path: Path, free: Free) -> None:
    variant = choose_variant(MACHINE).variant
    free(variant.download_bytes + variant.disk_bytes - 30)
    assert refusals(tmp_path) == ["Is there room on the disk?"]
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "torch.whl.part").write_bytes(b"x" * 30)
    assert refusals(tmp_path) == []
