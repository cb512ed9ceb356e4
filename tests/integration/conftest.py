import signal
from collections.abc import Iterator

import pytest
import torch
from helpers.golden import CHECKPOINT
from helpers.small_model import golden_with_tokenizer
from helpers.swarms import _forked_processes
from transformers import AutoModelForCausalLM, PreTrainedModel

from benchmarks.setup.local_swarm import LocalSwarm
from potluck.protocol.blocks import Span

__all__ = ["_forked_processes", "as_in_a_terminal", "local", "shared_swarm"]


@pytest.fixture(scope="session")
def local() -> PreTrainedModel:
    """The golden checkpoint, whole."""
    return AutoModelForCausalLM.from_pretrained(CHECKPOINT, dtype=torch.float32).eval()


@pytest.fixture(scope="session")
def shared_swarm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSwarm]:
    """Servers of the golden checkpoint, for all tests that leave them as they found them. The last two are replicas."""
    folder = golden_with_tokenizer(tmp_path_factory.mktemp("model") / CHECKPOINT.name)
    with LocalSwarm(folder, (Span(0, 2), Span(2, 4), Span(2, 4))) as made:
        yield made


@pytest.fixture
def as_in_a_terminal() -> Iterator[None]:
    """Let commands notice Ctrl-C: what a script starts in the background ignores it, and so do its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
