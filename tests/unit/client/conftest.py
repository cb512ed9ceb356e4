from __future__ import annotations

import pytest
from helpers.client_world import local_model
from transformers import PreTrainedModel


@pytest.fixture(scope="session")
def local() -> PreTrainedModel:
    """The same checkpoint, whole."""
    return local_model()
