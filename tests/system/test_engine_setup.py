"""An environment made by the real uv from a folder of small wheels; torch comes from the interpreter that runs this."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from potluck_control.methods.installation import WorkProgress
from potluck_daemon.environment import plan as planning
from potluck_daemon.environment import plan as preflight
from potluck_daemon.environment.hardware import Hardware, read_hardware
from potluck_daemon.environment.plan import EnvironmentPlan, digest
from potluck_daemon.environment.setup import set_up
from potluck_daemon.environment.store import EnvironmentManifest, Store, interpreter, read_manifest
from potluck_daemon.environment.variants import TORCH, choose_variant

from potluck.errors import PotluckError
from tests.helpers.wheel_server import lock, make_wheel, sha256

STEPS = [
    "checking this machine",
    "looking up the packages",
    "downloading {what} ({number} of {all})",
    "installing {number} packages",
    "testing the new environment",
    "switching to the new environment",
]


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EnvironmentPlan:
    offered = tmp_path / "wheels"
    offered.mkdir()
    wheels = [make_wheel(offered, name, filling=name.encode() * 1000) for name in ("one", "two")]
    requirements = lock(tmp_path / "cpu.txt", *wheels)
    monkeypatch.setattr(planning, "requirements_of", lambda variant: requirements)
    store = Store(tmp_path / "engines")
    machine = Hardware(
        glibc=read_hardware().glibc, architecture=read_hardware().architecture, python=read_hardware().python
    )
    return EnvironmentPlan(store, machine, choose_variant(machine), wheels=offered)


def made(plan: EnvironmentPlan) -> EnvironmentManifest:
    """Of the environment in use."""
    folder = plan.store.current()
    manifest = read_manifest(folder) if folder is not None else None
    assert manifest is not None
    return manifest


def ignore(progress: WorkProgress) -> None:
    pass


def works(folder: Path) -> tuple[str, ...]:
    """A trial without torch, which takes seconds."""
    return ("cpu",)


def fails(folder: Path) -> tuple[str, ...]:
    raise PotluckError("the engine does not work here")


def test_an_environment_is_made_tried_and_used(plan: EnvironmentPlan) -> None:
    steps: list[str] = []
    set_up(plan, lambda progress: steps.append(progress.text.id))
    assert list(dict.fromkeys(steps)) == STEPS
    assert made(plan).devices
    folder = plan.store.current()
    assert folder is not None
    answer = subprocess.run(
        [interpreter(folder), "-c", "import one, two, potluck; print(one.answer)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == "42\n"
    assert not plan.store.wheels.exists()


@pytest.mark.parametrize("step", STEPS[1:])
def test_whatever_step_is_interrupted_the_next_try_ends_well(plan: EnvironmentPlan, step: str) -> None:
    def interrupt(progress: WorkProgress) -> None:
        if progress.text.id == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        set_up(plan, interrupt, works)
    assert plan.store.current() is None
    set_up(plan, ignore, works)
    assert made(plan).devices


def test_an_environment_that_fails_its_trial_is_not_used(plan: EnvironmentPlan) -> None:
    set_up(plan, ignore, works)
    working = plan.store.current()
    assert plan.wheels is not None
    make_wheel(plan.wheels, "torch").rename(
        plan.wheels / "torch-1.0-py3-none-any.whl"
    )  # a torch without anything in it
    lock(plan.requirements, *plan.wheels.iterdir())
    with pytest.raises(PotluckError, match="the engine does not work here"):
        set_up(plan, ignore)
    assert plan.store.current() == working


def test_a_file_that_the_requirements_do_not_know_is_not_installed(plan: EnvironmentPlan) -> None:
    assert plan.wheels is not None
    make_wheel(plan.wheels, "one", filling=b"something else")
    with pytest.raises(PotluckError):
        set_up(plan, ignore)
    assert plan.store.current() is None


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: monkeypatch.setattr(preflight, "free_bytes", lambda folder: 0)


def test_a_machine_that_cannot_run_it_is_told_before_anything_is_fetched(
    plan: EnvironmentPlan, full_disk: Callable[[], None]
) -> None:
    full_disk()
    steps: list[str] = []
    with pytest.raises(PotluckError, match="B are free"):
        set_up(plan, lambda progress: steps.append(progress.text.id))
    assert steps == STEPS[:1]


def test_a_broken_environment_is_made_anew_beside_itself_and_stays_until_the_new_one_has_proved_itself(
    plan: EnvironmentPlan,
) -> None:
    """Somebody removed files by hand; or the GPU is full just now, and nothing is broken at all."""
    set_up(plan, ignore, works)
    broken = plan.store.current()
    with pytest.raises(PotluckError, match="does not work here"):
        set_up(plan, ignore, fails)
    assert plan.store.current() == broken
    in_use: list[Path | None] = []
    set_up(
        plan,
        lambda progress: in_use.append(plan.store.current()),
        lambda folder: fails(folder) if folder == broken else works(folder),
    )
    assert set(in_use) == {broken}
    assert plan.store.current() not in (None, broken)
    assert plan.store.previous() == broken


def test_an_environment_that_works_is_kept_also_on_a_full_disk(
    plan: EnvironmentPlan, full_disk: Callable[[], None]
) -> None:
    set_up(plan, ignore, works)
    before = made(plan)
    full_disk()
    set_up(plan, ignore, works)
    assert made(plan) == before


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple"}, "127.0.0.1 does not answer"),
        ({"UV_DEFAULT_INDEX": "http://index.invalid/simple"}, "index.invalid cannot be found"),
        (
            {"UV_DEFAULT_INDEX": "https://index.invalid/simple", "HTTPS_PROXY": "http://127.0.0.1:9"},
            "the proxy does not reach index.invalid",
        ),
    ],
)
def test_without_an_index_it_is_one_sentence_and_the_next_try_works(
    plan: EnvironmentPlan, variables: dict[str, str], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        for name, value in (variables | {"UV_HTTP_RETRIES": "0", "NO_PROXY": ""}).items():
            patch.setenv(name, value)
        with pytest.raises(PotluckError, match=text) as raised:
            set_up(replace(plan, wheels=None), ignore, works)
        assert "try again" in (raised.value.hint or "")
    set_up(plan, ignore, works)
    assert made(plan).devices


@pytest.fixture
def unlisted(plan: EnvironmentPlan, monkeypatch: pytest.MonkeyPatch) -> EnvironmentPlan:
    """The same on a machine for which only variant cu130 has a list; the folder of wheels stands in for an index."""
    common = plan.requirements
    monkeypatch.setattr(planning, "list_for", lambda variant, machine: common if variant == "cu130" else None)
    return plan


def test_packages_without_a_list_are_looked_up_and_kept_with_hashes(unlisted: EnvironmentPlan) -> None:
    assert unlisted.wheels is not None
    torch = make_wheel(unlisted.wheels, "torch", version=f"{TORCH}+cpu")
    set_up(unlisted, ignore, works)
    manifest = made(unlisted)
    assert (manifest.variant, manifest.requirements) == ("cpu", digest(unlisted.requirements))
    assert sha256(torch) in unlisted.lock.read_text()
    set_up(unlisted, ignore, works)
    assert made(unlisted) == manifest
    make_wheel(unlisted.wheels, "torch", version=f"{TORCH}+cpu", filling=b"another one")
    with pytest.raises(PotluckError, match="is not the file that this version was made with"):
        set_up(unlisted, ignore, lambda folder: fails(folder) if folder == unlisted.store.current() else ("cpu",))


def test_without_the_packages_of_a_variant_that_of_the_default_index_is_made_and_that_is_said(
    unlisted: EnvironmentPlan,
) -> None:
    said: list[str] = []
    set_up(unlisted, lambda progress: said.append(progress.text.text), works)
    assert made(unlisted).variant == "cu130"
    lines = [text for text in said if text.startswith("variant cpu is not to be had here")]
    assert "takes more room: variant cu130" in lines[0]
    assert any("are needed at most" in text for text in said)


def test_a_variant_that_was_asked_for_fails_without_its_packages(unlisted: EnvironmentPlan) -> None:
    asked = replace(unlisted, choice=replace(unlisted.choice, is_asked=True))
    with pytest.raises(PotluckError, match="does not have torch"):
        set_up(asked, ignore, works)
