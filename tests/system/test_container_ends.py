"""Tests that are interrupted leave no container behind."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from tests.helpers.debian import REPOSITORY, make_root, missing_tool

pytestmark = pytest.mark.skipif(missing_tool() is not None, reason=str(missing_tool()))

TEST = """
import time
from tests.helpers.debian import Debian
with Debian(is_booted=%s) as machine:
    print(machine.name, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("is_booted", [True, False])
def test_a_killed_test_takes_its_container_along(is_booted: bool) -> None:
    make_root("bookworm")
    test = subprocess.Popen([sys.executable, "-c", TEST % is_booted], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    assert test.stdout is not None
    assert test.stdout.readline().startswith("potluck-")
    began = psutil.Process(test.pid).children(recursive=True)  # the guard, the container's manager, what runs inside
    assert len(began) > 2
    test.kill()
    test.wait()
    test.stdout.close()
    _, alive = psutil.wait_procs(began, timeout=60)
    assert not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]
