"""The models of several swarms: their names, when they are loaded, and that a swarm that was left is not used."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from helpers.words_model import TOKEN, Words, offered, running
from potluck_control.processes.gateway_messages import GatewaySwarm
from potluck_control.settings import GatewaySettings
from potluck_gateway.answers.models import LoadedModel, OfferedModels
from potluck_gateway.exchange import BadRequestError
from potluck_gateway.server import GatewayServer
from unit.gateway.test_gateway_server import HELLO, asking, exchange, send, until

from potluck.errors import SwarmError, UsageError

FRIENDS, FAMILY, WORK = offered("friends", "small"), offered("family", "owner/large"), offered("work", "small")


class Loader:
    """Loads a model that says its swarm's name, unless it fails."""

    def __init__(self) -> None:
        self.loaded: list[str] = []
        self.closed: list[str] = []
        self.failure: Exception | None = None
        self.has_begun, self.may_load = threading.Event(), threading.Event()
        self.may_load.set()

    def __call__(self, swarm: GatewaySwarm) -> LoadedModel:
        name = swarm.membership.swarm.name
        self.loaded.append(name)
        self.has_begun.set()
        assert self.may_load.wait(60)
        if self.failure is not None:
            raise self.failure
        model = Words(name)
        model.may_end.set()
        return LoadedModel(model, lambda: self.closed.append(name))


@pytest.fixture
def load() -> Loader:
    return Loader()


def words_of(models: OfferedModels, name: str | None) -> Sequence[str]:
    model: Any = models.load(name).result().chat
    return [part.text for part in model.parts]


def test_a_name_is_that_of_the_model_and_of_the_swarm_where_an_earlier_one_has_the_same(load: Loader) -> None:
    models = OfferedModels((FRIENDS, FAMILY, WORK), load)
    assert models.names() == ["small", "owner/large", "small@work"]
    assert [words_of(models, name) for name in (None, "", "small", "small@work")] == [
        *([["friends"]] * 3),
        ["work"],
    ]
    with pytest.raises(BadRequestError, match="small or owner/large or small@work") as raised:
        models.load("gpt-4").result()
    assert (raised.value.status, raised.value.code) == (404, "model_not_found")


def test_a_model_is_loaded_once_when_it_is_first_asked_for(load: Loader) -> None:
    models = OfferedModels((FRIENDS, FAMILY), load)
    load.may_load.clear()
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(words_of, models, "owner/large") for _ in range(4)]
        load.may_load.set()
        assert [one.result() for one in asked] == [["family"]] * 4
    assert load.loaded == ["family"]


@pytest.mark.parametrize("failure", [SwarmError("nobody answers"), UsageError("no such folder"), OSError("gone")])
def test_one_that_cannot_be_loaded_is_tried_again_by_the_next_request(load: Loader, failure: Exception) -> None:
    models = OfferedModels((FRIENDS,), load)
    load.failure = failure
    with pytest.raises(OSError if isinstance(failure, OSError) else SwarmError, match=str(failure)):
        models.load(None).result()
    load.failure = None
    assert words_of(models, None) == ["friends"]


def test_a_swarm_that_was_left_is_closed_and_its_model_is_gone(load: Loader) -> None:
    models = OfferedModels((FRIENDS, FAMILY), load)
    for name in models.names():
        models.load(name).result()
    models.offer((FRIENDS, WORK))
    assert load.closed == ["family"]
    assert models.names() == ["small", "small@work"]
    assert words_of(models, "small") == ["friends"]
    assert load.loaded == ["friends", "family"]


def test_a_swarm_that_was_left_while_its_model_is_loaded_is_closed_after_that(load: Loader) -> None:
    models = OfferedModels((FRIENDS, FAMILY), load)
    load.may_load.clear()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(words_of, models, "owner/large")
        assert load.has_begun.wait(60)
        models.offer((FRIENDS,))
        load.may_load.set()
        asked.result()
    assert load.closed == ["family"]


def test_requests_choose_a_swarm_by_its_model(load: Loader) -> None:
    models = OfferedModels((FRIENDS, FAMILY), load)
    first: Any = models.load(None).result().chat
    server = GatewayServer(models, lambda key: key == TOKEN, lambda: None, GatewaySettings(port=0), max_tokens=100)
    with running(server, first):
        listed = send(server, b"", path="/v1/models", method="GET")[1]["data"]
        assert [entry["id"] for entry in listed] == ["small", "owner/large"]
        assert load.loaded == ["friends"]
        for asked, name, said in ((None, "small", "friends"), ("owner/large", "owner/large", "family")):
            _, answer = send(server, HELLO | {"model": asked})
            assert (answer["model"], answer["choices"][0]["message"]["content"]) == (name, said)
        _, answer = send(server, HELLO | {"model": "owner/large:latest", "stream": False}, path="/api/chat")
        assert answer["message"]["content"] == "family"
        models.offer((FRIENDS, WORK))
        assert send(server, HELLO | {"model": "owner/large"})[0] == 404
        load.failure = UsageError("no such folder")
        refused, said = exchange(server, HELLO | {"model": "small@work"})
        assert (refused.status, b"no such folder" in said) == (503, True)


def test_a_caller_that_leaves_while_its_model_is_loaded_frees_its_place_and_stops_nobody_else(load: Loader) -> None:
    models = OfferedModels((FRIENDS, FAMILY), load)
    first: Any = models.load(None).result().chat
    load.may_load.clear()
    server = GatewayServer(models, lambda key: key == TOKEN, lambda: None, GatewaySettings(port=0), max_tokens=100)
    with running(server, first), ThreadPoolExecutor(1) as pool:
        with closing(asking(server, HELLO | {"model": "owner/large"})):
            until(lambda: len(load.loaded) == 2)
            other = pool.submit(send, server, HELLO | {"model": "owner/large"})
            until(lambda: server._answering._accepted == 2)
        until(lambda: server._answering._accepted == 1)
        assert send(server, HELLO)[0] == 200
        load.may_load.set()
        assert other.result()[0] == 200
    assert load.loaded == ["friends", "family"]
