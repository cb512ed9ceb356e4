"""The built wheel, installed into an environment of its own, away from the source tree."""

import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from potluck.membership.invite import Invite, encode_invite
from potluck.protocol.swarm import new_swarm

ROOT = Path(__file__).parents[2]
ADDRESS = "/ip4/127.0.0.1/tcp/31337/p2p/12D3KooWNzKKqPfbmrQqVZPkLfk52MCgPRZDirP7dSajsgaRG6WK"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", out, ROOT], check=True)
    (made,) = out.glob("potluck-*.whl")
    return made


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with base dependencies only."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    subprocess.run([folder / "venv/bin/pip", "install", "-q", wheel], check=True)
    return folder


def run(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(place), "LANG": "C.UTF-8"}
    command = [str(place / "venv/bin" / arguments[0]), *arguments[1:]]
    return subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True, timeout=250)


def test_the_wheel_holds_packages_types_and_resources(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "potluck/py.typed",
        "potluck_cli/main.py",
        "potluck_daemon/cli/main.py",
        "potluck_app/__init__.py",
        "potluck_control/resources/demo-model/config.json",
    } <= names
    assert any(name.startswith("potluck_app/icons/") for name in names)
    assert not any(
        name.startswith(("tests/", "benchmarks/", "app/", "daemon/")) or "__pycache__" in name for name in names
    )


def test_without_torch_an_invite_is_joined_and_what_needs_the_engine_says_so(place: Path) -> None:
    assert run(place, "python", "-c", "import torch").returncode != 0
    assert run(place, "potluck", "--version").stdout.startswith("potluck ")
    invite = encode_invite(Invite(replace(new_swarm("friends", "owner/model", 4), bootstrap_peers=(ADDRESS,))))
    assert run(place, "potluck", "swarm", "join", invite).returncode == 0
    assert run(place, "potluck", "swarm", "invite").stdout.strip() == invite
    done = run(place, "potluck", "bootstrap", "--port", "0", "--host", "127.0.0.1")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "potluck setup" in done.stderr
