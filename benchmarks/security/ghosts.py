"""What invented servers cost a newcomer: `ghosts`.

Two swarms of two engines in processes of their own. In one of them a member announces 20,000 servers that do not exist,
padded, with the weights of the real ones and much faster, at everybody and as often as it can (`haunting`). Newcomers
join both swarms in turn; the time from joining to the first token counts.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from potluck_gateway.answers.completion import silence_transformers

from benchmarks.figures import Measured, figure
from benchmarks.setup.children import child, founder_of
from benchmarks.setup.generation import generate
from benchmarks.setup.models import checkpoint
from potluck.checkpoint.source import open_checkpoint
from potluck.client.config import ClientConfig
from potluck.client.model import attach
from potluck.client.swarm_client import SwarmClient
from potluck.membership.invite import Invite, encode_invite
from potluck.membership.joined import JoinedSwarms
from potluck.membership.leadership import confirm, seats
from potluck.membership.membership import Membership
from potluck.protocol.swarm import new_swarm

_NUM_BLOCKS = 4
_NUM_ENGINES = 2  # servers of each swarm, all with all blocks
_HAUNTED_S = 20.0  # time before the first newcomer


@figure("ghosts", unit="ratio", reach=1.5)
def slowdown(soak: bool) -> Measured:
    """A newcomer's time to the first token beside 20,000 servers that one member invents, over the time without
    them.
    """
    silence_transformers()
    torch.set_num_threads(1)
    folder = checkpoint(512, _NUM_BLOCKS)
    times: list[list[float]] = [[], []]
    seen: list[int] = []
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pl-")))  # sockets need a short path
        joined = founder_of(place)
        for number in range(2):
            joined.create(new_swarm(f"figures{number}", folder.name, _NUM_BLOCKS, "local"))
        made = _let_in_haunter(joined, place)
        swarms = [_start(stack, joined, name, folder, place) for name in joined.load()]
        invited = encode_invite(replace(made, swarm=swarms[1].swarm))
        haunter = stack.enter_context(child("security.haunting", invited, str(place)))
        haunter.wait_for("announced")
        time.sleep(_HAUNTED_S)
        for _ in range(15 if soak else 5):
            for swarm, found in zip(swarms, times, strict=True):
                first_token_s, num_servers = _join(swarm, folder)
                found.append(first_token_s)
            seen.append(num_servers)
        told = haunter.end()
    detail = {
        "without_s": [round(value, 2) for value in times[0]],
        "with_s": [round(value, 2) for value in times[1]],
        "servers_seen": seen,
        **told,
    }
    ratio = statistics.median(times[1]) / statistics.median(times[0])
    return Measured(ratio, detail, holds=max(seen) > _NUM_ENGINES)


def _join(swarm: Membership, folder: Path) -> tuple[float, int]:
    """Join, generate a token and leave; return the seconds to the token and the servers that were seen."""
    client = SwarmClient(swarm, ClientConfig())
    began = time.monotonic()
    client.start()
    try:
        model: Any = attach(open_checkpoint(str(folder)), client)
        generate(model, 1)
        return time.monotonic() - began, len(client.servers._columns.servers)
    finally:
        client.close()


def _let_in_haunter(joined: JoinedSwarms, place: Path) -> Invite:
    """Confirm the member who will invent servers; return the invite."""
    offer, seed = seats(time.time())
    founder, entries = joined.lead("figures1", lambda _: [offer])
    made = Invite(founder.swarm, seed, entries[-1].data)
    haunter = JoinedSwarms(place / "haunter.json", place / "haunter.key").join(encode_invite(made), name="Mallory")
    joined.learn("figures1", [haunter.application, haunter.machines])
    joined.lead("figures1", lambda own: [confirm(guest) for guest in own.members().guests.values()])
    return made


def _add_peer(joined: JoinedSwarms, name: str, address: str) -> None:
    def lead(membership: Membership) -> Membership:
        peers = (*membership.swarm.bootstrap_peers, address)[:1]
        return replace(membership, swarm=replace(membership.swarm, bootstrap_peers=peers))

    joined.change(name, lead)


def _start(stack: ExitStack, joined: JoinedSwarms, name: str, folder: Path, place: Path) -> Membership:
    """Start the engines of a swarm; return the founder's membership, which leads to them."""
    for _ in range(_NUM_ENGINES):
        engine = stack.enter_context(child("setup.children", name, str(place), str(folder)))
        _add_peer(joined, name, engine.wait_for("online"))
    return joined.find(name)
