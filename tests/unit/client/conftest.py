from __future__ import annotations

import pytest
from helpers.client_world import local_model
from helpers.family_fixtures import family_folder
from transformers import PreTrainedModel

__all__ = ["family_folder"]


@pytest.fixture(scope="session")
def local() -> PreTrainedModel:
    """The same checkpoint, whole."""
    return local_model()
