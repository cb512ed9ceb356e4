"""The doctor asks a driver through the real nvidia-ml-py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.command_line import CommandLine
from helpers.nvml_stub import nvidia_driver

GIB = 1 << 30


@pytest.mark.compiler
def test_gpus_and_driver_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with nvidia_driver() as driver:
        driver.say("gpu 0 NVIDIA Test 9000", f"memory 0 {24 * GIB} 0")
        for name, value in driver.environment.items():
            monkeypatch.setenv(name, value)
        outcome = CommandLine(tmp_path).run("doctor", "--json")
    found = {item["check"]: item for item in json.loads(outcome.out)["findings"] if item["severity"] == "ok"}
    assert found["GPU"]["text"] == "NVIDIA Test 9000 with 25.8 GB"
    assert found["GPU driver"]["text"] == "driver 580.65.06"
