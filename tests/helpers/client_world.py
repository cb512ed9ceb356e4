"""A model whose blocks are at servers on the fake network, all in the client's own event loop."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from helpers.block_server import BlockServer, make_swarm
from helpers.fake_network import FakeNetwork
from helpers.golden import CHECKPOINT
from transformers import AutoModelForCausalLM, PreTrainedModel

from potluck.checkpoint.source import open_checkpoint
from potluck.client.config import ClientConfig
from potluck.client.model import attach
from potluck.client.session.reports import HopReport
from potluck.client.swarm_client import SwarmClient
from potluck.membership.membership import Membership
from potluck.p2p.network import Host
from potluck.protocol.blocks import PeerId, PersonOf, Span, each_peer_a_person
from potluck.protocol.swarm import Swarm

QUICK = ClientConfig(  # to see that a server is silent; what else it waits for only ends a hang
    connect_timeout_s=60.0,
    request_timeout_s=60.0,
    max_wait_s=60.0,
    refresh_period_s=60.0,
    silence_before_ping_s=0.05,
    ping_timeout_s=1.0,
)
PATIENT = replace(QUICK, silence_before_ping_s=60.0, ping_timeout_s=60.0)  # however busy the machine is
HASTY = replace(PATIENT, max_wait_s=0.5)  # for blocks that nobody will serve


class World:
    """`model` in a swarm of `servers`; `run` does something in the loop they share."""

    def __init__(
        self,
        folder: Path,
        swarm: Swarm,
        spans: Sequence[Span],
        config: ClientConfig,
        person_of: PersonOf,
        **options: Any,
    ) -> None:
        self.folder = folder
        self.swarm = swarm
        self.servers: list[BlockServer] = []
        self.client = SwarmClient(Membership(swarm), config, self._start, rng=np.random.default_rng(0))
        self._spans = spans
        self._options, self._person_of = options, person_of
        self.client.start()
        self.model: Any = attach(open_checkpoint(str(folder)), self.client)

    def add_server(self, span: Span, **options: Any) -> BlockServer:
        server = self.client.run(BlockServer.start(self.network, self.swarm, self.folder, span, **options))
        self.servers.append(server)
        return server

    def servers_of(self, peers: Sequence[PeerId]) -> list[BlockServer]:
        by_id = {server.peer_id: server for server in self.servers}
        return [by_id[peer] for peer in peers]

    def serving(self) -> list[BlockServer]:
        """Those that serve the latest session, in the order of the blocks."""
        (route,) = self.model.last_route()
        return self.servers_of([hop.peer_id for hop in route.hops])

    def replaced(self) -> list[HopReport]:
        """Return the servers that the latest session left."""
        (route,) = self.model.last_route()
        replaced: list[HopReport] = route.replaced
        return replaced

    async def _start(self, membership: Membership, config: ClientConfig) -> Host:
        self.network = FakeNetwork(person_of=self._person_of)
        for span in self._spans:
            self.servers.append(await BlockServer.start(self.network, self.swarm, self.folder, span, **self._options))
        return self.network.start()


@contextmanager
def world(
    *spans: str,
    folder: Path = CHECKPOINT,
    num_blocks: int = 4,
    config: ClientConfig = PATIENT,
    person_of: PersonOf = each_peer_a_person,
    **options: Any,
) -> Iterator[World]:
    """A world with one server for each of `spans`, such as "0:2"."""
    made = World(folder, make_swarm(num_blocks), [Span.parse(span) for span in spans], config, person_of, **options)
    try:
        yield made
    finally:
        made.client.close()


def local_model(folder: Path = CHECKPOINT) -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def prompt(batch: int = 1, tokens: int = 7, seed: int = 0, vocab: int = 256) -> torch.Tensor:
    """Token ids [batch, tokens] without the special ones."""
    return torch.randint(3, vocab, (batch, tokens), generator=torch.Generator().manual_seed(seed))
