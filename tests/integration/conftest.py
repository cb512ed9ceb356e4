from __future__ import annotations

import pytest
import torch
from helpers.golden import CHECKPOINT
from helpers.swarms import _forked_processes, real_processes
from transformers import AutoModelForCausalLM, PreTrainedModel

__all__ = ["_forked_processes", "local", "real_processes"]


@pytest.fixture(scope="session")
def local() -> PreTrainedModel:
    """The golden checkpoint, whole."""
    return AutoModelForCausalLM.from_pretrained(CHECKPOINT, dtype=torch.float32).eval()
