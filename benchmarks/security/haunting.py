"""A member who invents servers, for `ghosts`. It runs in a process of its own."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from potluck.directory.directory import Directory
from potluck.directory.exchange import PUSH, Push, encode
from potluck.directory.seal import Sealed, seal
from potluck.membership.identity import Identity, peer_id_of
from potluck.membership.joined import JoinedSwarms
from potluck.membership.membership import Membership
from potluck.membership.presentation import write_pass
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import HostConfig
from potluck.processes import exit_with_parent
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import RemoteError
from potluck.protocol.records import Heartbeat, ServerRecord, ServerState

NUM_GHOSTS = 20_000
_BATCH = 40  # padded announcements in one push
_STORES = 16  # stores at a time
_LIVES_S = 250.0
_NICENESS = 10  # what the haunter computes costs a machine of its own


class Haunter:
    """A member whose servers exist only in the directory."""

    def __init__(self, person: Membership, host: Libp2pHost, like: ServerRecord, targets: list[PeerId]) -> None:
        self.pushed = self.refused = self.stored = 0
        self._person = person
        self._swarm = person.swarm
        self._host = host
        self._like = like
        self._targets = targets
        self._rng = random.Random(0)

    async def push(self) -> None:
        """Tell the servers of as many ghosts as they listen to."""
        while True:
            batch = [each for _ in range(_BATCH // 2) for each in self.announcements(self._rng.randrange(NUM_GHOSTS))]
            for target in self._targets:
                try:
                    await self._host.call(target, PUSH, encode(Push(batch)), timeout_s=10.0)
                    self.pushed += len(batch)
                except RemoteError:
                    self.refused += len(batch)
                    await asyncio.sleep(0.05)

    async def store(self) -> None:
        """Store as many ghosts as the DHT takes."""
        while True:
            chosen = [self._rng.randrange(NUM_GHOSTS) for _ in range(_STORES)]
            stores = [
                self._host.store(sealed.kind.key(self._swarm), sealed.peer_id, sealed.to_bytes(), expiration=_end())
                for number in chosen
                for sealed in self.announcements(number)
            ]
            self.stored += sum(await asyncio.gather(*stores))

    def announcements(self, number: int) -> Iterator[Sealed]:
        identity, now = _ghost(number), time.time()
        names = tuple(f"{self._rng.getrandbits(400):0100x}" for _ in range(60))
        record = replace(self._like, peer_id=identity.peer_id, adapters=names, inference_tps=1e9, throughput_tps=1e9)
        beat = Heartbeat(identity.peer_id, ServerState.ONLINE, cache_tokens_left=1_000_000)
        for value in (record, beat):
            ticket = b""
            if value is record and self._person.person_key is not None:
                ticket = write_pass(self._swarm.founder_key or b"", identity.public_key, self._person.person_key, now)
            yield seal(self._swarm, identity, value, sequence=now, expiration=_end(), ticket=ticket)


def _ghost(number: int) -> Identity:
    key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"ghost %d" % number).digest())
    return Identity(peer_id_of(key.public_key().public_bytes_raw()), key)


def _end() -> float:
    return float(round(time.time() + _LIVES_S))


async def _haunt(invite: str, place: Path) -> None:
    """Announce servers that do not exist, until standard input ends."""
    person = JoinedSwarms(place / "haunter.json", place / "haunter.key").join(invite, name="Mallory")
    swarm = person.swarm
    config = HostConfig(membership=person, bootstrap_peers=swarm.bootstrap_peers, runtime_dir=place, patience_s=60.0)
    host = await Libp2pHost.start(config)
    honest = await Directory(host, swarm, host.identity).fetch(thorough=True)
    haunter = Haunter(person, host, honest[0].record, [server.peer_id for server in honest])
    work = [asyncio.create_task(haunter.push()), asyncio.create_task(haunter.store())]
    print("announced", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for task in work:
        task.cancel()
    await host.close()
    print("ended", json.dumps({"pushed": haunter.pushed, "refused": haunter.refused, "stored": haunter.stored}))


if __name__ == "__main__":
    exit_with_parent(os.getppid())
    os.nice(_NICENESS)
    asyncio.run(_haunt(sys.argv[1], Path(sys.argv[2])))
