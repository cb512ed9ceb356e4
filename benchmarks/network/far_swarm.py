"""A swarm whose servers are at places of an emulated internet, and the client at one of its own. Needs root."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.setup.local_swarm import LocalEngine, LocalSwarm
from potluck.protocol.blocks import Span
from tests.helpers.internet import Internet, Link, internet

CLIENT = "client"


@dataclass
class FarSwarm:
    """A swarm whose servers are at places of an emulated internet."""

    swarm: LocalSwarm
    world: Internet
    places: dict[LocalEngine, str]
    people: Collection[str] = ()  # those at these places are each another person's, the others the founder's
    runner: Sequence[str] = ()  # the command that runs each server's

    def add(self, span: Span, place: str) -> LocalEngine:
        options, before = ("--host", self.world.address(place)), self.world.command(place, *self.runner)
        if place in self.people:
            engine = self.swarm.add_engine_of(place, span, before, options=options)
        else:
            engine = self.swarm.add_engine(span, options=options, before=before)
        self.places[engine] = place
        return engine

    def replace(self, engine: LocalEngine) -> None:
        """Start another server where a killed one was."""
        self.add(engine.span, self.places.pop(engine)).wait_online()

    def join(self, one: LocalEngine, other: LocalEngine, link: Link) -> None:
        self.world.change(self.places[one], self.places[other], link)

    def set_round_trips(self, round_trip_ms: float) -> None:
        for one, other in itertools.combinations(self.world.places, 2):
            self.world.change(one, other, Link(round_trip_ms / 2000))

    def serving(self, model: Any) -> list[LocalEngine]:
        """The servers of the latest session, in the order of the blocks."""
        by_peer = {engine.peer_id: engine for engine in self.places}
        return [by_peer[hop.peer_id] for hop in model.last_route()[0].hops]


@contextlib.contextmanager
def far_swarm(
    folder: Path, spans: Sequence[Span], link: Link, *, people: bool = False, runner: Sequence[str] = ()
) -> Iterator[FarSwarm]:
    """Start a swarm with one server for each of `spans`; this thread is at the client's place meanwhile.

    Args:
        people: every second server is another person's.
        runner: a command that runs the command of each server.
    """
    names = [f"server{number}" for number in range(len(spans))]
    with (
        internet((CLIENT, *names), link) as world,
        world.inside(CLIENT),
        LocalSwarm(folder, (), host=world.address(CLIENT)) as swarm,
    ):
        far = FarSwarm(swarm, world, {}, names[1::2] if people else (), runner)
        for name in far.people:
            swarm.join(name)
        for span, place in zip(spans, names, strict=True):
            far.add(span, place)
        for engine in swarm.engines:
            engine.wait_online()
        yield far
