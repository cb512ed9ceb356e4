"""An environment made by the real uv from a folder of small wheels; torch comes from the interpreter that runs this."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from potluck_daemon.environment import plan as planning
from potluck_daemon.environment import setup
from potluck_daemon.control.methods.setup import Progress, Step
from potluck_daemon.environment.machine import Machine, look
from potluck_daemon.environment.plan import Plan, is_outdated
from potluck_daemon.environment.preflight import visit
from potluck_daemon.environment.setup import PreflightError, set_up
from potluck_daemon.environment.store import Store, interpreter
from potluck_daemon.environment.variants import choose_variant

from potluck.errors import PotluckError
from tests.helpers.wheel_server import lock, make_wheel


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    offered = tmp_path / "wheels"
    offered.mkdir()
    wheels = [make_wheel(offered, name, filling=name.encode() * 1000) for name in ("one", "two")]
    requirements = lock(tmp_path / "cpu.txt", *wheels)
    monkeypatch.setattr(planning, "requirements_of", lambda variant: requirements)
    store = Store(tmp_path / "engines")
    machine = Machine(glibc=look().glibc, architecture=look().architecture, python=look().python)
    return Plan(store, machine, choose_variant(machine), visit(store.root), wheels=offered)


def ignore(progress: Progress) -> None:
    pass


def test_an_environment_is_made_tried_and_used(plan: Plan) -> None:
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
def test_whatever_step_is_interrupted_the_next_try_ends_well(
    plan: Plan, step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        setup, "try_environment", lambda folder: ("cpu",)
    )  # seconds each; the tests beside this have it

    def interrupt(progress: Progress) -> None:
        if progress.step is step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        set_up(plan, interrupt)
    assert plan.store.current() is None
    assert set_up(plan, ignore).devices


def test_an_environment_that_fails_its_trial_is_not_used(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(setup, "try_environment", lambda folder: ("cpu",))
        set_up(plan, ignore)
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


def test_a_file_that_the_requirements_do_not_know_is_not_installed(plan: Plan) -> None:
    assert plan.wheels is not None
    make_wheel(plan.wheels, "one", filling=b"something else")
    with pytest.raises(PotluckError):
        set_up(plan, ignore)
    assert plan.store.current() is None


def test_a_machine_that_cannot_run_it_is_told_before_anything_is_fetched(plan: Plan) -> None:
    steps: list[Step] = []
    poor = replace(plan, site=replace(plan.site, free_bytes=0))
    with pytest.raises(PreflightError, match="GB are free"):
        set_up(poor, lambda progress: steps.append(progress.step))
    assert steps == [Step.LOOK]
