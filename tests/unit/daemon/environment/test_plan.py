"""Which variants can be made here, where environments lie, and that nothing is exchanged unasked."""

from dataclasses import replace
from pathlib import Path

import pytest
from potluck_control.methods.health import Severity
from potluck_control.methods.installation import BeginParams
from potluck_control.places import Places
from potluck_daemon.environment import plan as module
from potluck_daemon.environment.hardware import Hardware
from potluck_daemon.environment.plan import list_for, make_plan, read_state, requirements_of, root_for, settle_root
from potluck_daemon.environment.store import EnvironmentManifest, Store, engine_python, interpreter

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
