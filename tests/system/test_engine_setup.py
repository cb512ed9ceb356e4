"""An environment made by the real uv from a folder of small wheels; torch comes from the interpreter that runs this."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from potluck_control.methods.setup import SetupProgress, Step
from potluck_daemon.environment import plan as planning
from potluck_daemon.environment import setup as making
from potluck_daemon.environment.machine import Hardware, look
from potluck_daemon.environment.plan import EnvironmentPlan, is_outdated
from potluck_daemon.environment.preflight import visit
from potluck_daemon.environment.setup import PreflightError, set_up
from potluck_daemon.environment.store import Store, interpreter
from potluck_daemon.environment.variants import TORCH, choose_variant

from potluck.errors import NetworkError, PotluckError
from tests.helpers.wheel_server import lock, make_wheel


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EnvironmentPlan:
    offered = tmp_path / "wheels"
    offered.mkdir()
    wheels = [make_wheel(offered, name, filling=name.encode() * 1000) for name in ("one", "two")]
    requirements = lock(tmp_path / "cpu.txt", *wheels)
    monkeypatch.setattr(planning, "requirements_of", lambda variant: requirements)
    store = Store(tmp_path / "engines")
    machine = Hardware(glibc=look().glibc, architecture=look().architecture, python=look().python)
    return EnvironmentPlan(store, machine, choose_variant(machine), visit(store.root), wheels=offered)


def ignore(progress: SetupProgress) -> None:
    pass


def works(folder: Path) -> tuple[str, ...]:
    """A trial without torch, which takes seconds."""
    return ("cpu",)


def fails(folder: Path) -> tuple[str, ...]:
    raise PotluckError("the engine does not work here")


def test_an_environment_is_made_tried_and_used(plan: EnvironmentPlan) -> None:
    steps: list[Step] = []
    manifest = set_up(plan, lambda progress: steps.append(progress.step))
    assert list(dict.fromkeys(steps)) == list(Step)
    assert manifest.devices
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
    assert not is_outdated(plan.store)


@pytest.mark.parametrize("step", list(Step)[1:])
def test_whatever_step_is_interrupted_the_next_try_ends_well(plan: EnvironmentPlan, step: Step) -> None:
    def interrupt(progress: SetupProgress) -> None:
        if progress.step is step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        set_up(plan, interrupt, works)
    assert plan.store.current() is None
    assert set_up(plan, ignore, works).devices


def test_an_environment_that_fails_its_trial_is_not_used(plan: EnvironmentPlan) -> None:
    set_up(plan, ignore, works)
    working = plan.store.current()
    assert plan.wheels is not None
    make_wheel(plan.wheels, "torch").rename(
        plan.wheels / "torch-1.0-py3-none-any.whl"
    )  # a torch without anything in it
    lock(plan.requirements, *plan.wheels.iterdir())
    assert is_outdated(plan.store)
    with pytest.raises(PotluckError, match="the engine does not work here"):
        set_up(plan, ignore)
    assert plan.store.current() == working


def test_a_file_that_the_requirements_do_not_know_is_not_installed(plan: EnvironmentPlan) -> None:
    assert plan.wheels is not None
    make_wheel(plan.wheels, "one", filling=b"something else")
    with pytest.raises(PotluckError):
        set_up(plan, ignore)
    assert plan.store.current() is None


def test_a_machine_that_cannot_run_it_is_told_before_anything_is_fetched(plan: EnvironmentPlan) -> None:
    steps: list[Step] = []
    poor = replace(plan, site=replace(plan.site, free_bytes=0))
    with pytest.raises(PreflightError, match="B are free"):
        set_up(poor, lambda progress: steps.append(progress.step))
    assert steps == [Step.LOOK]


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


def test_an_environment_that_works_is_kept_also_on_a_full_disk(plan: EnvironmentPlan) -> None:
    made = set_up(plan, ignore, works)
    assert set_up(replace(plan, site=replace(plan.site, free_bytes=0)), ignore, works) == made


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
        with pytest.raises(NetworkError, match=text) as raised:
            set_up(replace(plan, wheels=None), ignore, works)
        assert "try again" in (raised.value.hint or "")
    assert set_up(plan, ignore, works).devices


@pytest.fixture
def unlisted(plan: EnvironmentPlan, monkeypatch: pytest.MonkeyPatch) -> EnvironmentPlan:
    """The same on a machine for which only variant cu130 has a list; the folder of wheels stands in for an index."""
    common = plan.requirements
    monkeypatch.setattr(planning, "is_listed", lambda variant, machine: variant == "cu130")
    monkeypatch.setattr(making, "requirements_of", lambda variant: common)
    return plan


def test_a_list_that_does_not_come_along_is_looked_up_once_and_kept_with_hashes(unlisted: EnvironmentPlan) -> None:
    assert unlisted.wheels is not None
    make_wheel(unlisted.wheels, "torch", version=f"{TORCH}+cpu")
    said: list[str] = []
    manifest = set_up(unlisted, lambda progress: said.append(progress.text.text), works)
    assert manifest.variant == "cpu"
    assert any(f"chose torch=={TORCH}" in text and str(unlisted.requirements) in text for text in said)
    assert "--hash=sha256:" in unlisted.requirements.read_text()
    assert not is_outdated(unlisted.store)
    kept = unlisted.requirements.read_text()
    assert set_up(unlisted, ignore, works) == manifest
    assert unlisted.requirements.read_text() == kept


def test_without_the_packages_of_a_variant_the_next_best_is_made_and_that_is_said(unlisted: EnvironmentPlan) -> None:
    said: list[str] = []
    manifest = set_up(unlisted, lambda progress: said.append(progress.text.text), works)
    assert manifest.variant == "cu130"
    assert any("variant cpu is not to be had here; this one computes on the processor too" in text for text in said)


def test_a_variant_that_was_asked_for_fails_without_its_packages(unlisted: EnvironmentPlan) -> None:
    asked = replace(unlisted, choice=replace(unlisted.choice, is_asked=True))
    with pytest.raises(PotluckError, match="does not have torch"):
        set_up(asked, ignore, works)
