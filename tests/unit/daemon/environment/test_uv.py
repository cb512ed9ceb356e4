from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from potluck_daemon.environment.machine import Hardware
from potluck_daemon.environment.plan import EnvironmentPlan, requirements_of
from potluck_daemon.environment.preflight import Site
from potluck_daemon.environment.store import Store
from potluck_daemon.environment.uv import WheelSources, find_uv
from potluck_daemon.environment.variants import VARIANTS, Choice

NAMES = ("UV_FIND_LINKS", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_TORCH_BACKEND")


@pytest.fixture(autouse=True)
def _nothing_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


def test_torch_comes_from_the_index_of_its_build_unless_the_user_named_a_source(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert WheelSources(build="cpu").arguments == ["--torch-backend", "cpu"]
    assert "--torch-backend" not in WheelSources(tmp_path, build="cpu").arguments
    assert "--torch-backend" not in WheelSources(index="https://index.invalid", build="cpu").arguments
    for name in NAMES:
        with monkeypatch.context() as patch:
            patch.setenv(name, "somewhere")
            assert WheelSources(build="cpu").arguments == []


@pytest.mark.parametrize("name", ["cpu", "cu130", "mps"])
def test_a_list_with_a_build_of_its_own_is_looked_up_in_that_builds_index(name: str, tmp_path: Path) -> None:
    machine = Hardware(macos=(15, 1), architecture="arm64") if name == "mps" else Hardware(glibc=(2, 36))
    plan = EnvironmentPlan(Store(tmp_path), machine, Choice(VARIANTS[name], ""), Site(tmp_path, 10**12, True, True))
    assert plan.own_build == ("cpu" if name == "cpu" else "")
    assert (f"torch==2.13.0+{name}" in requirements_of(name).read_text()) == bool(plan.own_build)


def test_uv_knows_the_indexes_of_all_builds() -> None:
    command = [find_uv(), "pip", "compile", "--help"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    known = " ".join(told.split()).partition("UV_TORCH_BACKEND=] [possible values: ")[2].partition("]")[0].split(", ")
    assert {name for name in VARIANTS if name != "mps"} <= set(known)
