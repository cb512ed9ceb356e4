"""A gateway before a model that thinks, speaks and calls, for the tests of formats."""

from collections.abc import Iterator

import pytest
from helpers.words_model import Words, call, running, server_of, thought
from potluck_gateway.exchange import ToolCall
from potluck_gateway.server import GatewayServer


@pytest.fixture
def model() -> Words:
    clock = ToolCall("call_2", "clock", "")
    made = Words(thought("Hm"), thought("."), "Guten ", "Tag", call('{"a": '), call("1}"), call("{}", clock))
    made.may_end.set()
    return made


@pytest.fixture
def server(model: Words) -> Iterator[GatewayServer]:
    with running(server_of(model), model) as made:
        yield made
