"""The packages that several tests install, each built once a run, whichever of its processes asks first."""

import fcntl
import os
from pathlib import Path

import pytest

from tests.helpers import installing


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that they lie in."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "packages"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def headless(packages: Path) -> Path:
    return built(packages, "potluck-headless")


@pytest.fixture(scope="session")
def newer_headless(packages: Path) -> Path:
    return built(packages, "potluck-headless", installing.NEWER)


@pytest.fixture(scope="session")
def desktop(packages: Path) -> Path:
    return built(packages, "potluck")


@pytest.fixture(scope="session")
def run_file(packages: Path) -> Path:
    return built(packages, "run")


def built(packages: Path, target: str, version: str | None = None) -> Path:
    with (packages / f"{target}-{version}.built").open("a+") as note:
        fcntl.flock(note, fcntl.LOCK_EX)
        note.seek(0)
        name = note.read()
        if not name:
            name = installing.build(target, packages, version=version).name
            note.write(name)
        return packages / name
