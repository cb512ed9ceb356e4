"""A swarm served where every Python says that it runs on a Mac: what only Linux has is missed nowhere on the way."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import made_mac

pytestmark = pytest.mark.timeout(900)
WAIT_S = 240.0
SITE = """\
import sys

words = " ".join(sys.orig_argv)
if "potluck" in words:
    if "engine" in words or "gateway" in words:  # these choose their halves when they are imported, as psutil does
        import hivemind, torch.distributed, transformers, uvloop
    from helpers.made_mac import become_mac

    become_mac()
"""


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="mac-") as folder:  # short: socket paths have a limit
        site = Path(folder, "site")
        site.mkdir()
        (site / "sitecustomize.py").write_text(SITE)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "DBUS_"))}
        yield kept | {
            "HOME": folder,
            "OMP_NUM_THREADS": "1",
            "POTLUCK_SERVE_LISTEN": "/ip4/127.0.0.1/tcp/0",
            "POTLUCK_SERVE_THREADS": "1",
            "XDG_RUNTIME_DIR": f"{folder}/none/here",  # a Mac has none, but other tests log in on this machine
            "PYTHONPATH": f"{site}:{Path(made_mac.__file__).parents[1]}",
        }


def test_a_made_mac_serves_answers_steps_aside_and_comes_back(environment: dict[str, str]) -> None:
    def potluck(*arguments: str) -> str:
        command = [sys.executable, "-m", "potluck_cli.main", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=WAIT_S, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def wait_for(state: str) -> None:
        deadline = time.monotonic() + WAIT_S
        while f'"state": "{state}"' not in potluck("status", "--json"):
            assert time.monotonic() < deadline, potluck("logs", "-n", "50")

    potluck("start", "--demo")
    try:
        wait_for("serving")
        assert " 7, 8, 9, 10" in potluck("generate", "Count from 7 to 12:")
        potluck("pause", "1h")
        wait_for("paused")
        potluck("resume")
        wait_for("serving")
        assert "Traceback" not in potluck("logs", "-n", "500")
    finally:
        potluck("stop")
