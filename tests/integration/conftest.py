from __future__ import annotations

import pytest
import torch
from helpers.golden import CHECKPOINT
from transformers import AutoModelForCausalLM, PreTrainedModel


@pytest.fixture(scope="session")
def local() -> PreTrainedModel:
    """The golden checkpoint, whole."""
    return AutoModelForCausalLM.from_pretrained(CHECKPOINT, dtype=torch.float32).eval()
