"""A model that drafts in the gateway: loaded where there is room, and given back for games and when memory is short."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.family_fixtures import family_folder  # noqa: F401 (a fixture)
from helpers.words_model import offered
from potluck_control.processes.gateway_messages import GatewaySwarm
from potluck_gateway.answers import drafting
from potluck_gateway.answers.drafting import DraftModels

from potluck.protocol.swarm import LOCAL_REVISION, Draft

DRAFT = Draft("owner/small", LOCAL_REVISION)
PLENTY = 1 << 40


def naming(draft: Draft | None) -> GatewaySwarm:
    friends = offered("friends", "owner/large")
    swarm = replace(friends.membership.swarm, draft=draft)
    return GatewaySwarm(replace(friends.membership, swarm=swarm), friends.checkpoint)


class Large:
    """Stands for the swarm's model, and notes what drafts for it."""

    def __init__(self) -> None:
        self.drafting: Any = None
        self.config = SimpleNamespace(get_text_config=lambda decoder: SimpleNamespace(vocab_size=100))

    def draft_with(self, model: Any) -> None:
        self.drafting = model


class World:
    """Gateways that look only when they are asked to, before so much memory."""

    def __init__(self) -> None:
        self.spare_bytes = PLENTY
        self.large = Large()
        self.now_s = 1000.0

    def drafting(self, *, is_allowed: bool = True) -> DraftModels:
        made = DraftModels(reserve_bytes=100, is_allowed=is_allowed, spare=lambda reserve: self.spare_bytes - reserve)
        made.add(self.large, naming(DRAFT))
        return made


@pytest.fixture
def world(family_folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:  # noqa: F811
    made = World()
    monkeypatch.setattr(drafting, "bundled_checkpoint", lambda name: family_folder("llama") if name else None)
    monkeypatch.setattr(drafting.time, "monotonic", lambda: made.now_s)
    return made


def test_it_drafts_until_a_game_starts_and_again_after_it(world: World) -> None:
    gateway = world.drafting(is_allowed=False)
    gateway.update()
    assert world.large.drafting is None
    gateway.allow(True)
    gateway.update()
    model = world.large.drafting
    text = model.text()
    text.begin([5, 6, 7])
    assert text.guess()[0] < 100, "the swarm's model has so many tokens"
    gateway.update()
    assert world.large.drafting is model
    gateway.allow(False)
    assert (world.large.drafting, model.is_freed) == (None, True)
    gateway.allow(True)
    gateway.update()
    assert not world.large.drafting.is_freed
    last = world.large.drafting
    gateway.remove(world.large)
    assert (world.large.drafting, last.is_freed) == (None, True)


def test_it_leaves_room_for_others_and_goes_when_memory_is_short(world: World) -> None:
    gateway = world.drafting()
    world.spare_bytes = 150  # all that others are to have
    gateway.update()
    assert world.large.drafting is None
    world.now_s, world.spare_bytes = 2000.0, PLENTY
    gateway.update()
    model = world.large.drafting
    assert model is not None
    world.spare_bytes = 149
    gateway.update()
    assert (world.large.drafting, model.is_freed) == (None, True)
    world.spare_bytes = PLENTY
    gateway.update()
    assert world.large.drafting is None, "it isn't read again at every sign of room"
    world.now_s = 3000.0
    gateway.update()
    assert world.large.drafting is not None


def test_a_model_that_cannot_be_had_is_named_once_and_tried_again_later(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    usual = drafting.bundled_checkpoint
    monkeypatch.setattr(drafting, "bundled_checkpoint", lambda _: tmp_path)
    gateway = world.drafting()
    for world.now_s in (1000.0, 1001.0, 1500.0):
        gateway.update()
        assert world.large.drafting is None
    (record,) = caplog.records
    assert "owner/small cannot draft" in record.message
    monkeypatch.setattr(drafting, "bundled_checkpoint", usual)
    world.now_s = 2000.0
    gateway.update()
    assert world.large.drafting is not None


def test_another_choice_of_the_founder_changes_what_drafts_and_nothing_else(world: World) -> None:
    gateway = world.drafting()
    gateway.update()
    first = world.large.drafting
    gateway.offer((naming(DRAFT),))
    assert world.large.drafting is first
    gateway.offer((naming(replace(DRAFT, model="owner/smaller")),))
    assert first.is_freed
    gateway.update()
    second = world.large.drafting
    assert second is not None
    gateway.offer((naming(None),))
    gateway.update()
    assert (world.large.drafting, second.is_freed) == (None, True)
    assert naming(None).identity == naming(DRAFT).identity, "the large model stays loaded"


def test_a_game_that_starts_while_it_is_read_gets_the_memory_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway, load, read = world.drafting(), drafting.load_draft, []

    def slow(*args: Any, **kwargs: Any) -> Any:
        gateway.allow(False)
        read.append(load(*args, **kwargs))
        return read[0]

    monkeypatch.setattr(drafting, "load_draft", slow)
    gateway.update()
    assert (world.large.drafting, read[0].is_freed) == (None, True)
