"""Where the tests of a GPU run: on the GPU, or with TRITON_INTERPRET=1 on the CPU with interpreted kernels.

Imports nothing of the project but `potluck.blocks` and `potluck.checkpoint`, and no plugin: a machine with a GPU may
have neither hivemind nor what the other tests need.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


@pytest.fixture(scope="session")
def device() -> torch.device:
    if IS_INTERPRETED:
        return torch.device("cpu")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    return torch.device("cuda")


@pytest.fixture
def gpu(device: torch.device) -> torch.device:
    """For what only a real GPU can do."""
    if device.type != "cuda":
        pytest.skip("needs a GPU")
    return device


@pytest.fixture(autouse=True)
def _interpreted_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the interpreter, the CPU counts as a device with kernels."""
    if IS_INTERPRETED:
        monkeypatch.setattr("potluck.blocks.trial.uses_kernels", lambda device: True)
        monkeypatch.setattr("potluck.blocks.trial.why_no_kernels", lambda device: None)


@pytest.fixture(scope="session")
def family_folder(device: torch.device, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A random checkpoint of a family, made once."""
    from helpers.tiny_models import save_random  # after `device`: without one, nothing heavy is imported

    made: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in made:
            made[family] = save_random(family, tmp_path_factory.mktemp(family))
        return made[family]

    return folder
