from __future__ import annotations

import pytest
from helpers.engine_peers import load
from helpers.fake_network import FakeNetwork

from potluck.blocks import BlockSpan
from potluck.protocol.blocks import Span


@pytest.fixture(scope="module")
def blocks() -> BlockSpan:
    return load(Span(0, 2))


@pytest.fixture
def network() -> FakeNetwork:
    return FakeNetwork()
