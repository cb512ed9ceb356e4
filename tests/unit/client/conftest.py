from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from helpers.client_world import local_model
from transformers import PreTrainedModel
from transformers.utils import logging


@pytest.fixture(scope="session")
def local() -> PreTrainedModel:
    """The same checkpoint, whole."""
    logging.disable_progress_bar()
    return local_model()


@pytest.fixture(autouse=True)
def _one_quiet_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
