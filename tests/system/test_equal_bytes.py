"""Two builds of the same source are equal to the last byte, wherever and whenever they are made."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from installer.tree import build_epoch
from tests.helpers.debian import REPOSITORY

pytestmark = [
    pytest.mark.apt,
    pytest.mark.timeout(900, func_only=True),
]
PARTS = ("potluck", "daemon", "app", "resources", "installer")
FILES = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".gitignore")
UNTIDY = shutil.ignore_patterns("__pycache__", "*_cache")


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source without its history, in another folder, with other times and permissions."""
    folder = tmp_path_factory.mktemp("a source elsewhere")
    for part in PARTS:
        shutil.copytree(REPOSITORY / part, folder / part, ignore=UNTIDY, copy_function=shutil.copyfile)
    for file in FILES:
        shutil.copyfile(REPOSITORY / file, folder / file)
    return folder


@pytest.mark.parametrize("target", ["headless", pytest.param("run_file", marks=pytest.mark.soak)])
def test_two_builds_are_equal(target: str, request: pytest.FixtureRequest, elsewhere: Path, tmp_path: Path) -> None:
    first: Path = request.getfixturevalue(target)
    name = {"headless": "potluck-headless", "run_file": "run"}[target]
    paths = os.pathsep.join(str(elsewhere / part) for part in ("", "daemon", "app"))
    settings = {"PYTHONPATH": paths, "SOURCE_DATE_EPOCH": str(build_epoch()), "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    done = subprocess.run(
        [sys.executable, "-m", "installer", name, "--out", tmp_path],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        env={**os.environ, **settings},
        umask=0o077,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sha256"] == hashlib.sha256(first.read_bytes()).hexdigest()
