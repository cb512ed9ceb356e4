"""`make demo` from start to end."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
from helpers.golden import CHECKPOINT

DEMO = [sys.executable, "-m", "benchmarks.demo"]


def test_the_demo_keeps_its_promises_with_a_prompt_of_any_letters() -> None:
    with tempfile.TemporaryDirectory(prefix="pl-") as place:  # sockets need a short path
        environment = {**os.environ, "TMPDIR": place, "PROMPT": '--it\'s "5$" `x` \\n'}
        done = subprocess.run(DEMO, env=environment, capture_output=True, text=True, timeout=240)
        left = list(Path(place).iterdir())
    assert done.returncode == 0, done.stdout + done.stderr
    assert environment["PROMPT"] in done.stdout
    assert done.stdout.count("✓") == 4
    assert "took over" in done.stdout
    assert "All checks passed" in done.stdout
    assert "\x1b" not in done.stdout  # not a terminal
    assert left == []


def test_a_model_without_a_tokenizer_is_refused_before_a_swarm_starts() -> None:
    with tempfile.TemporaryDirectory(prefix="pl-") as place:
        command = [*DEMO, "--model", str(CHECKPOINT)]
        done = subprocess.run(command, env={**os.environ, "TMPDIR": place}, capture_output=True, text=True, timeout=240)
        running = psutil.process_iter(["environ"])  # others come and go meanwhile
        left = [process for process in running if (process.info["environ"] or {}).get("TMPDIR") == place]
        assert (left, list(Path(place).iterdir())) == ([], [])
    assert done.returncode == 2
    assert "no tokenizer" in done.stderr
